"""Metrics of imports of agents for Prometheus, by kind of item and reason, never by tenant or agent.

Unit    seconds
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.flows.running.counts import Distribution, counter, gauge, histogram

IMPORT_SECONDS_BOUNDS: Final = (1, 5, 15, 60, 300, 900, 3_600)


class ImportCounts:
    def __init__(self) -> None:
        self.running = 0
        self.imports: Counter[str] = Counter()  # by their last stage
        self.read: Counter[str] = Counter()  # items by kind
        self.appended: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()  # while reading, by reason
        self.seconds = Distribution(IMPORT_SECONDS_BOUNDS)


class ImportCollector(Collector):
    def __init__(self, counts: ImportCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        yield gauge("clearhold_agent_imports_running", "Imports under way.", counts.running)
        yield counter("clearhold_agent_imports", "Imports that ended.", counts.imports, "stage")
        yield counter("clearhold_agent_items_read", "Items read from the scan index.", counts.read, "kind")
        yield counter("clearhold_agent_items_appended", "Items appended to the log.", counts.appended, "kind")
        yield counter("clearhold_agent_items_skipped", "Items left out.", counts.skipped, "reason")
        yield histogram("clearhold_agent_import_duration_seconds", "Duration of a whole import.", counts.seconds)
