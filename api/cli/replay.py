"""``clearhold replay``: posts a file of bank events to one program, signed, with a progress bar and a summary.

``--check`` sends nothing: it applies the file to an empty program in this process, and reports the result that each
line would have with a new program. An event that builds on an earlier one is judged by the earlier lines.

Exit codes  0 every line was accepted, now or before, or would be; 1 a line was not; 2 the command could not start
"""

import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated, BinaryIO, Final, cast

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from clearhold.api.cli.options import OptionalUrl, check_header, fail, progress
from clearhold.client.event_lines import ByteStream, LineReader
from clearhold.client.event_replay import (
    DEFAULT_BATCH,
    DEFAULT_MAX_TRIES,
    FIRST_REFUSALS,
    MOST_IN_BATCH,
    EventReplay,
    GaveUpError,
    StoppedError,
    Tally,
    Target,
)
from clearhold.features.core.principal import SIGNATURE_HEADER
from clearhold.store.clock import SystemClock

EXIT_NOT_ALL_ACCEPTED: Final = 1
MAX_TRIES_LIMIT: Final = 1_000


def replay(
    file: Annotated[str, typer.Argument(help="File of bank events, one JSON object per line; - reads standard input.")],
    url: OptionalUrl = None,
    program: Annotated[str | None, typer.Option(help="Id of the program that the events belong to.")] = None,
    secret: Annotated[
        str | None, typer.Option(envvar="CLEARHOLD_INGEST_SECRET", help="The program's ingest secret.")
    ] = None,
    endpoint_id: Annotated[
        str | None,
        typer.Option(help="Webhook-Endpoint-Id to send, if the program requires one.", callback=check_header),
    ] = None,
    signature_header: Annotated[
        str, typer.Option(help="The program's signatureHeader, if it names one.", callback=check_header)
    ] = SIGNATURE_HEADER,
    batch: Annotated[
        int, typer.Option(min=1, max=MOST_IN_BATCH, help="Number of events sent at a time; order is preserved.")
    ] = DEFAULT_BATCH,
    max_tries: Annotated[
        int, typer.Option(min=1, max=MAX_TRIES_LIMIT, help="Consecutive failures before giving up.")
    ] = DEFAULT_MAX_TRIES,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first refused line.")] = False,  # noqa: FBT002 - a flag
    check: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option("--check", help="Send nothing: report the result that each line would have. Needs no service."),
    ] = False,
) -> None:
    """Needs --url, --program and --secret; with --check none of them."""
    try:
        stream, size = _open(file)
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror or error}.")
    with closing(stream):
        reader = LineReader(cast("ByteStream", stream))
        if check:
            _check(reader, file, size)
            return
        target = _target(url, program, secret, endpoint_id, signature_header)
        run = EventReplay(target, reader, batch=batch, max_tries=max_tries, strict=strict)
        _post(run, file, size)


def _target(
    url: str | None, program: str | None, secret: str | None, endpoint_id: str | None, signature_header: str
) -> Target:
    if url is None or program is None or secret is None:
        fail("--url, --program and --secret are needed to send events; --check needs none of them.")
    return Target(
        url=url, program_id=program, secret=secret, endpoint_id=endpoint_id, signature_header=signature_header
    )


def _post(run: EventReplay, file: str, size: int | None) -> None:
    started = time.perf_counter()
    with _progress() as bar:
        task = bar.add_task("posting", total=size, answered="0")
        failure = _run(
            run,
            lambda tally: bar.update(task, completed=tally.position, answered=f"{tally.answered:,}"),
        )
    _report(run.tally, time.perf_counter() - started, failure)
    if failure is None and not run.tally.answered:
        typer.echo(_no_events(file), err=True)
    if failure is not None or run.tally.refused or not run.tally.answered:
        raise typer.Exit(EXIT_NOT_ALL_ACCEPTED)


def _check(reader: LineReader, file: str, size: int | None) -> None:
    """Report the result that each line would have; lines that need a look are printed at once."""
    from clearhold.api.cli.file_check import FAULTY, CheckedLine, FileCheck

    checked = FileCheck(reader, now=SystemClock().now())
    with _progress() as bar:
        task = bar.add_task("checking", total=size, answered="0")

        def show(line: CheckedLine) -> None:
            bar.update(task, completed=checked.position, answered=f"{line.number:,}")
            place = "" if line.path is None else f" [{line.path}]"
            typer.echo(f"line {line.number}: {line.result}{place}: {line.reason}")

        fault = checked.run(show)
    if fault is not None:
        fail(f"{file} holds no events: {fault}.")
    if not checked.counts:
        fail(_no_events(file))
    for reason, (count, first) in checked.notes.items():
        typer.echo(f"{count:,} line{'s' if count > 1 else ''}, first line {first}: {reason}")
    table = Table.grid(padding=(0, 2))
    for result, count in sorted(checked.counts.items()):
        table.add_row(result, f"{count:,}")
    Console().print(table)
    if checked.counts.keys() & FAULTY:
        raise typer.Exit(EXIT_NOT_ALL_ACCEPTED)


def _no_events(file: str) -> str:
    return f"{'Standard input' if file == '-' else file} holds no events."


def _open(file: str) -> tuple[BinaryIO, int | None]:
    """The file and its size in bytes, None where that is unknown."""
    if file == "-":
        return sys.stdin.buffer, None
    path = Path(file)
    stream = path.open("rb")
    return stream, path.stat().st_size if path.is_file() else None


def _run(run: EventReplay, on_progress: Callable[[Tally], None]) -> str | None:
    """The reason why not every line was posted, None when all were."""
    try:
        run.run(on_progress)
    except (GaveUpError, StoppedError) as error:
        return str(error)
    except KeyboardInterrupt:
        return "Interrupted; the lines after the last one counted may or may not have been accepted."
    return None


def _progress() -> Progress:
    return progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(show_speed=False),
        TextColumn("{task.fields[answered]} events"),
        TimeElapsedColumn(),
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
        typer.echo("To continue, run the command again: events already accepted are recognised by their id.", err=True)
