"""How far the entries of each shard are applied and committed."""

import asyncio
from typing import Final

POLL_EVERY_S: Final = 0.004


class LogProgress:
    """The offsets up to which each shard's entries are applied and committed; 0 without entries.

    Written by the threads that move entries, read by any thread.
    """

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self._applied = [0] * shards
        self._committed = [0] * shards

    def applied_offset(self, shard: int) -> int:
        """The offset up to which the shard's state has applied every entry."""
        return self._applied[shard]

    def committed_offset(self, shard: int) -> int:
        """The offset up to which the tables have the rows of the shard's entries."""
        return self._committed[shard]

    def mark_applied(self, shard: int, offset: int) -> None:
        self._applied[shard] = offset

    def mark_committed(self, shard: int, offset: int) -> None:
        self._committed[shard] = offset

    async def committed(self, shard: int, offset: int, *, within_s: float | None = None) -> None:
        """Return once the shard is committed up to ``offset``, so that all effects of its entries can be read;
        ``TimeoutError`` after ``within_s``, if given.

        The flow commits on other threads, so the offset is polled; a commit takes some milliseconds.
        """
        async with asyncio.timeout(within_s):
            while self.committed_offset(shard) < offset:  # noqa: ASYNC110 - the committer has no event of this loop
                await asyncio.sleep(POLL_EVERY_S)
