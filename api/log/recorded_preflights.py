"""Reads recorded pre-flights: from DuckDB once they are committed, until then from the log.

A durable but uncommitted entry keeps its log offset in memory, about 150 bytes. If they reach their limit, the flow has
not committed for long, and new pre-flights are refused.
"""

from collections import deque
from typing import Final

import msgspec
from anyio import to_thread

from clearhold.features.core.entries.preflight import PreflightRecord
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.principal import Principal
from clearhold.store.duck.preflights import Preflights
from clearhold.store.lake.log_segments import RawEvents
from clearhold.store.redis_log.offsets import LogProgress

UNCOMMITTED_LIMIT: Final = 65_536
"""Pre-flights a shard that are durable and may be uncommitted."""


UNREADABLE: Final = "The record of this pre-flight cannot be read at the moment. Try again."


class RecordedPreflights:
    """Belongs to the API's event loop; reads go to worker threads."""

    def __init__(self, *, committed: Preflights, events: RawEvents, progress: LogProgress) -> None:
        self._committed, self._events, self._progress = committed, events, progress
        self._places: dict[str, tuple[int, int]] = {}
        self._order: list[deque[tuple[int, str]]] = [deque() for _ in range(progress.shards)]

    def has_room(self, shard: int) -> bool:
        self._drop_committed(shard)
        return len(self._order[shard]) < UNCOMMITTED_LIMIT

    def add(self, shard: int, offset: int, preflight_id: str) -> None:
        """Note a pre-flight that has just become durable."""
        self._places[preflight_id] = (shard, offset)
        self._order[shard].append((offset, preflight_id))

    async def find(self, principal: Principal, preflight_id: str) -> PreflightRecord | None:
        place = self._places.get(preflight_id)
        if place is None:
            return await to_thread.run_sync(self._committed.find, principal, preflight_id)
        try:
            body = await to_thread.run_sync(self._events.body, *place)
        except ConnectionError as error:
            raise UnavailableError(UNREADABLE) from error
        if body is None:
            raise UnavailableError(UNREADABLE)
        record = msgspec.json.decode(body, type=PreflightRecord)
        if record.tenant_id != principal.tenant_id:
            return None
        principal.require_program(record.answer.program_id)
        return record

    async def matched_transfer_id(self, principal: Principal, preflight_id: str) -> str | None:
        return await to_thread.run_sync(self._committed.matched_transfer_id, principal, preflight_id)

    def _drop_committed(self, shard: int) -> None:
        order = self._order[shard]
        committed = self._progress.committed_offset(shard)
        while order and order[0][0] <= committed:
            _, preflight_id = order.popleft()
            self._places.pop(preflight_id, None)
