"""Metrics of the scorer processes for Prometheus, read from their supervisor at each scrape."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.flows.running.counts import counter, gauge
from clearhold.flows.scorer.scorers import ScorerProcesses


class ScorerCollector(Collector):
    """Without series for a service that scores in its own process."""

    def __init__(self, scorers: object) -> None:
        self._processes = scorers.processes if isinstance(scorers, ScorerProcesses) else ()

    def collect(self) -> Iterator[Metric]:
        up = {str(each.number): each.connection is not None for each in self._processes}
        yield gauge("clearhold_scorer_up", "1 while the scorer process answers, else 0.", up, "scorer")
        restarts = {str(each.number): each.restarts for each in self._processes}
        replaced = "Times that a scorer process died or hung and was replaced."
        yield counter("clearhold_scorer_restarts", replaced, restarts, "scorer")
