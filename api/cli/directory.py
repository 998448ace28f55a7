"""The commands on a data directory: ``backup``, ``restore``, ``rebuild``, ``check``.

A backup copies the data that cannot be rebuilt, also while the service runs, and a restore makes a directory from it.
A rebuild makes the database from the log and the chain files of a stopped service. A check prints the contents,
whether log, lake, database and record agree, and how far back each goes.

Exit codes  0 done, or everything agrees; 1 of a check: something does not agree; 2 failed, with the reason, and nothing
            was changed
"""

import signal
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from clearhold.api.cli.options import AcceptLoss, AnyData, StoppedData, check_data_dir, fail
from clearhold.store.data_dir import ADMIN_TOKEN

EXIT_BROKEN: Final = 1
SHOWN_PROBLEMS: Final = 20


def backup(
    data: AnyData,
    to: Annotated[Path, typer.Option(help="Folder for the backup: new or empty.", file_okay=False)],
    with_secrets: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option("--with-secrets", help="Include the master key, which opens everything, and the admin token."),
    ] = False,
) -> None:
    from clearhold.api.cli.upkeep import FAILURES, backed_up

    check_data_dir(data)
    began = time.perf_counter()
    try:
        manifest = backed_up(data, to, with_secrets=with_secrets)
    except FAILURES as error:
        fail(str(error))
    typer.echo(
        f"{manifest.entries:,} entries, {len(manifest.files):,} files, {time.perf_counter() - began:.1f} s: {to}"
    )
    if not with_secrets:
        typer.echo("Without the master key and the admin token: keep a copy of the key, or it cannot be restored.")


def restore(
    backup_folder: Annotated[Path, typer.Argument(metavar="BACKUP", help="Folder of a backup.", file_okay=False)],
    data: Annotated[Path, typer.Option(help="Data directory to create: new or empty.", file_okay=False)],
    master_key: Annotated[
        Path | None,
        typer.Option(help="The master key, when the backup was taken without it.", exists=True, dir_okay=False),
    ] = None,
) -> None:
    from clearhold.api.cli.upkeep import FAILURES, restored

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the folder is emptied
    began = time.perf_counter()
    try:
        manifest, rebuilt = restored(backup_folder, data, master_key)
    except FAILURES as error:
        fail(str(error))
    typer.echo(
        f"{rebuilt.entries:,} entries applied, {rebuilt.links:,} links placed, {time.perf_counter() - began:.1f} s: "
        f"{data} as of {manifest.taken_at}"
    )
    if ADMIN_TOKEN not in manifest.files:
        typer.echo(f"The backup has no admin token: without CLEARHOLD_ADMIN_TOKEN a start makes {data / ADMIN_TOKEN}.")


def rebuild(
    data: StoppedData,
    accept_loss: AcceptLoss = False,  # noqa: FBT002 - a flag
) -> None:
    """The lake for analysts is copied again from it."""
    from clearhold.api.cli.upkeep import FAILURES, copy_lake_if_kept, rebuilt

    check_data_dir(data)
    began = time.perf_counter()
    try:
        result = rebuilt(data, accept_loss=accept_loss)
    except FAILURES as error:
        fail(str(error))
    seconds = time.perf_counter() - began
    typer.echo(f"{result.entries:,} entries applied, {result.links:,} links placed, {seconds:.1f} s")
    copy_lake_if_kept(data)
    if result.aside is not None:
        typer.echo(f"The old database is now {result.aside}; delete it when you no longer need it.")


def check(data: StoppedData) -> None:
    from clearhold.api.cli.upkeep import FAILURES, inspected

    check_data_dir(data)
    try:
        report = inspected(data)
    except FAILURES as error:
        fail(str(error))
    for label, text in report.lines:
        typer.echo(f"{label:10} {text}")
    for problem in report.problems[:SHOWN_PROBLEMS]:
        typer.echo(f"FAIL: {problem}", err=True)
    more = len(report.problems) - SHOWN_PROBLEMS
    if more > 0:
        typer.echo(f"and {more:,} more problems", err=True)
    if report.problems:
        raise typer.Exit(EXIT_BROKEN)
    typer.echo("ok: log, lake, database and record agree")
