"""The flow's metrics for Prometheus, read from their sources at each scrape.

Unit    seconds; shards by number. Series that need the log are absent while it cannot be reached
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import structlog
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.log_entry import EventResult
from clearhold.flows.running.counts import FlowCounts, counter, gauge, histogram
from clearhold.store.clock import Clock
from clearhold.store.redis_log.offsets import LogProgress, log_time_of
from clearhold.store.redis_log.reader import LogReader

EVERY_US: Final = 60 * SECOND_US

_WITHOUT_EFFECT: Final = (EventResult.UNUSABLE, EventResult.UNKNOWN, EventResult.CONFLICTING, EventResult.FAILED)

log = structlog.get_logger()


class EventTally:
    """Logs the results of bank events once a minute, when there were any; for the maintenance thread."""

    def __init__(self, counts: FlowCounts, clock: Clock) -> None:
        self._counts, self._clock = counts, clock
        self._logged = counts.events.copy()
        self._next_at = clock.now() + EVERY_US

    def log_when_due(self) -> None:
        now = self._clock.now()
        if now >= self._next_at:
            self._next_at = now + EVERY_US
            self.log_new()

    def log_new(self) -> None:
        """Log the events since the last line; as a warning when some had no effect although they should have."""
        counts = self._counts.events.copy()
        new, self._logged = counts - self._logged, counts
        if new:
            write = log.warning if any(new[result] for result in _WITHOUT_EFFECT) else log.info
            write("bank_events", **dict(sorted(new.items())))


class FlowCollector(Collector):
    """``snapshot_offsets`` gives the offset of each shard's newest state snapshot; ``waiting`` counts a shard's entries
    that this process appended and the flow has not applied. The reader belongs to this collector alone.
    """

    def __init__(
        self,
        progress: LogProgress,
        *,
        counts: FlowCounts,
        snapshot_offsets: Callable[[], Mapping[int, int]],
        waiting: Callable[[int], int],
        reader: LogReader,
        clock: Clock,
    ) -> None:
        self._progress, self._counts, self._snapshot_offsets = progress, counts, snapshot_offsets
        self._waiting, self._reader, self._clock = waiting, reader, clock

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        yield histogram("clearhold_ingest_lag_seconds", "Append to commit, the oldest of a batch.", counts.lag_seconds)
        yield histogram("clearhold_flow_batch_entries", "Log entries in one commit.", counts.batch_entries)
        yield histogram("clearhold_flow_commit_duration_seconds", "Duration of one commit.", counts.commit_seconds)
        yield counter("clearhold_flow_quarantined_entries", "Entries quarantined as unreadable.", counts.quarantined)
        events = {result.value: counts.events[result] for result in EventResult}
        yield counter("clearhold_events", "Bank events by result.", events, "result")
        yield counter("clearhold_flow_commit_failures", "Commits that failed.", counts.commit_failures)
        waiting = {str(shard): self._waiting(shard) for shard in range(self._progress.shards)}
        appended = "Entries appended by this process and not applied yet."
        yield gauge("clearhold_flow_behind_entries", appended, waiting, "shard")
        # Older than the signed checkpoints; dashboards depend on the name.
        age = "Age of the last log entry in the shard's newest state snapshot."
        yield gauge("clearhold_checkpoint_age_seconds", age, self._snapshot_ages(), "shard")
        yield from self._behind()

    def _snapshot_ages(self) -> Mapping[str, float]:
        """In the log's time, so that a snapshot of an earlier process has its real age."""
        now = self._clock.now()
        offsets = dict(self._snapshot_offsets())  # Copied: another thread writes to it.
        return {
            str(shard): max(0, now - log_time_of(offset)) / SECOND_US for shard, offset in offsets.items() if offset
        }

    def _behind(self) -> Iterator[Metric]:
        try:
            seconds = {str(shard): self._behind_us(shard) / SECOND_US for shard in range(self._progress.shards)}
        except ConnectionError:  # The gauge shows it, and the flow's own reader logs it.
            seconds = {}
        yield gauge("clearhold_log_reachable", "1 while Redis answers, else 0.", bool(seconds))
        if seconds:
            oldest = "Age of the oldest entry that is not committed."
            yield gauge("clearhold_flow_behind_seconds", oldest, seconds, "shard")

    def _behind_us(self, shard: int) -> int:
        committed = self._progress.committed_offset(shard)
        oldest = self._reader.range(shard, committed, self._reader.tail(shard), count=1)
        return max(0, self._clock.now() - oldest[0].appended_at) if oldest else 0
