"""``clearhold subject``: everything about one subject, from a running service into a file, checked as it comes.

The file gets its name when it is whole and its links are proved; until then it ends in ``.part``.

Exit codes  0 the file is whole and its links hold; 1 it is not; 2 there is nothing to export
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from clearhold.api.cli.exits import EXIT_NOT_STARTED, fail
from clearhold.api.cli.options import Operator, Url, token_option
from clearhold.client.answers import RefusedError, UnreachableError
from clearhold.client.client import ClearholdClient
from clearhold.store.record.export_check import public_keys_of
from clearhold.store.subjects.check import BrokenSubjectError, SubjectCheck, SubjectResult
from clearhold.store.subjects.things import SubjectKind

EXIT_BROKEN: Final = 1
_RESOURCES: Final = {SubjectKind.ENTITY: "entities", SubjectKind.COUNTERPARTY: "counterparties"}
_SHOW_EVERY_LINES: Final = 200


def subject(
    subject_id: Annotated[str, typer.Argument(help="The bank's id of the person, business, agent or counterparty.")],
    url: Url,
    token: Annotated[str, token_option("The operator token, or an API key of scope record for all programs.")],
    out: Annotated[Path, typer.Option(help="The file to write; it must not be there yet.", dir_okay=False)] = Path(
        "subject.ndjson"
    ),
    kind: Annotated[SubjectKind, typer.Option(help="What it is; an agent is an entity.")] = SubjectKind.ENTITY,
    program: Annotated[
        str | None, typer.Option(help="Id of the program, if several have a subject with this id.")
    ] = None,
    operator: Operator = "clearhold subject",
) -> None:
    """Write all stored data about one subject into a file, for an examiner or a court."""
    part = out.with_name(f"{out.name}.part")
    if out.exists():
        fail(f"{out} is there already; name another file with --out.")
    try:
        with ClearholdClient(url, token=token, operator=operator) as client:
            check = SubjectCheck(public_keys_of(client.published_keys()))
            lines = client.subject_export(_RESOURCES[kind], subject_id, program_id=program)
            first = next(lines, b"")
            result = _receive(check, first, lines, part)
    except (RefusedError, UnreachableError, ValueError) as error:
        broke = f" The received lines are in {part}." if part.exists() else ""
        fail(f"{error}{broke}", EXIT_BROKEN if part.exists() else EXIT_NOT_STARTED)
    except BrokenSubjectError as error:
        fail(f"FAIL: {error} The received lines are in {part}.", EXIT_BROKEN)
    except OSError as error:
        fail(f"{error.filename} cannot be written: {error.strerror}.")
    part.rename(out)
    typer.echo(
        f"{out}: {result.subject} of {result.tenant}, {result.rows:,} rows as of log offset {result.offset}, "
        f"{result.links:,} links proved."
    )


def _receive(check: SubjectCheck, first: bytes, others: Iterator[bytes], part: Path) -> SubjectResult:
    """Write the lines as they come, each checked."""
    with part.open("wb") as file, _progress() as progress:
        task = progress.add_task("", total=None)
        received = 0
        for number, line in enumerate(_after(first, others)):
            file.write(line)
            received += len(line)
            check.take(line)
            if number % _SHOW_EVERY_LINES == 0:
                progress.update(task, completed=received, description=f"{number:,} rows")
        return check.finish()


def _after(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from others


@contextmanager
def _progress() -> Iterator[Progress]:
    """Progress in bytes; the total is unknown. Nothing without a terminal."""
    screen = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as progress:
        yield progress
