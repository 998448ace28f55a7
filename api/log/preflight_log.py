"""Makes answers to pre-flights durable in the log, and reads recorded ones: from DuckDB once they are committed, until
then from the log. Remembers the entries of this process.

A durable but uncommitted entry keeps its log offset in memory, about 150 bytes. If they reach their limit, the flow has
not committed for long, and new pre-flights are refused.

Errors  UnavailableError while the service starts, when too many entries wait for their commit, when the log does not
        confirm an entry, and when it misses the caller's deadline
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec
import structlog
from anyio import to_thread

from clearhold.api.http.head import TooLateError
from clearhold.api.log.commands import PendingEntries
from clearhold.features.core.canonical import is_derived
from clearhold.features.core.entries.preflight import PreflightRecord
from clearhold.features.core.errors import ErrorCode, UnavailableError
from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.core.principal import Principal
from clearhold.features.windows.id_index import IdIndex, key_of
from clearhold.store.duck.inputs import Preflights
from clearhold.store.lake.log_segments import RawEvents
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.progress import LogProgress

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
        if record.tenant_id != principal.tenant_id or not principal.finds(record.answer.program_id):
            return None
        return record

    def _drop_committed(self, shard: int) -> None:
        order = self._order[shard]
        committed = self._progress.committed_offset(shard)
        while order and order[0][0] <= committed:
            _, preflight_id = order.popleft()
            self._places.pop(preflight_id, None)


STATE_BEHIND_AFTER_US: Final = 2 * SECOND_US
STARTING: Final = "The service is starting. Nothing was recorded; try again."
CATCHING_UP: Final = "The service is catching up. Nothing was recorded; try again."
OVERRUN: Final = (
    "The answer was not durable within X-Deadline-Ms, but may still be recorded. "
    "Send the request again under the same key: it returns the recorded answer."
)

log: Final = structlog.get_logger()


class PreflightLog:
    """Belongs to the API's event loop. ``keyed`` has the ids that follow from idempotency keys."""

    def __init__(
        self,
        *,
        appender: LogAppender,
        recorded: RecordedPreflights,
        pending: PendingEntries,
        keyed: IdIndex,
        shards: int,
    ) -> None:
        self._appender, self._recorded, self._pending, self._keyed = appender, recorded, pending, keyed
        self._shard_count = shards
        self._overdue: dict[str, asyncio.Task[None]] = {}
        self.is_open = False

    def open(self, keyed_ids: Iterable[str]) -> None:
        """Begin, with the ids of all repeatable pre-flights of earlier processes."""
        for preflight_id in keyed_ids:
            self._keyed.put(key_of(preflight_id), 0)
        self.is_open = True

    def behind(self, program_id: str, *, now: int) -> bool:
        """Whether the oldest unapplied entry of the program's shard has waited too long."""
        return self._pending.waiting_us(self._shard(program_id), now=now) > STATE_BEHIND_AFTER_US

    async def find(self, principal: Principal, preflight_id: str) -> PreflightRecord | None:
        """The record of this id; an unknown id is not looked up on disk."""
        if not self.is_open:
            raise UnavailableError(STARTING, ErrorCode.STARTING)
        overdue = self._overdue.get(preflight_id)
        if overdue is not None:
            await asyncio.wait({overdue})
        if self._keyed.get(key_of(preflight_id)) is None:
            return None
        return await self._recorded.find(principal, preflight_id)

    def append_s(self) -> float:
        """The seconds of a deadline that the append needs."""
        return self._appender.expected_s()

    async def append(self, record: PreflightRecord, *, answer_by: float | None = None) -> None:
        """Returns when the record is durable, at the latest at ``answer_by`` on the event loop's clock.

        An append that would probably be late is not begun. A late append may still become durable.
        """
        if not self.is_open:
            raise UnavailableError(STARTING, ErrorCode.STARTING)
        shard = self._shard(record.answer.program_id)
        if not self._recorded.has_room(shard):
            raise UnavailableError(CATCHING_UP, ErrorCode.CATCHING_UP)
        if answer_by is None:
            await self._append(record, shard)
        else:
            await self._append_by(record, shard, answer_by)

    async def _append(self, record: PreflightRecord, shard: int) -> None:
        answer = record.answer
        body = msgspec.json.encode(record)
        offset = await self._appender.append(shard, EntryKind.PREFLIGHT, answer.program_id, record.asked_at, body)
        self._recorded.add(shard, offset, answer.preflight_id)
        self._pending.add(shard, offset, record.asked_at)
        if is_derived(answer.preflight_id):
            self._keyed.put(key_of(answer.preflight_id), shard)

    async def _append_by(self, record: PreflightRecord, shard: int, answer_by: float) -> None:
        """A late append continues, so that a repeat under the key waits for it and finds its record."""
        loop = asyncio.get_running_loop()
        left_s = answer_by - loop.time()
        if left_s < self.append_s():
            raise TooLateError
        appending = loop.create_task(self._append(record, shard))
        await asyncio.wait({appending}, timeout=left_s)
        if not appending.done():
            preflight_id = record.answer.preflight_id
            self._overdue[preflight_id] = appending
            appending.add_done_callback(lambda ended: self._end_overdue(preflight_id, ended))
            raise UnavailableError(OVERRUN, ErrorCode.NOT_CONFIRMED)
        appending.result()
        if loop.time() > answer_by:
            raise UnavailableError(OVERRUN, ErrorCode.NOT_CONFIRMED)

    def _end_overdue(self, preflight_id: str, appending: "asyncio.Task[None]") -> None:
        del self._overdue[preflight_id]
        if not appending.cancelled() and appending.exception() is not None:
            log.warning("overdue_preflight_not_confirmed", reason=str(appending.exception()))

    def _shard(self, program_id: str) -> int:
        return shard_of(program_id, self._shard_count)
