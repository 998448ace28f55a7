"""The commands on a data directory: ``backup``, ``restore``, ``rebuild``, ``check``.

A backup copies the data that cannot be rebuilt, also while the service runs, and a restore makes a directory from it.
A rebuild makes the database from the log and the chain files of a stopped service. A check prints the contents,
whether log, lake, database and record agree, and how far back each goes.

Exit codes  0 done, or everything agrees; 1 of a check: something does not agree; 2 failed, with the reason, and nothing
            was changed
"""

import os
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Final

import duckdb
import typer
from rich.console import Console

from clearhold.api.cli.options import AcceptLoss, AnyData, StoppedData, check_data_dir, fail
from clearhold.api.settings import setting
from clearhold.flows.lake.copying import copy_lake
from clearhold.flows.rebuild import Rebuilt, committed_in
from clearhold.flows.rebuild import rebuild as rebuild_database
from clearhold.store.backup import Backup, Manifest, require_empty, unpacked
from clearhold.store.clock import SystemClock
from clearhold.store.data_dir import DataDir, DataDirInUseError
from clearhold.store.errors import StartupError
from clearhold.store.joining.agreement import LogInRedis, check_redis, has_history_in
from clearhold.store.joining.inspection import Inspection, Report
from clearhold.store.joining.joining import Joining, name_of
from clearhold.store.keys import SecretBox, SigningKeys
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.lake.segment_files import DamagedSegmentError
from clearhold.store.redis_log.connect import EmbeddedRedis, check_external, connect_sync, redis_target
from clearhold.store.redis_log.reader import LogReader

EXIT_BROKEN: Final = 1
SHOWN_PROBLEMS: Final = 20
_FAILURES: Final = (StartupError, DamagedSegmentError, ConnectionError, OSError)


def backup(
    data: AnyData,
    to: Annotated[Path, typer.Option(help="Folder for the backup: new or empty.", file_okay=False)],
    with_master_key: Annotated[  # noqa: FBT002 - a flag
        bool,
        typer.Option(
            "--with-master-key/--without-master-key",
            help="Include the master key, which opens every secret in the backup.",
        ),
    ] = True,
) -> None:
    """Back up a data directory, even while the service runs: the whole log, the record and the keys."""
    check_data_dir(data)
    began = time.perf_counter()
    try:
        with ExitStack() as opened:
            manifest = _backed_up(data, to, opened, with_master_key=with_master_key)
    except _FAILURES as error:
        fail(str(error))
    typer.echo(
        f"{manifest.entries:,} entries, {len(manifest.files):,} files, {time.perf_counter() - began:.1f} s: {to}"
    )
    if not with_master_key:
        typer.echo("The master key is not in it; without a copy of it the backup cannot be restored.")


def restore(
    backup_folder: Annotated[Path, typer.Argument(metavar="BACKUP", help="Folder of a backup.", file_okay=False)],
    data: Annotated[Path, typer.Option(help="Data directory to create: new or empty.", file_okay=False)],
    master_key: Annotated[
        Path | None,
        typer.Option(help="The master key, when the backup was taken without it.", exists=True, dir_okay=False),
    ] = None,
) -> None:
    """Create a data directory from a backup: check the files, and rebuild the database from the log."""
    began = time.perf_counter()
    folder, elsewhere = data.expanduser().absolute(), setting("master_key_file", os.environ)
    try:
        _require_empty_redis()
        is_elsewhere = elsewhere is not None
        with (
            unpacked(backup_folder, folder, master_key=master_key, is_elsewhere=is_elsewhere) as manifest,
            ExitStack() as opened,
        ):
            data_dir = opened.enter_context(DataDir.open(folder, master_key=elsewhere))
            rebuilt = rebuild_in(data_dir, opened, accept_loss=True)  # Redis is empty, and the lake has all of it.
    except _FAILURES as error:
        fail(str(error))
    typer.echo(
        f"{rebuilt.entries:,} entries applied, {rebuilt.links:,} links placed, {time.perf_counter() - began:.1f} s: "
        f"{data} as of {manifest.taken_at}"
    )


def _backed_up(data: Path, to: Path, opened: ExitStack, *, with_master_key: bool) -> Manifest:
    master_key, redis_url = setting("master_key_file", os.environ), setting("redis_url", os.environ)
    target: str | Path
    try:
        data_dir = opened.enter_context(DataDir.open(data, master_key=master_key))
        target = redis_target(redis_url, data_dir, opened)
    except DataDirInUseError:  # The service runs, and so does its Redis.
        data_dir = DataDir.beside(data, master_key=master_key)
        target = redis_url or EmbeddedRedis(data_dir.path).socket_path
    client = opened.enter_context(closing(connect_sync(target)))
    in_redis = LogInRedis(client, name_of(data_dir, target))
    check_redis(data_dir, in_redis, has_history=True, accept_loss=False)
    reader = LogReader(client, range(data_dir.shards))
    with Console(stderr=True).status("copying") as status:
        taking = Backup(data_dir, reader, to, clock=SystemClock())
        return taking.take(with_master_key=with_master_key, on_progress=lambda part: status.update(f"copying {part}"))


def _require_empty_redis() -> None:
    redis_url = setting("redis_url", os.environ)
    if redis_url is not None:
        with closing(connect_sync(redis_url)) as client:
            check_external(client)
            require_empty(client)


def rebuild(
    data: StoppedData,
    accept_loss: AcceptLoss = False,  # noqa: FBT002 - a flag
) -> None:
    """Rebuild the database from the log (segments and Redis) and the chain files; the old database is set aside.

    The lake for analysts is copied again from it.
    """
    check_data_dir(data)
    began = time.perf_counter()
    try:
        with ExitStack() as opened:
            data_dir = opened.enter_context(DataDir.open(data, master_key=setting("master_key_file", os.environ)))
            rebuilt = rebuild_in(data_dir, opened, accept_loss=accept_loss)
    except _FAILURES as error:
        fail(str(error))
    typer.echo(
        f"{rebuilt.entries:,} entries applied, {rebuilt.links:,} links placed, {time.perf_counter() - began:.1f} s"
    )
    if setting("lake_seconds", os.environ) != 0:
        _copy_lake(data)
    if rebuilt.aside is not None:
        typer.echo(f"The old database is now {rebuilt.aside}; delete it when you no longer need it.")


def _copy_lake(data: Path) -> None:
    """The lake is a copy: if it cannot be written now, the service writes it when it runs."""
    try:
        with DataDir.open(data, master_key=setting("master_key_file", os.environ)) as data_dir:
            rows = copy_lake(data_dir.lake_dir, data_dir.duckdb_path)
        typer.echo(f"{rows:,} rows copied into the lake for analysts")
    except (StartupError, OSError, duckdb.Error) as error:
        typer.echo(f"The lake for analysts was not copied; the service copies it when it runs: {error}", err=True)


def rebuild_in(data_dir: DataDir, opened: ExitStack, *, accept_loss: bool) -> Rebuilt:
    """Join the log of an open directory, then rebuild its database."""
    clock, screen = SystemClock(), Console(stderr=True)
    target = redis_target(setting("redis_url", os.environ), data_dir, opened)
    segments = LogSegments(data_dir.lake_dir)
    joining = Joining(data_dir, target, segments, clock=clock, accept_loss=accept_loss)
    joining.join(committed_in(data_dir.duckdb_path), has_history=has_history_in(data_dir, None))
    reader = LogReader(opened.enter_context(closing(connect_sync(target))), range(data_dir.shards))
    keys = SigningKeys.open(data_dir.signing_keys_path, box=SecretBox(data_dir.master_key()), clock=clock, purposes=())
    with screen.status("reading the chain files") as status:
        return rebuild_database(
            data_dir,
            reader,
            segments,
            keys,
            clock=clock,
            on_progress=lambda shard, entries: status.update(f"shard {shard}: {entries:,} entries applied"),
        )


def check(data: StoppedData) -> None:
    """Print the contents of a data directory, whether its log, lake, database and record agree, and their ages."""
    check_data_dir(data)
    try:
        with ExitStack() as opened:
            data_dir = opened.enter_context(DataDir.open(data, master_key=setting("master_key_file", os.environ)))
            report = _inspected(data_dir, opened)
    except (StartupError, OSError) as error:
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


def _inspected(data_dir: DataDir, opened: ExitStack) -> Report:
    box, screen = SecretBox(data_dir.master_key()), Console(stderr=True)
    keys = SigningKeys.open(data_dir.signing_keys_path, box=box, clock=SystemClock(), purposes=())
    target, failure = None, None
    try:
        target = redis_target(setting("redis_url", os.environ), data_dir, opened)
    except StartupError as error:
        failure = str(error)
    name = name_of(data_dir, target)
    with screen.status("reading") as status:
        report = Inspection(data_dir, target, redis_name=name, keys=keys).run(
            lambda part: status.update(f"reading {part}")
        )
    if failure is not None:
        report.problems.append(failure)
    return report
