"""How far the entries of each shard are applied and committed, and the wait for a commit.

A waiter notes itself first and looks at the offset after that; a commit moves the offset first and looks for waiters
after that. So whichever comes first, one of the two sees the other, and no wake-up is lost. A commit costs each event
loop with waiters one call, however many they are; the loop then wakes the ones that the commit reaches.
"""

import asyncio
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Mapping
from itertools import count
from typing import Final


class LogProgress:
    """The offsets up to which each shard's entries are applied and committed; 0 without entries.

    Written by the threads that move entries, read by any thread, waited for on any event loop.
    """

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self._applied = [0] * shards
        self._committed = [0] * shards
        self._waiters: dict[asyncio.AbstractEventLoop, _Waiters] = {}

    def applied_offset(self, shard: int) -> int:
        """The offset up to which the shard's state has applied every entry."""
        return self._applied[shard]

    def committed_offset(self, shard: int) -> int:
        """The offset up to which the tables have the rows of the shard's entries."""
        return self._committed[shard]

    def mark_applied(self, shard: int, offset: int) -> None:
        self._applied[shard] = offset

    def mark_committed(self, offsets: Mapping[int, int]) -> None:
        """Note a commit, and wake the callers that it reaches."""
        for shard, offset in offsets.items():
            self._committed[shard] = offset
        for waiters in tuple(self._waiters.values()):  # one step, while loops may be adding themselves
            waiters.wake()

    async def committed(self, shard: int, offset: int, *, within_s: float | None = None) -> None:
        """Return once the shard is committed up to ``offset``, so that all effects of its entries can be read;
        ``TimeoutError`` after ``within_s``, if given.
        """
        if self.committed_offset(shard) >= offset:
            return
        loop = asyncio.get_running_loop()
        waiters = self._waiters.setdefault(loop, _Waiters(self, loop))
        try:
            async with asyncio.timeout(within_s):
                await waiters.wait(shard, offset)
        finally:
            if not waiters.count:
                self._waiters.pop(loop, None)


_NUMBERS: Final = count()
_Waiter = tuple[int, int, asyncio.Future[None]]
"""The offset, and a number, so that two waiters never compare their futures."""


class _Waiters:
    """The waiters on one event loop. Only ``wake`` is called from other threads."""

    def __init__(self, progress: LogProgress, loop: asyncio.AbstractEventLoop) -> None:
        self._progress, self._loop = progress, loop
        self._by_shard: defaultdict[int, list[_Waiter]] = defaultdict(list)  # in the order of offsets
        self.count = 0

    async def wait(self, shard: int, offset: int) -> None:
        waiter = (offset, next(_NUMBERS), self._loop.create_future())
        waiting = self._by_shard[shard]
        insort(waiting, waiter)
        self.count += 1
        try:
            if self._progress.committed_offset(shard) < offset:
                await waiter[2]
        finally:
            self.count -= 1
            place = bisect_left(waiting, waiter)
            if place < len(waiting) and waiting[place] is waiter:
                del waiting[place]

    def wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._release)
        except RuntimeError:  # The loop was closed, which ended its waiters.
            return

    def _release(self) -> None:
        for shard, waiting in self._by_shard.items():
            reached = bisect_left(waiting, self._progress.committed_offset(shard) + 1, key=_offset_of)
            for _, _, woken in waiting[:reached]:
                if not woken.done():
                    woken.set_result(None)
            del waiting[:reached]


def _offset_of(waiter: _Waiter) -> int:
    return waiter[0]
