"""Acting through the log: an entry is appended, the flow applies it, and what came of it can be read once recorded.

Nothing is decided here. A caller that is told to ask again does so under its Idempotency-Key: the entry carries an id
that follows from the request, and whatever came of it is found by that id.

Errors  UnavailableError when the log did not take the entry, or when it was not recorded in time
"""

import asyncio
from typing import Final

from api.log.pending_entries import PendingEntries
from features.core.errors import UnavailableError
from features.core.log_entry import EntryKind, shard_of
from features.shard.shards import Shards
from store.redis_log.appender import LogAppender

COMMITTED_WITHIN_S: Final = 5.0
NOT_YET: Final = "This was taken and is not confirmed yet. Ask again under the same Idempotency-Key."

_LOOK_EVERY_S: Final = 0.004


class CommandLog:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, *, appender: LogAppender, shards: Shards, pending: PendingEntries) -> None:
        self._appender, self._shards, self._unapplied = appender, shards, pending

    async def append(self, kind: EntryKind, program_id: str, at: int, body: bytes) -> None:
        """Returns once the entry is applied and all that it led to can be read."""
        shard = shard_of(program_id, self._shards.count)
        offset = await self._appender.append(shard, kind, program_id, at, body)
        self._unapplied.add(shard, offset, at)
        await self.committed(shard, offset)

    async def committed(self, shard: int, offset: int) -> None:
        """Wait until the shard is recorded up to this offset."""
        loop = asyncio.get_running_loop()
        until = loop.time() + COMMITTED_WITHIN_S
        while self._shards.committed_offset(shard) < offset:
            if loop.time() > until:
                raise UnavailableError(NOT_YET)
            await asyncio.sleep(_LOOK_EVERY_S)
