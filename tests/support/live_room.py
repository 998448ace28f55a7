"""Committed rows, the thread that writes their events into a real Redis, and the streams as a reader finds them."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

import duckdb
import msgspec
import pyarrow as pa
import redis

from clearhold.features.live.entries import LiveEntryRow
from clearhold.flows.live.committed import LiveCommits
from clearhold.flows.live.publishing import LivePublishing
from clearhold.flows.stream.dataflow import ShardResults, batch_of
from clearhold.store.duck.database import BatchWriter
from clearhold.store.live.entries import stream_key
from clearhold.store.live.streams import LiveBounds, place_of
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import offset_at
from clearhold.store.tables import row_tables
from tests.support.clock import T0, FrozenClock
from tests.support.duck_rows import PROGRAM, a_transfer
from tests.support.waiting import eventually

SHARDS: Final = 4
SIMULATED: Final = "00000000-0000-4000-8000-00000000b00a"
_STOP_S: Final = 30.0
_is_simulated: Final = {SIMULATED}.__contains__


def _made(rows: dict[type[msgspec.Struct], list[msgspec.Struct]]) -> dict[str, pa.Table]:
    results = ShardResults(0)
    for of_kind in rows.values():
        for row in of_kind:
            results.emit(row)
    name = LiveEntryRow.__name__
    return {kind: table for kind, table in batch_of([results], {}, with_live=True).tables.items() if kind == name}


class LiveRoom:
    """A service's parts around the streams: ``commit`` writes rows as the committer does, ``prepare`` and the function
    that it returns do so in two steps. Every second commit has its entries, as a scorer makes them.
    """

    def __init__(self, socket: Path, database: duckdb.DuckDBPyConnection, bounds: LiveBounds | None = None) -> None:
        self.socket, self.database, self.clock = socket, database, FrozenClock()
        self.client: redis.Redis = connect_sync(socket)
        self.bounds = bounds or LiveBounds()
        self.progress, self._writer = LogProgress(SHARDS), BatchWriter(database)
        self._count = self._commits = 0
        self.live = self._new()

    def _new(self) -> LivePublishing:
        return LivePublishing(
            self.bounds,
            client=connect_sync(self.socket),
            database=self.database,
            progress=self.progress,
            is_simulated=_is_simulated,
            clock=self.clock,
            mark="ofThisLog",
        )

    def start(self, *, ready: Any = lambda: True) -> None:
        self.live.start(ready)

    def stop(self) -> None:
        self.live.stop(_STOP_S)

    def restart(self) -> None:
        """A new run of the service, on the same stores."""
        self.stop()
        self.live = self._new()
        self.start()

    def next_offset(self) -> int:
        """An entry of now."""
        self._count += 1
        return offset_at(self.clock.now()) + self._count

    def commit(self, *rows: Any) -> None:
        self.prepare(*rows)()

    def prepare(self, *rows: Any) -> Callable[[], None]:
        by_type: dict[type[msgspec.Struct], list[msgspec.Struct]] = defaultdict(list)
        offsets: dict[int, int] = {}
        for row in rows:
            by_type[type(row)].append(row)
            offsets[row.shard] = max(row.offset, offsets.get(row.shard, 0))
        self._commits += 1
        tables = row_tables(by_type)
        if self._commits % 2:
            tables |= _made(by_type)
        commits = LiveCommits(_is_simulated, before=(self.live.before_commit,), after=(self.live.on_commit,))
        commits.before_commit(tables)

        def commit() -> None:
            self._writer.commit(tables, offsets, T0)
            self.progress.mark_committed(offsets)
            commits.on_commit(tables)

        return commit

    def transfers(self, number: int, **over: Any) -> list[int]:
        """Commit this many scored transfers, one a commit; returns their offsets."""
        offsets = [self.next_offset() for _ in range(number)]
        for offset in offsets:
            self.commit(a_transfer(id=f"trf_{offset}", offset=offset, scored_offset=offset, **over))
        return offsets

    def settle(self) -> None:
        """Return once all commits are in the streams."""
        eventually(lambda: self.live.counts.published and self.live.counts.behind_since is None)

    def offsets(self, program_id: str = PROGRAM) -> list[int]:
        """The log offsets of a stream's entries, in its order."""
        return [place_of(entry.decode())[0] for entry, _ in self.entries(program_id)]

    def entries(self, program_id: str = PROGRAM) -> list[tuple[bytes, dict[bytes, bytes]]]:
        return cast("list[tuple[bytes, dict[bytes, bytes]]]", self.client.xrange(stream_key(program_id)))
