"""``clearhold rebuild``: rebuilds the database from the log and the chain files while the service is stopped.

Exit codes  0 the new database is in place; 2 it could not be built, and nothing was changed
"""

import os
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import duckdb
import typer
from rich.console import Console

from clearhold.api.cli.exits import fail
from clearhold.api.settings import setting
from clearhold.flows.lake.copying import copy_lake
from clearhold.flows.rebuild import Rebuilt, committed_in
from clearhold.flows.rebuild import rebuild as rebuild_database
from clearhold.store.clock import SystemClock
from clearhold.store.data_dir import DataDir
from clearhold.store.errors import StartupError
from clearhold.store.joining.identity import has_history_in
from clearhold.store.joining.joining import Joining
from clearhold.store.keys.secrets import SecretBox
from clearhold.store.keys.signing_keys import SigningKeys
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.lake.segment_files import DamagedSegmentError
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.redis_log.server import redis_target


def rebuild(
    data: Annotated[Path, typer.Option(help="Data directory of a stopped service.", file_okay=False)],
    accept_loss: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--accept-loss", help="Continue although log entries are lost; the record lists them.")
    ] = False,
) -> None:
    """Rebuild the database from the log (segments and Redis) and the chain files; the old database is set aside.

    The lake for analysts is copied again from it.
    """
    if not (data / "layout.json").is_file():
        fail(f"{data} is not a data directory.")
    began = time.perf_counter()
    try:
        with ExitStack() as opened:
            data_dir = opened.enter_context(DataDir.open(data, master_key=setting("master_key_file", os.environ)))
            rebuilt = rebuild_in(data_dir, opened, accept_loss=accept_loss)
    except (StartupError, DamagedSegmentError, ConnectionError, OSError) as error:
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
