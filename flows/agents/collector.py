"""Metrics of imports of agents for Prometheus, by kind of item and reason, never by tenant or agent.

Unit    seconds
"""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.flows.agents.counts import ImportCounts
from clearhold.flows.running.counts import histogram


class ImportCollector(Collector):
    """Reads the counters at each scrape."""

    def __init__(self, counts: ImportCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        yield GaugeMetricFamily("clearhold_agent_imports_running", "Imports under way.", value=counts.running)
        yield _counter("clearhold_agent_imports", "Imports that ended.", "stage", counts.imports)
        yield _counter("clearhold_agent_items_read", "Items that the scan index delivered.", "kind", counts.read)
        yield _counter("clearhold_agent_items_appended", "Items that went into the log.", "kind", counts.appended)
        yield _counter("clearhold_agent_items_skipped", "Items that were left out.", "reason", counts.skipped)
        yield histogram("clearhold_agent_import_duration_seconds", "Duration of a whole import.", counts.seconds)


def _counter(name: str, meaning: str, label: str, counts: "Counter[str]") -> Metric:
    family = CounterMetricFamily(name, meaning, labels=(label,))
    for value, number in counts.copy().items():  # Another thread writes to it.
        family.add_metric([value], number)
    return family
