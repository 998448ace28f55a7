"""Metrics of the directory for Prometheus, by kind of party and result, never by tenant or id.

Unit    seconds
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.flows.running.counts import Distribution, counter, gauge, histogram

FETCH_SECONDS_BOUNDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class DirectoryCounts:
    def __init__(self) -> None:
        self.fetches: Counter[tuple[str, str]] = Counter()  # by kind and result
        self.unrecorded = 0
        self.overflowed = 0
        self.seconds = Distribution(FETCH_SECONDS_BOUNDS)
        self.waiting = 0
        self.paused_tenants = 0


class DirectoryCollector(Collector):
    def __init__(self, counts: DirectoryCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        yield counter("clearhold_directory_fetches", "Requests to the bank's API.", counts.fetches, "kind", "result")
        unrecorded = "Answers of the bank that the log did not take."
        yield counter("clearhold_directory_unrecorded", unrecorded, counts.unrecorded)
        overflowed = "Parties first seen that were left to the sweep."
        yield counter("clearhold_directory_overflowed", overflowed, counts.overflowed)
        yield gauge("clearhold_directory_waiting", "Parties that wait for their fetch.", counts.waiting)
        paused = "Tenants whose key the bank refused."
        yield gauge("clearhold_directory_paused_tenants", paused, counts.paused_tenants)
        yield histogram("clearhold_directory_fetch_duration_seconds", "Duration of one request.", counts.seconds)
