"""``python -m demo``: the service on a fresh data directory, and a simulated bank that moves money through it."""

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, NoReturn

import msgspec
import typer
from rich.console import Console
from rich.live import Live
from rich.progress import Progress

from api.client.client import ClearholdClient, RefusedError, UnreachableError
from demo.bank import HISTORY_DAYS, SimulatedBank
from demo.board import Board
from demo.clock import now_us
from demo.runner import Runner
from demo.service import HOST, DemoError, Service, require_free, serve_command
from demo.stage import OPERATOR, Stage, StageDir, set_up
from demo.summary import directions, hold_lines, panel, plain, say
from demo.watcher import Watcher

SCREEN_EVERY_S: Final = 0.5
LINE_EVERY_S: Final = 5.0


class Show:
    """One demo, from an empty directory to Ctrl-C."""

    def __init__(
        self, folder: StageDir, *, port: int, seed: int, pace: float, seconds: float | None, days: int
    ) -> None:
        self.url = f"http://{HOST}:{port}"
        self._folder, self._port, self._seed, self._pace, self._seconds = folder, port, seed, pace, seconds
        self._days = days
        self.console = Console()

    def play(self, *, keep: bool, leave: bool) -> None:
        require_free(self._port)
        stage = self._folder.prepare(keep=keep)
        command = serve_command(self._folder.data, self._port)
        say(self.console, f"Starting the service on {self._folder.data}, log in {self._folder.log} ...")
        with Service(command, url=self.url, log_path=self._folder.log) as service:
            say(self.console, f"Ready at {self.url}.")
            stage, bank = self._ready_stage(stage)
            self._move_money(stage, bank, service)
            if not leave:
                say(self.console, "The bank has stopped; the service stays up until Ctrl-C.")
                while True:
                    service.require_running()
                    time.sleep(SCREEN_EVERY_S)

    def _ready_stage(self, stage: Stage | None) -> tuple[Stage, SimulatedBank]:
        if stage is None:
            bank = SimulatedBank(self._seed)
            with ClearholdClient(self.url, token=self._folder.admin_token(), operator=OPERATOR) as admin:
                stage = set_up(admin, bank.cast, seed=self._seed)
        else:
            bank = SimulatedBank(stage.seed, run=stage.runs + 1)
        stage = msgspec.structs.replace(stage, runs=stage.runs + 1)
        self._folder.remember(stage)
        return stage, bank

    def _move_money(self, stage: Stage, bank: SimulatedBank, service: Service) -> None:
        board = Board(tuple(stage.programs))
        with (
            ClearholdClient(self.url, token=stage.operator_token, operator=OPERATOR) as client,
            ClearholdClient(self.url, token=stage.operator_token, operator=OPERATOR) as reader,
        ):
            watcher = Watcher(reader, board, stage.programs)
            runner = Runner(bank, stage, client, board, watcher, url=self.url)
            if stage.runs == 1:
                self._load_history(runner)
                watcher.await_scores(runner.last_ids, check=service.require_running)
            example = runner.last_ids.get(next(iter(stage.programs)), "TRANSFER-ID")
            say(self.console, directions(self.url, stage, transfer_id=example))
            watcher.start()
            try:
                self._live(runner, board, _all(service.require_running, watcher.require_well))
            finally:
                watcher.stop()
                self._say_figures(board)
        watcher.require_well()

    def _load_history(self, runner: Runner) -> None:
        started = time.perf_counter()
        with Progress(console=self.console, disable=not self.console.is_terminal, transient=True) as progress:
            task = progress.add_task("months of history", total=None)

            def show(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)

            events = runner.load_history(now_us(), show, days=self._days)
        seconds = time.perf_counter() - started
        say(self.console, f"History: {events:,} events in {seconds:.1f} s ({events / seconds:,.0f} a second).\n")

    def _live(self, runner: Runner, board: Board, check: Callable[[], None]) -> None:
        title = f"Clearhold demo, {self._pace:g} transfers a second; Ctrl-C stops it"
        until = None if self._seconds is None else time.monotonic() + self._seconds
        if not self.console.is_terminal:
            lines = _every(LINE_EVERY_S, lambda: say(self.console, plain(board.figures())))
            runner.live(transfers_per_second=self._pace, until=until, between=_all(check, lines))
            runner.finish()
            return
        with Live(panel(board.figures(), title=title), console=self.console, auto_refresh=False) as live:
            screen = _every(SCREEN_EVERY_S, lambda: live.update(panel(board.figures(), title=title), refresh=True))
            runner.live(transfers_per_second=self._pace, until=until, between=_all(check, screen))
            runner.finish()

    def _say_figures(self, board: Board) -> None:
        figures = board.figures()
        say(self.console, plain(figures))
        for line in hold_lines(figures):
            say(self.console, line)


def _every(seconds: float, act: Callable[[], None]) -> Callable[[], None]:
    """Act at most once in so many seconds, however often it is called."""
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
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Where the service listens, on 127.0.0.1.")] = 8080,
    data: Annotated[Path, typer.Option(help="The demo's directory.")] = Path(".demo"),
    keep: Annotated[bool, typer.Option("--keep", help="Go on with what an earlier demo left there.")] = False,
    seed: Annotated[int, typer.Option(help="Other people, other amounts; the same seed gives the same ones.")] = 1,
    days: Annotated[int, typer.Option(min=1, max=400, help="How far back the history goes.")] = HISTORY_DAYS,
    pace: Annotated[float, typer.Option(min=0.1, max=200, help="Live transfers a second.")] = 2.0,
    seconds: Annotated[float | None, typer.Option(min=0, help="How long the live phase lasts.")] = None,
    leave: Annotated[bool, typer.Option("--exit", help="Stop the service after the live phase.")] = False,
) -> None:
    """Start the service on a fresh data directory and move simulated money through it."""
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


if __name__ == "__main__":
    typer.run(demo)
