"""``clearhold replay``: posts a file of bank events to one program, signed, with a progress bar and a summary.

Exit codes  0 every line was accepted, now or before; 1 a line was not; 2 the command could not start
"""

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated, BinaryIO, Final, NoReturn, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from api.client.event_lines import ByteStream, LineReader
from api.client.event_pipe import MAX_IN_FLIGHT, Target
from api.client.event_replay import (
    DEFAULT_IN_FLIGHT,
    DEFAULT_MAX_TRIES,
    FIRST_REFUSALS,
    EventReplay,
    GaveUpError,
    StoppedError,
    Tally,
)

EXIT_NOT_ALL_ACCEPTED: Final = 1
EXIT_NOT_STARTED: Final = 2
MAX_TRIES_LIMIT: Final = 1_000


def register(app: typer.Typer) -> None:
    """Add ``replay`` to the command line."""
    app.command("replay")(replay)


def replay(
    file: Annotated[str, typer.Argument(help="File of bank events, one JSON object per line; - reads standard input.")],
    url: Annotated[str, typer.Option(help="Base URL of the service, such as http://127.0.0.1:8080.")],
    program: Annotated[str, typer.Option(help="Id of the program that the events belong to.")],
    secret: Annotated[
        str, typer.Option(envvar="CLEARHOLD_INGEST_SECRET", help="The program's ingest secret.", show_envvar=True)
    ],
    endpoint_id: Annotated[
        str | None, typer.Option(help="Webhook-Endpoint-Id to send, if the program requires one.")
    ] = None,
    in_flight: Annotated[
        int, typer.Option(min=1, max=MAX_IN_FLIGHT, help="Number of events sent at a time; order is preserved.")
    ] = DEFAULT_IN_FLIGHT,
    max_tries: Annotated[
        int, typer.Option(min=1, max=MAX_TRIES_LIMIT, help="Consecutive failures before giving up.")
    ] = DEFAULT_MAX_TRIES,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first refused line.")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Post a file of bank events, each signed. Safe to run again: the service recognises events by their id."""
    target = Target(url=url, program_id=program, secret=secret, endpoint_id=endpoint_id)
    try:
        stream, size = _open(file)
    except OSError as error:
        _fail(f"{file} cannot be read: {error.strerror or error}.")
    screen = Console(stderr=True)
    started = time.perf_counter()
    with closing(stream), _progress(screen) as progress:
        task = progress.add_task("posting", total=size)
        run = EventReplay(
            target,
            LineReader(cast("ByteStream", stream)),
            in_flight=in_flight,
            max_tries=max_tries,
            strict=strict,
            on_progress=lambda tally: progress.update(task, completed=tally.position, answered=f"{tally.answered:,}"),
        )
        failure = _run(run)
    _report(run.tally, time.perf_counter() - started, failure)
    if failure is None and not run.tally.answered:
        typer.echo(f"{'Standard input' if file == '-' else file} holds no events.", err=True)
    if failure is not None or run.tally.refused or not run.tally.answered:
        raise typer.Exit(EXIT_NOT_ALL_ACCEPTED)


def _open(file: str) -> tuple[BinaryIO, int | None]:
    """The file and its size in bytes, None where that is unknown."""
    if file == "-":
        return sys.stdin.buffer, None
    path = Path(file)
    stream = path.open("rb")
    return stream, path.stat().st_size if path.is_file() else None


def _run(run: EventReplay) -> str | None:
    """The reason why not every line was posted, None when all were."""
    try:
        run.run()
    except (GaveUpError, StoppedError) as error:
        return str(error)
    except ValueError as error:
        _fail(f"{error}.")
    except KeyboardInterrupt:
        return "Interrupted; the lines after the last one counted may or may not have been accepted."
    return None


def _progress(screen: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(show_speed=False),
        TextColumn("{task.fields[answered]} events"),
        TimeElapsedColumn(),
        console=screen,
        disable=not screen.is_terminal,
        transient=True,
    )


def _report(tally: Tally, seconds: float, failure: str | None) -> None:
    table = Table.grid(padding=(0, 2))
    for name, value in (
        ("sent", f"{tally.answered:,}"),
        ("accepted", f"{tally.accepted:,}"),
        ("duplicates", f"{tally.duplicates:,}"),
        ("refused", f"{tally.refused:,}"),
        ("retried", f"{tally.retried:,}"),
        ("seconds", f"{seconds:.2f}"),
        ("events/s", f"{tally.answered / seconds:,.0f}" if seconds > 0 else "-"),
    ):
        table.add_row(name, value)
    Console().print(table)
    for refusal in tally.first_refusals:
        typer.echo(f"line {refusal.line}: {refusal.sentence}")
    if tally.refused > FIRST_REFUSALS:
        typer.echo(f"and {tally.refused - FIRST_REFUSALS:,} more")
    if failure is not None:
        typer.echo(failure, err=True)
        typer.echo(
            "Run the same command again to continue: events already accepted are recognised by their id.", err=True
        )


def _fail(sentence: str) -> NoReturn:
    typer.echo(sentence, err=True)
    raise typer.Exit(EXIT_NOT_STARTED)
