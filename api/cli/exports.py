"""``clearhold subject`` and ``clearhold verify``: an export from a running service, and an examiner's offline check.

``subject`` writes all stored data about one subject into a file, checked as it comes. The file gets its name when it is
whole and its links are proved; until then it ends in ``.part``. ``verify`` checks an export of the record or of one
subject offline; ``docs/verify.py`` does the same in a short script.

Exit codes  0 the export is whole, and the record intact; 1 it is not; 2 there is nothing to export, or the check could
            not start
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.progress import (
    BarColumn,
    DownloadColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from clearhold.api.cli.options import EXIT_NOT_STARTED, Operator, Url, fail, progress, token_option
from clearhold.client.answers import RefusedError, UnreachableError
from clearhold.client.client import ClearholdClient
from clearhold.store.given_files import read_given
from clearhold.store.record.export_check import BrokenExportError, ChainFound, ExportCheck, public_keys_of
from clearhold.store.record.signed_trees import Checkpoint, NoteError, opened_note
from clearhold.store.subjects.check import SubjectCheck, SubjectKind, SubjectResult, is_subject_export

EXIT_BROKEN: Final = 1
_NEEDED: Final = (
    "Needed are, in this order: an export (GET /api/record/export, or GET /api/entities/{id}/export), the published "
    "keys (GET /.well-known/jwks.json) and the checkpoints that you kept (GET /api/record/checkpoint)."
)
_SHOW_EVERY_READ_LINES: Final = 5_000
_LONGEST_MANIFEST_BYTES: Final = 4 << 20
MOST_LINE_BYTES: Final = 16 << 20
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
    part = out.with_name(f"{out.name}.part")
    if out.exists():
        fail(f"{out} is there already; name another file with --out.")
    has_begun = False
    try:
        with ClearholdClient(url, token=token, operator=operator) as client:
            check = SubjectCheck(public_keys_of(client.published_keys()))
            lines = client.subject_export(_RESOURCES[kind], subject_id, program_id=program)
            first = next(lines, b"")
            has_begun = True
            result = _receive(check, first, lines, part)
    except (RefusedError, UnreachableError, ValueError) as error:
        broke = f" The received lines are in {part}." if has_begun else ""
        fail(f"{error}{broke}", EXIT_BROKEN if has_begun else EXIT_NOT_STARTED)
    except BrokenExportError as error:
        fail(f"FAIL: {error} The received lines are in {part}.", EXIT_BROKEN)
    except OSError as error:
        fail(f"{part} cannot be written: {error.strerror}.")
    part.rename(out)
    typer.echo(
        f"{out}: {result.subject} of {result.tenant}, {result.rows:,} rows as of log offset {result.offset}, "
        f"{result.links:,} links proved."
    )


def _receive(check: SubjectCheck, first: bytes, others: Iterator[bytes], part: Path) -> SubjectResult:
    """Write the lines as they come, each checked."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), DownloadColumn(), TimeElapsedColumn())
    with part.open("wb") as file, progress(*columns) as bar:
        task = bar.add_task("", total=None)
        received = 0
        for number, line in enumerate(chain([first], others)):
            file.write(line)
            received += len(line)
            check.take(line)
            if number % _SHOW_EVERY_LINES == 0:
                bar.update(task, completed=received, description=f"{number:,} rows")
        return check.finish()


def verify(
    export: Annotated[
        Path,
        typer.Argument(
            help="Export of the record, from GET /api/record/export, or of one subject, from clearhold subject.",
            dir_okay=False,
        ),
    ],
    jwks: Annotated[Path, typer.Argument(help="Published keys, from GET /.well-known/jwks.json.", dir_okay=False)],
    checkpoints: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Signed checkpoints that you kept, old ones included; at least one per chain.", dir_okay=False
        ),
    ] = None,
    is_range: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option(
            "--range", help="The export covers a range of time: check only the lines in it, without checkpoints."
        ),
    ] = False,
) -> None:
    try:
        size = export.stat().st_size
        keys = public_keys_of(read_given(jwks))
        texts = [(path, read_given(path)) for path in checkpoints or ()]
    except OSError as error:
        fail(f"{error.filename} cannot be read: {error.strerror}. {_NEEDED}")
    except ValueError as error:
        fail(f"{jwks}: {error} {_NEEDED}")
    kept = [_opened(path, text, keys) for path, text in texts]
    try:
        if _is_of_subject(export):
            subject = SubjectCheck(keys, kept)
            _feed(subject, export, size)
            _say_subject(subject.finish())
        else:
            check = ExportCheck(kept, is_range=is_range)
            _feed(check, export, size)
            _say_record(check.finish(), is_range=is_range)
    except OSError as error:
        fail(f"{export} cannot be read: {error.strerror}.")
    except BrokenExportError as error:
        fail(f"FAIL: {error}", EXIT_BROKEN)


def _is_of_subject(export: Path) -> bool:
    with export.open("rb") as lines:
        return is_subject_export(lines.readline(_LONGEST_MANIFEST_BYTES))


def _say_record(chains: Sequence[ChainFound], *, is_range: bool) -> None:
    for each in chains:
        typer.echo(_sentence(each, is_range=is_range))
    if not chains:
        typer.echo("ok: the export holds no links")


def _say_subject(result: SubjectResult) -> None:
    for checkpoint in result.checkpoints:
        typer.echo(f"ok {checkpoint} links are under its checkpoint, those of the file among them")
    typer.echo(
        f"ok {result.subject} of {result.tenant}: {result.rows:,} rows as of log offset {result.offset}, none cut off, "
        f"{result.links:,} links proved"
    )


def _opened(path: Path, text: bytes, keys: Sequence[bytes]) -> Checkpoint:
    try:
        return opened_note(text.decode(errors="replace"), keys)
    except NoteError as error:
        fail(f"FAIL: {path}: {error}", EXIT_BROKEN)


def _feed(check: ExportCheck | SubjectCheck, export: Path, size: int) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with export.open("rb") as lines, progress(*columns) as bar:
        task = bar.add_task("checking", total=size)
        for number, raw in enumerate(iter(lambda: lines.readline(MOST_LINE_BYTES + 1), b"")):
            if len(raw) > MOST_LINE_BYTES:
                raise BrokenExportError(f"Line {number + 1}: is over {MOST_LINE_BYTES:,} bytes.")
            check.take(raw)
            if number % _SHOW_EVERY_READ_LINES == 0:
                bar.update(task, completed=lines.tell())


def _sentence(chain: ChainFound, *, is_range: bool) -> str:
    if is_range:
        return f"ok {chain.chain}: {chain.links:,} links follow one another; only a whole export can be shown complete"
    behind = chain.links - (chain.signed or 0)
    tail = f", {behind:,} newer ones are not under it" if behind else ""
    return f"ok {chain.chain}: {chain.links:,} links, the checkpoint is over {chain.signed or 0:,}{tail}"
