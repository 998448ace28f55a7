"""Metrics of the directory for Prometheus, by kind of party and result, never by tenant or id.

Unit    seconds
"""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.flows.directory.counts import DirectoryCounts
from clearhold.flows.running.counts import histogram


class DirectoryCollector(Collector):
    """Reads the counters at each scrape."""

    def __init__(self, counts: DirectoryCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        fetches = CounterMetricFamily(
            "clearhold_directory_fetches", "Requests to the bank's API.", labels=("kind", "result")
        )
        for (kind, result), number in counts.fetches.copy().items():  # Another thread writes to it.
            fetches.add_metric([kind, result], number)
        yield fetches
        for name, meaning, value in (
            ("unrecorded", "Answers of the bank that the log did not take.", counts.unrecorded),
            ("overflowed", "Parties first seen that were left to the sweep.", counts.overflowed),
        ):
            yield CounterMetricFamily(f"clearhold_directory_{name}", meaning, value=value)
        for name, meaning, value in (
            ("waiting", "Parties that wait for their fetch.", counts.waiting),
            ("paused_tenants", "Tenants whose key the bank refused.", counts.paused_tenants),
        ):
            yield GaugeMetricFamily(f"clearhold_directory_{name}", meaning, value=value)
        yield histogram("clearhold_directory_fetch_duration_seconds", "Duration of one request.", counts.seconds)
