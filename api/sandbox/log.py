"""Appends composed events to the log, and waits for their consequences.

Errors  UnavailableError when the log refuses them, and while the service starts
"""

from clearhold.api.ingest.routes import IngestService
from clearhold.api.log.commands import COMMITTED_WITHIN_S
from clearhold.features.core.log_entry import shard_of
from clearhold.features.sandbox.feed import ComposedEvents
from clearhold.features.shard.questions import Owner, SeenEvents
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.offsets import CommitWaiter, LogProgress


class SandboxLog:
    """Belongs to the API's event loop."""

    def __init__(
        self, *, ingest: IngestService, owner: Owner, appender: LogAppender, progress: LogProgress, waiter: CommitWaiter
    ) -> None:
        self._ingest, self._owner, self._appender = ingest, owner, appender
        self._progress, self._waiter = progress, waiter

    async def require_replayed(self, program_id: str) -> None:
        """Raise UnavailableError before the log of the start is replayed, when its events would seem unknown."""
        await self._owner.query(program_id, SeenEvents(()))

    async def take(self, program_id: str, events: ComposedEvents) -> None:
        await self._ingest.take_composed(program_id, events)

    async def knows(self, program_id: str, event_id: str) -> bool:
        """Whether an event under this id took effect."""
        (earlier,) = (await self._owner.query(program_id, SeenEvents(((event_id, 0),)))).value
        return earlier is not None

    async def settle(self, program_id: str) -> bool:
        """Wait until all entries of the program's shard are committed; False when that takes too long."""
        shard = shard_of(program_id, self._progress.shards)
        offset = max(self._appender.last_appended(shard), self._progress.applied_offset(shard))
        try:
            await self._waiter.wait(shard, offset, within_s=COMMITTED_WITHIN_S)
        except TimeoutError:
            return False
        return True
