"""The flow's metrics for Prometheus, read from their sources at each scrape.

Unit    seconds; shards by number. Series that need the log are left out while the log cannot be reached
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.core.event_results import EventResult
from clearhold.features.core.instants import SECOND_US
from clearhold.flows.running.counts import FlowCounts, histogram
from clearhold.store.clock import Clock
from clearhold.store.redis_log.offsets import log_time_of
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import LogReader

_PER_SHARD: Final = ("shard",)


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
        yield _counter("clearhold_flow_quarantined_entries", "Entries quarantined as unreadable.", counts.quarantined)
        events = CounterMetricFamily("clearhold_events", "Bank events by what became of them.", labels=("result",))
        for result in EventResult:
            events.add_metric([result.value], counts.events[result])
        yield events
        yield _counter("clearhold_flow_commit_failures", "Commits that failed.", counts.commit_failures)
        entries = GaugeMetricFamily(
            "clearhold_flow_behind_entries", "Entries appended by this process and not applied yet.", labels=_PER_SHARD
        )
        for shard in range(self._progress.shards):
            entries.add_metric([str(shard)], self._waiting(shard))
        yield entries
        yield self._snapshot_ages()
        yield from self._behind()

    def _snapshot_ages(self) -> Metric:
        """Measured in the log's time, so a snapshot that an earlier process wrote has its real age."""
        family = GaugeMetricFamily(
            "clearhold_checkpoint_age_seconds",  # named before the signed checkpoints; dashboards depend on it
            "Age of the last log entry in the shard's newest state snapshot.",
            labels=_PER_SHARD,
        )
        now = self._clock.now()
        for shard, offset in dict(self._snapshot_offsets()).items():  # Another thread writes to it.
            if offset:
                family.add_metric([str(shard)], max(0, now - log_time_of(offset)) / SECOND_US)
        return family

    def _behind(self) -> Iterator[Metric]:
        reachable = GaugeMetricFamily("clearhold_log_reachable", "1 while Redis answers, else 0.")
        seconds = GaugeMetricFamily(
            "clearhold_flow_behind_seconds", "Age of the oldest entry that is not committed.", labels=_PER_SHARD
        )
        try:
            for shard in range(self._progress.shards):
                seconds.add_metric([str(shard)], self._behind_us(shard) / SECOND_US)
        except ConnectionError:  # The gauge shows it, and the flow's own reader logs it.
            reachable.add_metric([], 0)
            yield reachable
            return
        reachable.add_metric([], 1)
        yield reachable
        yield seconds

    def _behind_us(self, shard: int) -> int:
        committed = self._progress.committed_offset(shard)
        oldest = self._reader.range(shard, committed, self._reader.tail(shard), count=1)
        return max(0, self._clock.now() - oldest[0].appended_at) if oldest else 0


def _counter(name: str, meaning: str, value: int) -> Metric:
    return CounterMetricFamily(name, meaning, value=value)
