"""``clearhold verify``: an examiner's offline check of an export, of the record or of one subject.

``docs/verify.py`` does the same in a short script.

Exit codes  0 the record is intact; 1 it is not; 2 the check could not start
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from clearhold.api.cli.exits import fail
from clearhold.store.record.export_check import BrokenExportError, ChainFound, ExportCheck, public_keys_of
from clearhold.store.record.signed_trees import Checkpoint, NoteError, opened_note
from clearhold.store.subjects.check import BrokenSubjectError, SubjectCheck, SubjectResult, is_subject_export

EXIT_BROKEN: Final = 1
_NEEDED: Final = (
    "Needed are, in this order: an export (GET /api/record/export, or GET /api/entities/{id}/export), the published "
    "keys (GET /.well-known/jwks.json) and the checkpoints that you kept (GET /api/record/checkpoint)."
)
_SHOW_EVERY_LINES: Final = 5_000
_LONGEST_MANIFEST_BYTES: Final = 4 << 20


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
    """Check an export of the record or of one subject offline, against published keys and checkpoints that you kept."""
    try:
        size = export.stat().st_size
        keys = public_keys_of(jwks.read_bytes())
        texts = [(path, path.read_bytes()) for path in checkpoints or ()]
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
    except (BrokenExportError, BrokenSubjectError) as error:
        fail(f"FAIL: {error}", EXIT_BROKEN)


def _is_of_subject(export: Path) -> bool:
    with export.open("rb") as lines:
        return is_subject_export(lines.readline(_LONGEST_MANIFEST_BYTES))


def _say_record(chains: Sequence[ChainFound], *, is_range: bool) -> None:
    for chain in chains:
        typer.echo(_sentence(chain, is_range=is_range))
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
    screen = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with (
        export.open("rb") as lines,
        Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as progress,
    ):
        task = progress.add_task("checking", total=size)
        for number, raw in enumerate(lines):
            check.take(raw)
            if number % _SHOW_EVERY_LINES == 0:
                progress.update(task, completed=lines.tell())


def _sentence(chain: ChainFound, *, is_range: bool) -> str:
    if is_range:
        return f"ok {chain.chain}: {chain.links:,} links follow one another; only a whole export can be shown complete"
    behind = chain.links - (chain.signed or 0)
    tail = f", {behind:,} newer ones are not under it" if behind else ""
    return f"ok {chain.chain}: {chain.links:,} links, the checkpoint is over {chain.signed or 0:,}{tail}"
