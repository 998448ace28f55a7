"""Metrics of webhooks for Prometheus, by result, never by tenant, endpoint or id."""

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.core.instants import SECOND_US
from clearhold.flows.running.counts import counter, gauge
from clearhold.store.clock import Clock


class WebhookCounts:
    """The committer's thread changes ``events_lost``, the event loop all others."""

    def __init__(self) -> None:
        self.attempts: Counter[str] = Counter()  # by result: delivered, or an AttemptError
        self.events_lost = 0
        self.waiting = 0
        self.in_flight = 0
        self.due_since: int | None = None  # when the oldest due delivery became due, or None
        self.exhausted = 0
        self.disabled: Counter[str] = Counter()  # endpoints, by reason


class WebhookCollector(Collector):
    """``disabled`` counts the endpoints that are disabled now."""

    def __init__(self, counts: WebhookCounts, disabled: Callable[[], int], *, clock: Clock) -> None:
        self._counts, self._disabled, self._clock = counts, disabled, clock

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        yield counter("clearhold_webhook_attempts", "Attempts to deliver.", counts.attempts, "result")
        given_up = "Endpoints disabled by the service itself."
        yield counter("clearhold_webhook_endpoints_given_up", given_up, counts.disabled, "reason")
        lost = "Events that could not be built, and were not delivered."
        yield counter("clearhold_webhook_events_lost", lost, counts.events_lost)
        waiting = "Waiting deliveries in memory."
        yield gauge("clearhold_webhook_deliveries_waiting", waiting, counts.waiting)
        overdue = "Age of the oldest due delivery."
        yield gauge("clearhold_webhook_overdue_seconds", overdue, self._overdue_s())
        exhausted = "Deliveries given up after their last attempt."
        yield counter("clearhold_webhook_deliveries_exhausted", exhausted, counts.exhausted)
        in_flight = "Attempts under way."
        yield gauge("clearhold_webhook_deliveries_in_flight", in_flight, counts.in_flight)
        disabled = "Disabled endpoints."
        yield gauge("clearhold_webhook_endpoints_disabled", disabled, self._disabled())

    def _overdue_s(self) -> float:
        due_since = self._counts.due_since
        return 0.0 if due_since is None else max(0, self._clock.now() - due_since) / SECOND_US
