"""The log of a backfill: appends steps, waits for their commit, reads a program's history.

Metrics are by kind of subject and never by program.

Unit    seconds
Errors  none while Redis is down: calls wait. An unconfirmed step is appended again, which changes nothing
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from threading import Event
from time import monotonic
from typing import Any, Final

import msgspec
import structlog
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.core.entries.commands import ActorRange, BackfillStep, Progress, Rescored, Stage, Subjects
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind, LogEntry, SealOrder, shard_of
from clearhold.flows.running.counts import Distribution, counter, gauge, histogram
from clearhold.store.clock import Clock
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import LogReader

STEPS_UNDER_WAY: Final = 4
"""The most steps that wait for their commit: the events of the stream never wait behind more."""

_RETRY_S: Final = 0.2
_PAGE_ENTRIES: Final = 1_000
_LOG_EVERY_S: Final = 5.0

Settle = Callable[[int, int], Awaitable[None]]
"""Returns when a shard is committed up to an offset."""

log = structlog.get_logger()


class StepLog:
    """Belongs to the API's event loop, but for ``history``, which any thread may read."""

    def __init__(
        self,
        progress: LogProgress,
        *,
        appender: LogAppender,
        segments: LogSegments,
        open_reader: Callable[[], LogReader],
        clock: Clock,
        settle: Settle | None = None,
    ) -> None:
        self._shards = progress.shards
        self._appender, self._segments, self._open_reader, self._clock = appender, segments, open_reader, clock
        self._settle = settle or progress.committed

    async def append(self, program_id: str, step: BackfillStep) -> int:
        """Return the step's offset once it is durable."""
        body, shard = msgspec.json.encode(step), self.shard_of(program_id)
        while True:
            try:
                return await self._appender.append(shard, EntryKind.BACKFILL, program_id, self._clock.now(), body)
            except UnavailableError as error:
                log.warning("backfill_waits", program_id=program_id, error=str(error))
                await asyncio.sleep(_RETRY_S)

    async def settled(self, program_id: str, offset: int) -> None:
        """Return when the entry at that offset is committed."""
        await self._settle(self.shard_of(program_id), offset)

    def history(self, program_id: str, upto: int, *, stopping: Event) -> Iterator[LogEntry]:
        """The program's entries up to an offset, from the first on; may end early once ``stopping`` is set.

        Entries may move from Redis into segments meanwhile: a page counts only if the segments still end before it.
        """
        shard, reader, after = self.shard_of(program_id), self._open_reader(), 0
        checked = SealOrder().checked
        while after < upto and not stopping.is_set():
            segments_end = self._segments.shard(shard).last_offset
            if segments_end > after:
                entries = self._segments.shard(shard).read(after, min(segments_end, upto))
                yield from _of_program(map(checked, entries), program_id)
                after = segments_end
                continue
            try:
                page = reader.range(shard, after, upto, count=_PAGE_ENTRIES)
            except ConnectionError as error:
                log.warning("backfill_waits", program_id=program_id, error=str(error))
                stopping.wait(_RETRY_S)
                continue
            if self._segments.shard(shard).last_offset > segments_end:
                continue
            if not page:
                return
            yield from _of_program(map(checked, page), program_id)
            after = page[-1].offset

    def shard_of(self, program_id: str) -> int:
        return shard_of(program_id, self._shards)


class BackfillSteps:
    """The steps of one backfill. Each carries the progress so far; at most ``STEPS_UNDER_WAY`` await their commit."""

    def __init__(self, step_log: StepLog, tenant_id: str, program_id: str, progress: Progress) -> None:
        self.tenant_id, self.program_id, self.progress = tenant_id, program_id, progress
        self.is_started = progress.started_offset > 0
        self.in_log = asyncio.Event()  # the start, once it is durable
        if self.is_started:
            self.in_log.set()
        self._log = step_log
        self._under_way: deque[int] = deque()
        self._logged_at = monotonic()

    async def start(self, fresh: Progress) -> None:
        """Start over; returns when every entry before the start is committed. Later ones are scored by the stream."""
        self.progress, self.is_started = fresh, True
        self.in_log.clear()
        offset = await self._log.append(self.program_id, BackfillStep(progress=self.progress))
        self.note(started_offset=offset)
        self.in_log.set()
        await self._log.settled(self.program_id, offset)

    def note(self, **moved: Any) -> None:
        """Change the progress of the next step."""
        self.progress = msgspec.structs.replace(self.progress, **moved)

    async def add(self, rescored: tuple[Rescored, ...] = (), evaluate: ActorRange | None = None, **moved: Any) -> None:
        """Append results, or actors to evaluate; ``moved`` are the changed fields of the progress."""
        self.note(stage=Stage.RUNNING, **moved)
        while len(self._under_way) >= STEPS_UNDER_WAY:
            await self._log.settled(self.program_id, self._under_way.popleft())
        step = BackfillStep(progress=self.progress, rescored=rescored, evaluate=evaluate)
        self._under_way.append(await self._log.append(self.program_id, step))
        self.log_if_due()

    async def finish(self) -> None:
        """Return when all results are in the tables."""
        self.note(stage=Stage.DONE)
        offset = await self._log.append(self.program_id, BackfillStep(progress=self.progress))
        await self._log.settled(self.program_id, offset)

    def log_if_due(self, **more: Any) -> None:
        if monotonic() - self._logged_at > _LOG_EVERY_S:
            self.log_progress("backfill_progress", **more)

    def log_progress(self, event: str, **more: Any) -> None:
        self._logged_at = monotonic()
        at = self.progress
        log.info(
            event,
            backfill_id=at.id,
            program_id=self.program_id,
            subjects=at.subjects.value,
            done=at.done,
            total=at.total,
            changed=at.changed,
            **more,
        )


def _of_program(entries: Iterator[LogEntry], program_id: str) -> Iterator[LogEntry]:
    return (entry for entry in entries if entry.program_id == program_id and not entry.is_forged)


BACKFILL_SECONDS_BOUNDS: Final = (0.1, 1, 5, 15, 60, 300, 900, 3_600)


class BackfillCounts(Collector):
    """Changed by the event loop that backfills run on."""

    def __init__(self) -> None:
        self.running: dict[str, int] = {subjects.value: 0 for subjects in Subjects}
        self.transfers = 0
        self.changed = 0
        self.actors = 0
        self.failures = 0
        self.seconds = Distribution(BACKFILL_SECONDS_BOUNDS)

    def collect(self) -> Iterator[Metric]:
        yield gauge("clearhold_backfill_running", "Backfills under way.", self.running, "subjects")
        for name, meaning, value in (
            ("transfers", "Transfers scored again.", self.transfers),
            ("changed", "Transfers scored again whose score or vector changed.", self.changed),
            ("actors", "Entities and counterparties scored again.", self.actors),
            ("failures", "Backfills that failed.", self.failures),
        ):
            yield counter(f"clearhold_backfill_{name}", meaning, value)
        yield histogram("clearhold_backfill_duration_seconds", "Duration of a whole backfill.", self.seconds)
