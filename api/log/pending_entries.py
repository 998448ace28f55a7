"""The log entries of this process that the flow has not applied yet, by shard.

Two uses: an event among them is a duplicate although the state does not have it yet; and the wait of the oldest makes a
pre-flight degraded.
"""

from bisect import bisect_right
from collections import deque
from operator import itemgetter
from typing import Final

from clearhold.store.redis_log.offsets import LogProgress

UNAPPLIED_LIMIT: Final = 65_536
"""Entries a shard. Beyond it the oldest are forgotten: their duplicates are appended, and skipped by the flow."""

EventKey = tuple[str, str, int]
"""Program, event id and the checksum of the body."""


class PendingEntries:
    """Belongs to the API's event loop."""

    def __init__(self, progress: LogProgress) -> None:
        self._progress = progress
        self._waiting: list[deque[tuple[int, int, EventKey | None]]] = [deque() for _ in range(progress.shards)]
        self._keys: set[EventKey] = set()

    def add(self, shard: int, offset: int, appended_at: int, key: EventKey | None = None) -> None:
        """Note an entry that has just become durable; ``key`` is given for a bank event."""
        waiting = self._waiting[shard]
        waiting.append((offset, appended_at, key))
        if key is not None:
            self._keys.add(key)
        self._drop_applied(shard)
        if len(waiting) > UNAPPLIED_LIMIT:
            self._forget(waiting.popleft())

    def holds(self, key: EventKey) -> bool:
        """Whether the event was appended here and may be unapplied."""
        return key in self._keys

    def waiting_us(self, shard: int, *, now: int) -> int:
        """The wait of the shard's oldest unapplied entry; 0 without one."""
        self._drop_applied(shard)
        waiting = self._waiting[shard]
        return max(0, now - waiting[0][1]) if waiting else 0

    def entries(self, shard: int) -> int:
        """The number of the shard's unapplied entries; for any thread."""
        offsets = list(self._waiting[shard])  # One step, while the event loop may be appending.
        return len(offsets) - bisect_right(offsets, self._progress.applied_offset(shard), key=itemgetter(0))

    def _drop_applied(self, shard: int) -> None:
        waiting = self._waiting[shard]
        applied = self._progress.applied_offset(shard)
        while waiting and waiting[0][0] <= applied:
            self._forget(waiting.popleft())

    def _forget(self, entry: tuple[int, int, EventKey | None]) -> None:
        if entry[2] is not None:
            self._keys.discard(entry[2])
