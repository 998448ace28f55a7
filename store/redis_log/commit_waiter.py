"""Waits until an entry of the log is committed: then all its effects can be read.

The flow commits on other threads, so the committed offset is polled; a commit takes some milliseconds.

Unit    seconds
Errors  TimeoutError when the entry is not committed in time
"""

import asyncio
from collections.abc import Callable
from typing import Final

POLL_EVERY_S: Final = 0.004


class CommitWaiter:
    """Belongs to one event loop. ``committed_offset`` returns a shard's committed offset."""

    def __init__(self, committed_offset: Callable[[int], int]) -> None:
        self._committed_offset = committed_offset

    async def wait(self, shard: int, offset: int, *, within_s: float | None = None) -> None:
        """Return once the shard is committed up to ``offset``; without ``within_s`` there is no limit."""
        async with asyncio.timeout(within_s):
            while self._committed_offset(shard) < offset:  # noqa: ASYNC110 - the committer has no event of this loop
                await asyncio.sleep(POLL_EVERY_S)
