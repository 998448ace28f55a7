"""``clearhold backup`` and ``clearhold restore``: copy the data that cannot be rebuilt, and start from the copy.

Exit codes  0 done; 2 failed, with the reason
"""

import os
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from clearhold.api.cli.exits import fail
from clearhold.api.cli.rebuild import rebuild_in
from clearhold.api.settings import setting
from clearhold.store.backup import Backup, Manifest, require_empty, unpacked
from clearhold.store.clock import SystemClock
from clearhold.store.data_dir import LAYOUT, DataDir, DataDirInUseError
from clearhold.store.errors import StartupError
from clearhold.store.joining.identity import LogInRedis, check_redis
from clearhold.store.joining.joining import name_of
from clearhold.store.lake.segment_files import DamagedSegmentError
from clearhold.store.redis_log.connect import check_external, connect_sync
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.redis_log.server import EmbeddedRedis, redis_target

_FAILURES: Final = (StartupError, DamagedSegmentError, ConnectionError, OSError)


def backup(
    data: Annotated[Path, typer.Option(help="Data directory, of a service that runs or is stopped.", file_okay=False)],
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
    if not (data / LAYOUT).is_file():
        fail(f"{data} is not a data directory.")
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
