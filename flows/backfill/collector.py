"""Metrics of backfills for Prometheus, by kind of subject and never by program.

Unit    seconds
"""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.flows.running.counts import BackfillCounts, counter, gauge, histogram


class BackfillCollector(Collector):
    def __init__(self, counts: BackfillCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        yield gauge("clearhold_backfill_running", "Backfills under way.", counts.running, "subjects")
        for name, meaning, value in (
            ("transfers", "Transfers scored again.", counts.transfers),
            ("changed", "Transfers scored again whose score or vector changed.", counts.changed),
            ("actors", "Entities and counterparties scored again.", counts.actors),
            ("failures", "Backfills that failed.", counts.failures),
        ):
            yield counter(f"clearhold_backfill_{name}", meaning, value)
        yield histogram("clearhold_backfill_duration_seconds", "Duration of a whole backfill.", counts.seconds)
