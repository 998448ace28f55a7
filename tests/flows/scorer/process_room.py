"""An engine of this process whose shards are scored by real scorer processes, on real stores."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb

from clearhold.flows.commit.committer import BeforeCommit
from clearhold.flows.engine import STATE_VERSION, Engine
from clearhold.flows.scorer.scorers import ScorerProcesses
from clearhold.flows.scorer.supervisor import ScorerPaths
from clearhold.store.clock import SystemClock
from clearhold.store.duck.database import open_database
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.record.chain import ChainWriter
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.progress import LogProgress
from tests.flows.engine_room import SHARDS
from tests.support.waiting import eventually

STARTED_WITHIN_S = 120.0


class ProcessRoom:
    """Where such an engine can be started again and again on the same stores."""

    def __init__(self, folder: Path, redis_socket: str | Path) -> None:
        folder.mkdir()
        self.folder, self._redis_socket = folder, redis_socket

    @contextmanager
    def running(
        self, scorers: int, *, with_live: bool = False, before_commit: BeforeCommit | None = None
    ) -> Iterator[tuple[Engine, ScorerProcesses]]:
        """An engine that has caught up; stopped cleanly on leaving."""
        places = ScorerPaths(
            log=str(self._redis_socket),
            seal_key=None,
            snapshots=self.folder / "checkpoints",
            lake=self.folder / "lake",
            state_version=STATE_VERSION,
            with_live=with_live,
        )
        processes = ScorerProcesses(scorers, SHARDS, places, open_redis=lambda: connect_sync(self._redis_socket))
        processes.begin()
        with closing(open_database(self.folder / "clearhold.duckdb")) as database:
            engine = Engine(
                processes,
                LogProgress(SHARDS),
                open_redis=lambda: connect_sync(self._redis_socket),
                database=database,
                segments=LogSegments(self.folder / "lake"),
                chains=ChainWriter(database, self.folder / "record"),
                clock=SystemClock(),
                before_commit=before_commit,
            )
            engine.start()
            try:
                eventually(lambda: engine.caught_up() and engine.failure is None, within_s=STARTED_WITHIN_S)
                yield engine, processes
            finally:
                engine.stop(60.0)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Read the tables while no engine runs."""
        with closing(duckdb.connect(str(self.folder / "clearhold.duckdb"), read_only=True)) as connection:
            return connection.execute(query).fetchall()
