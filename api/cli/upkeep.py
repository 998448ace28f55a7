"""The work of ``backup``, ``restore``, ``rebuild`` and ``check``, with the stores that it needs."""

import os
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import duckdb
import typer
from rich.console import Console

from clearhold.api.settings import setting
from clearhold.flows.commit.linking import opened_link_log
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
from clearhold.store.nodes.shared_keys import KeysInLog, opened_keys
from clearhold.store.redis_log.connect import EmbeddedRedis, check_external, connect_sync, redis_target
from clearhold.store.redis_log.owned import owned_log
from clearhold.store.redis_log.reader import LogReader

FAILURES: Final = (StartupError, DamagedSegmentError, ConnectionError, OSError)


def backed_up(data: Path, to: Path, *, with_secrets: bool) -> Manifest:
    """Back up a directory into a new folder."""
    master_key, redis_url = setting("master_key_file", os.environ), setting("redis_url", os.environ)
    target: str | Path
    with ExitStack() as opened:
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
            return Backup(data_dir, reader, to, clock=SystemClock()).take(
                with_secrets=with_secrets, on_progress=lambda part: status.update(f"copying {part}")
            )


def restored(backup: Path, data: Path, master_key: Path | None) -> tuple[Manifest, Rebuilt]:
    """Unpack a backup into an empty folder, and rebuild its database."""
    folder, elsewhere = data.expanduser().absolute(), setting("master_key_file", os.environ)
    redis_url = setting("redis_url", os.environ)
    if redis_url is not None:
        with closing(connect_sync(redis_url)) as client:
            check_external(client)
            require_empty(client)
    with unpacked(backup, folder, master_key=master_key, is_elsewhere=elsewhere is not None) as manifest:
        # Redis is empty, and the lake has all of it.
        return manifest, rebuilt(folder, accept_loss=True, is_restoring=True)


def rebuilt(data: Path, *, accept_loss: bool, is_restoring: bool = False) -> Rebuilt:
    """Join the log of a directory, then rebuild its database."""
    clock, screen, master_key = SystemClock(), Console(stderr=True), setting("master_key_file", os.environ)
    with ExitStack() as opened:
        data_dir = opened.enter_context(DataDir.open(data, master_key=master_key, is_restoring=is_restoring))
        redis_url = setting("redis_url", os.environ)
        target = redis_target(redis_url, data_dir, opened)
        ownership = owned_log(redis_url, data_dir, "clearhold rebuild", opened)
        seals = data_dir.entry_seals()
        segments = LogSegments(data_dir.lake_dir, seals=seals)
        joining = Joining(data_dir, target, segments, clock=clock, accept_loss=accept_loss)
        joining.join(committed_in(data_dir.duckdb_path), has_history=has_history_in(data_dir, None))
        client = opened.enter_context(closing(connect_sync(target)))
        reader = LogReader(client, range(data_dir.shards), seals=seals)
        box = SecretBox(data_dir.master_key())
        in_log = None if ownership is None else KeysInLog(client)
        keys = opened_keys(data_dir.signing_keys_path, box=box, clock=clock, in_log=in_log)
        link_log = opened_link_log(target, ownership, opened, replicas=setting("redis_replicas", os.environ) or 0)
        with screen.status("reading the chain files") as status:
            return rebuild_database(
                data_dir,
                reader,
                segments,
                keys,
                clock=clock,
                on_progress=lambda shard, entries: status.update(f"shard {shard}: {entries:,} entries applied"),
                link_log=link_log,
            )


def copy_lake_if_kept(data: Path) -> None:
    """The lake is a copy: if it cannot be written now, the service writes it when it runs."""
    if setting("lake_seconds", os.environ) == 0:
        return
    try:
        with DataDir.open(data, master_key=setting("master_key_file", os.environ)) as data_dir:
            rows = copy_lake(data_dir.lake_dir, data_dir.duckdb_path)
        typer.echo(f"{rows:,} rows copied into the lake for analysts")
    except (StartupError, OSError, duckdb.Error) as error:
        typer.echo(f"The lake for analysts was not copied; the service copies it when it runs: {error}", err=True)


def inspected(data: Path) -> Report:
    """The contents of a directory, and each disagreement of its parts."""
    with ExitStack() as opened:
        data_dir = opened.enter_context(DataDir.open(data, master_key=setting("master_key_file", os.environ)))
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
