"""``clearhold demo``: the service on a fresh data directory, and a simulated bank that moves money through it."""

import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, NoReturn

import msgspec
import typer
from rich.console import Console
from rich.live import Live
from rich.progress import Progress

from clearhold.client.answers import RefusedError, UnreachableError
from clearhold.client.client import ClearholdClient
from clearhold.demo.agents import agents_table, filled_index, import_agents
from clearhold.demo.bank import HISTORY_DAYS, SimulatedBank
from clearhold.demo.bank_api import BankApi
from clearhold.demo.board import Board
from clearhold.demo.clock import now_us
from clearhold.demo.console import console_lines
from clearhold.demo.directory import Owners, introduce, open_books
from clearhold.demo.ledger import Ledger
from clearhold.demo.results import Results, read_results
from clearhold.demo.results_table import PLAIN_WIDTH, results_parts
from clearhold.demo.runner import Runner
from clearhold.demo.service import HOST, DemoError, Service, reaching, require_free, serve_command
from clearhold.demo.stage import OPERATOR, Stage, StageDir, set_up
from clearhold.demo.summary import directions, hold_lines, panel, plain, say
from clearhold.demo.watcher import Watcher

SCREEN_EVERY_S: Final = 0.5
LINE_EVERY_S: Final = 5.0
USUAL_PACE: Final = 2.0


class Show:
    """One demo, from an empty directory to Ctrl-C."""

    def __init__(
        self, folder: StageDir, *, port: int, seed: int, pace: float, seconds: float | None, days: int
    ) -> None:
        self.url = f"http://{HOST}:{port}"
        self._folder, self._port, self._seed, self._pace, self._seconds = folder, port, seed, pace, seconds
        self._days = days
        self.console = Console()
        if not self.console.is_terminal:
            self.console = Console(width=PLAIN_WIDTH)

    def play(self, *, keep: bool, leave: bool) -> None:
        require_free(self._port)
        stage = self._folder.prepare(keep=keep)
        command = serve_command(self._folder.data, self._port)
        say(self.console, f"Starting the service on {self._folder.data}, log in {self._folder.log} ...")
        with (
            BankApi() as api,
            filled_index(seed=self._seed, now=now_us()) as index,
            Service(command, url=self.url, log_path=self._folder.log, environment=reaching(api, index)) as service,
        ):
            say(self.console, f"Ready at {self.url}; the bank's API is at {api.url}.")
            stage, bank = self._ready_stage(stage, api)
            self._move_money(stage, bank, service, api)
            if not leave:
                say(self.console, "The bank has stopped; the service stays up until Ctrl-C.")
                while True:
                    service.require_running()
                    time.sleep(SCREEN_EVERY_S)

    def _ready_stage(self, stage: Stage | None, api: BankApi) -> tuple[Stage, SimulatedBank]:
        speed = max(1.0, self._pace / USUAL_PACE)
        if stage is None:
            bank = SimulatedBank(self._seed, speed=speed)
            with ClearholdClient(self.url, token=self._folder.admin_token(), operator=OPERATOR) as admin:
                stage = set_up(admin, bank.cast, seed=self._seed, bank_key=api.key)
        else:
            bank = SimulatedBank(stage.seed, run=stage.runs + 1, speed=speed)
        open_books(api, bank.cast, now=now_us(), days=self._days)
        stage = msgspec.structs.replace(stage, runs=stage.runs + 1)
        self._folder.remember(stage)
        return stage, bank

    def _move_money(self, stage: Stage, bank: SimulatedBank, service: Service, api: BankApi) -> None:
        board, ledger = Board(tuple(stage.programs)), Ledger()
        ledger.load(self._folder.planted)
        with (
            ClearholdClient(self.url, token=stage.operator_token, operator=OPERATOR) as client,
            ClearholdClient(self.url, token=stage.operator_token, operator=OPERATOR) as reader,
        ):
            watcher = Watcher(reader, board, stage.programs)
            runner = Runner(
                bank, stage, client, board, watcher, ledger=ledger, introduce=partial(introduce, api), url=self.url
            )
            if stage.runs == 1:
                self._load_history(runner)
                watcher.await_scores(runner.last_ids, check=service.require_running)
                self._await_owners(runner.owners, client, stage, api)
            self.console.print(agents_table(import_agents(client)))
            example = runner.last_ids.get(next(iter(stage.programs)), "TRANSFER-ID")
            say(self.console, directions(self.url, stage, transfer_id=example))
            say(self.console, console_lines(self.url, token=stage.operator_token))
            watcher.start()
            try:
                interrupt = self._live_until_stopped(runner, board, _all(service.require_running, watcher.require_well))
                runner.finish()
            finally:
                watcher.stop()
                ledger.save(self._folder.planted)
                self._say_figures(board)
            watcher.require_well()
            results = read_results(client, stage.programs, ledger)
            self._folder.results.write_bytes(msgspec.json.encode(results))
            self._say_results(results)
        if interrupt is not None:
            raise interrupt

    def _live_until_stopped(self, runner: Runner, board: Board, check: Callable[[], None]) -> KeyboardInterrupt | None:
        try:
            self._live(runner, board, check)
        except KeyboardInterrupt as interrupt:
            say(self.console, "Stopped. The results come first; Ctrl-C again leaves at once.")
            return interrupt
        return None

    def _load_history(self, runner: Runner) -> None:
        started = time.perf_counter()
        with Progress(console=self.console, disable=not self.console.is_terminal, transient=True) as progress:
            task = progress.add_task("months of history", total=None)

            def show(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)

            events = runner.load_history(now_us(), show, days=self._days)
        seconds = time.perf_counter() - started
        say(self.console, f"History: {events:,} events in {seconds:.1f} s ({events / seconds:,.0f} a second).\n")

    def _await_owners(self, owners: Owners, client: ClearholdClient, stage: Stage, api: BankApi) -> None:
        """The service asks the bank for the history's owners at a limited rate; the live phase waits for it."""
        started = time.perf_counter()
        with Progress(console=self.console, disable=not self.console.is_terminal, transient=True) as progress:
            task = progress.add_task("accounts' owners, from the bank's API", total=owners.accounts)
            known = owners.await_learnt(
                client, stage.programs, on_progress=lambda count: progress.update(task, completed=count)
            )
        seconds = time.perf_counter() - started
        waited = f"{seconds:.1f} s after the history, {len(api.requests):,} requests"
        say(self.console, f"Owners, from the bank's API: {known:,} of {owners.accounts:,} accounts ({waited}).\n")

    def _live(self, runner: Runner, board: Board, check: Callable[[], None]) -> None:
        title = f"Clearhold demo, {self._pace:g} transfers a second; Ctrl-C stops it"
        until = None if self._seconds is None else time.monotonic() + self._seconds
        if not self.console.is_terminal:
            lines = _every(LINE_EVERY_S, lambda: say(self.console, plain(board.figures())))
            runner.live(transfers_per_second=self._pace, until=until, between=_all(check, lines))
            return
        with Live(panel(board.figures(), title=title), console=self.console, auto_refresh=False) as live:
            screen = _every(SCREEN_EVERY_S, lambda: live.update(panel(board.figures(), title=title), refresh=True))
            runner.live(transfers_per_second=self._pace, until=until, between=_all(check, screen))

    def _say_figures(self, board: Board) -> None:
        """Print the last figures when there is no live screen."""
        if self.console.is_terminal:
            return
        figures = board.figures()
        say(self.console, plain(figures))
        for line in hold_lines(figures):
            say(self.console, line)

    def _say_results(self, results: Results) -> None:
        for part in results_parts(results):
            self.console.print(part)


def _every(seconds: float, act: Callable[[], None]) -> Callable[[], None]:
    """Act at most once in ``seconds``, however often it is called."""
    due = time.monotonic() + seconds

    def maybe() -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + seconds
            act()

    return maybe


def _all(*acts: Callable[[], None]) -> Callable[[], None]:
    def each() -> None:
        for act in acts:
            act()

    return each


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def demo(
    *,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="The service's port on 127.0.0.1.")] = 8080,
    data: Annotated[Path, typer.Option(help="The demo's directory.")] = Path(".demo"),
    keep: Annotated[bool, typer.Option("--keep", help="Continue with the data of an earlier demo.")] = False,
    seed: Annotated[int, typer.Option(help="Selects people and amounts; the same seed gives the same ones.")] = 1,
    days: Annotated[int, typer.Option(min=1, max=400, help="Length of the history.")] = HISTORY_DAYS,
    pace: Annotated[float, typer.Option(min=0.1, max=200, help="Live transfers a second.")] = USUAL_PACE,
    seconds: Annotated[float | None, typer.Option(min=0, help="How long the live phase lasts.")] = None,
    leave: Annotated[bool, typer.Option("--exit", help="Stop the service after the live phase.")] = False,
) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    show = Show(StageDir(data.absolute()), port=port, seed=seed, pace=pace, seconds=seconds, days=days)
    try:
        show.play(keep=keep, leave=leave)
    except KeyboardInterrupt:
        say(show.console, "Stopped.")
    except (DemoError, RefusedError, UnreachableError) as error:
        typer.echo(str(error), err=True)
        sys.exit(1)
