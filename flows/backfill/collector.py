"""Metrics of backfills for Prometheus, by kind of subject and never by program.

Unit    seconds
"""

from collections.abc import Iterator
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.core.entries.backfill import Subjects
from clearhold.flows.running.counts import Distribution, counter, gauge, histogram

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

    def note_transfers(self, count: int, *, changed: int) -> None:
        self.transfers += count
        self.changed += changed

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
