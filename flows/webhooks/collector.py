"""Metrics of webhooks for Prometheus, by result, never by tenant, endpoint or id."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.core.instants import SECOND_US
from clearhold.flows.webhooks.counts import WebhookCounts
from clearhold.store.clock import Clock


class WebhookCollector(Collector):
    """Reads the counters at each scrape. ``disabled`` counts the endpoints that are disabled now."""

    def __init__(self, counts: WebhookCounts, disabled: Callable[[], int], *, clock: Clock) -> None:
        self._counts, self._disabled, self._clock = counts, disabled, clock

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        attempts = CounterMetricFamily("clearhold_webhook_attempts", "Attempts to deliver.", labels=("result",))
        for result, number in counts.attempts.copy().items():  # Another thread writes to it.
            attempts.add_metric([result], number)
        yield attempts
        given_up = CounterMetricFamily(
            "clearhold_webhook_endpoints_given_up", "Endpoints disabled by the service itself.", labels=("reason",)
        )
        for reason, number in counts.disabled.copy().items():
            given_up.add_metric([reason], number)
        yield given_up
        lost = "Events that could not be made, and were not delivered."
        yield CounterMetricFamily("clearhold_webhook_events_lost", lost, value=counts.events_lost)
        waiting = "Deliveries that wait, as far as they are in memory."
        yield GaugeMetricFamily("clearhold_webhook_deliveries_waiting", waiting, value=counts.waiting)
        overdue = "How long the delivery that waits longest for its attempt has been due."
        yield GaugeMetricFamily("clearhold_webhook_overdue_seconds", overdue, value=self._overdue_s())
        exhausted = "Deliveries given up after their last attempt."
        yield CounterMetricFamily("clearhold_webhook_deliveries_exhausted", exhausted, value=counts.exhausted)
        in_flight = "Attempts under way."
        yield GaugeMetricFamily("clearhold_webhook_deliveries_in_flight", in_flight, value=counts.in_flight)
        disabled = "Endpoints that are disabled, by whomever."
        yield GaugeMetricFamily("clearhold_webhook_endpoints_disabled", disabled, value=self._disabled())

    def _overdue_s(self) -> float:
        due_since = self._counts.due_since
        return 0.0 if due_since is None else max(0, self._clock.now() - due_since) / SECOND_US
