"""Metrics of the execution of actions for Prometheus, by type and result, never by tenant or id."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.flows.actions.counts import ActionCounts


class ActionCollector(Collector):
    """Reads the counters at each scrape."""

    def __init__(self, counts: ActionCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        executions = CounterMetricFamily(
            "clearhold_action_executions", "Actions carried out.", labels=("type", "result")
        )
        for (type_, result), number in counts.executions.copy().items():  # Another thread writes to it.
            executions.add_metric([type_, result], number)
        yield executions
        requests = CounterMetricFamily("clearhold_action_requests", "Requests to the bank's API.", labels=("verdict",))
        for verdict, number in counts.requests.copy().items():
            requests.add_metric([verdict], number)
        yield requests
        unrecorded = "Outcomes that the log did not confirm at first."
        yield CounterMetricFamily("clearhold_action_unrecorded", unrecorded, value=counts.unrecorded)
        yield GaugeMetricFamily("clearhold_actions_waiting", "Actions under way.", value=counts.waiting)
        unknown = "Of them those of which the bank may have done one already."
        yield GaugeMetricFamily("clearhold_actions_unknown", unknown, value=counts.unknown)
