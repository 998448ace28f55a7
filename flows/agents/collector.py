"""Metrics of imports of agents for Prometheus, by kind of item and reason, never by tenant or agent.

Unit    seconds
"""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.flows.agents.counts import ImportCounts
from clearhold.flows.running.counts import counter, gauge, histogram


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
