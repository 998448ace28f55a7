"""Metrics of the execution of actions for Prometheus, by type and result, never by tenant or id."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.flows.running.counts import counter, gauge


class ActionCounts:
    def __init__(self) -> None:
        self.executions: Counter[tuple[str, str]] = Counter()  # by type and result
        self.requests: Counter[str] = Counter()  # to the bank, by verdict
        self.unrecorded = 0
        self.waiting = 0
        self.unknown = 0


class ActionCollector(Collector):
    def __init__(self, counts: ActionCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        yield counter("clearhold_action_executions", "Actions carried out.", counts.executions, "type", "result")
        yield counter("clearhold_action_requests", "Requests to the bank's API.", counts.requests, "verdict")
        unrecorded = "Outcomes that the log did not confirm at first."
        yield counter("clearhold_action_unrecorded", unrecorded, counts.unrecorded)
        yield gauge("clearhold_actions_waiting", "Actions under way.", counts.waiting)
        unknown = "Unrecorded outcomes of actions that the bank may have carried out."
        yield gauge("clearhold_actions_unknown", unknown, counts.unknown)
