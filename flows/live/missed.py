"""The events that a reader missed and that its tenant's ring does not have: read from the tables.

All events after a position are read, whatever the reader wants, because their numbers are part of its next position.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from anyio import CapacityLimiter, to_thread

from clearhold.flows.live.committed import IsSimulated, entries_of
from clearhold.flows.live.feed_events import FeedEvent, feed_events
from clearhold.flows.live.log_history import LogHistory
from clearhold.flows.live.positions import ALL_READ, Position, ShardPlace
from clearhold.store.duck.live_rows import CommittedLiveRows, OffsetSpan
from clearhold.store.redis_log.progress import LogProgress

STORED_ROWS: Final = 10_000

_READS_AT_ONCE: Final = 2
_Missed = tuple[list[FeedEvent] | None, Position]


class MissedEvents:
    """Belongs to the API's event loop. ``shards_of`` are the shards that a tenant may have entries in."""

    def __init__(
        self,
        rows: CommittedLiveRows,
        progress: LogProgress,
        history: LogHistory,
        *,
        shards_of: Callable[[str], Iterable[int]],
        is_simulated: IsSimulated,
        most_rows: int = STORED_ROWS,
    ) -> None:
        self._rows, self._progress, self._history, self._most_rows = rows, progress, history, most_rows
        self._shards_of, self._is_simulated = shards_of, is_simulated
        self._threads = CapacityLimiter(_READS_AT_ONCE)
        self._under_way: dict[tuple[str, str], asyncio.Task[_Missed]] = {}

    def now(self, tenant_id: str) -> Position:
        """Behind everything that is committed."""
        committed = self._progress.committed_offset
        places = {shard: ShardPlace(committed(shard), ALL_READ) for shard in self._shards_of(tenant_id)}
        return Position(places, self._history.mark)

    def is_unknown(self, position: Position) -> bool:
        """Whether it is of another log, beyond what both have, or behind entries that were never committed."""
        return not self._history.has(position) or any(
            place.offset > self._progress.committed_offset(shard) for shard, place in position.places.items()
        )

    async def after(self, tenant_id: str, position: Position) -> _Missed:
        """The events after a position, None when they are too many, and the position up to which they are.

        Readers that were connected until a restart have the same position, and share one reading.
        """
        key = (tenant_id, position.id_after())
        reading = self._under_way.get(key)
        if reading is None:
            reading = asyncio.create_task(self._read(tenant_id, position.copy(), self.now(tenant_id)))
            self._under_way[key] = reading
            reading.add_done_callback(lambda _: self._under_way.pop(key, None))
        return await asyncio.shield(reading)

    async def _read(self, tenant_id: str, after: Position, upto: Position) -> _Missed:
        return await to_thread.run_sync(partial(self._events, tenant_id, after, upto), limiter=self._threads), upto

    def _events(self, tenant_id: str, after: Position, upto: Position) -> list[FeedEvent] | None:
        """On a worker's thread. An entry of which a part was read is read whole, because its events are numbered."""
        tables = self._rows.of_tenant(tenant_id, _spans(after, upto), self._most_rows)
        if tables is None:
            return None
        events = feed_events(entries_of(tables, self._is_simulated))
        return [each for each in events if not after.has_read(each.shard, each.place)]


def _spans(after: Position, upto: Position) -> Mapping[int, OffsetSpan]:
    spans: dict[int, OffsetSpan] = {}
    for shard, (last, _) in upto.places.items():
        offset, read = after.of(shard)
        first = offset + 1 if read == ALL_READ else offset
        if first <= last:
            spans[shard] = OffsetSpan(first, last)
    return spans
