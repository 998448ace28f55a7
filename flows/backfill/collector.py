"""The numbers of backfills in the form that Prometheus reads, by kind of subject and never by program.

Unit    seconds
"""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from flows.collector import histogram
from flows.counts import BackfillCounts


class BackfillCollector(Collector):
    """Nothing is kept here: all is read when it is asked for."""

    def __init__(self, counts: BackfillCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        running = GaugeMetricFamily("clearhold_backfill_running", "Backfills under way.", labels=("subjects",))
        for subjects, number in counts.running.items():
            running.add_metric([subjects], number)
        yield running
        for name, said, value in (
            ("transfers", "Transfers scored again.", counts.transfers),
            ("changed", "Of them those whose score or vector changed.", counts.changed),
            ("actors", "Entities and counterparties scored again.", counts.actors),
            ("failures", "Backfills that ended before their end.", counts.failures),
        ):
            yield CounterMetricFamily(f"clearhold_backfill_{name}", said, value=value)
        yield histogram("clearhold_backfill_duration_seconds", "Time a whole backfill took.", counts.seconds)
