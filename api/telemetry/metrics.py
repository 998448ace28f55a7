"""Metrics of requests, by route template, method, status and tenant slug; never by path, id or name.

Unit    seconds
A request costs a look-up and a few increments: the series of a kind of request are cached.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics

from clearhold.api.http.outcomes import EventCounts, Outcome
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import RedisMemory

KINDS_LIMIT: Final = 1_000
"""Kinds of request with counts by tenant; further ones are counted under ``OTHER``."""

OTHER: Final = "other"
INGEST: Final = "/api/ingest/bank/{program_id}"
BATCH: Final = "/api/ingest/bank/{program_id}/batch"
PREFLIGHT: Final = "/api/preflight"
PROOFS: Final = "/api/proofs"
UNMATCHED: Final = "unmatched"

_REQUEST_BOUNDS: Final = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_PREFLIGHT_BOUNDS: Final = (0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 1)
_KIND: Final = ("route", "method", "status", "tenant")
_REFUSALS: Final = {
    400: "refused_invalid",
    401: "refused_unverified",
    413: "refused_too_large",
    429: "refused_rate_limited",
    503: "refused_unavailable",
}


def measure_process(registry: CollectorRegistry, appender: LogAppender, memory: RedisMemory) -> None:
    """Memory, processor time and files of the process, the entries waiting for the log, and the memory of Redis."""
    ProcessCollector(registry=registry)
    for unit, read in (("entries", lambda: appender.waiting_entries), ("bytes", lambda: appender.waiting_bytes)):
        name = f"clearhold_log_append_waiting_{unit}"
        Gauge(name, f"Log {unit} waiting to be sent.", registry=registry).set_function(read)
    for what, read in (("used", lambda: memory.used_bytes), ("limit", lambda: memory.limit_bytes)):
        Gauge(f"clearhold_redis_{what}_bytes", f"Memory of Redis: {what}.", registry=registry).set_function(read)


class Kind(NamedTuple):
    """Requests that are counted together."""

    route: str
    method: str
    status: int
    tenant: str
    outcome: Outcome


class _Series(NamedTuple):
    increments: tuple[Callable[[], None], ...]
    observations: tuple[Callable[[float], None], ...]


class RequestMetrics:
    """Belongs to the API's event loop; scrapes read at any time."""

    def __init__(self, registry: CollectorRegistry) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # Start times are unused, and double the series.

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"clearhold_{name}", about, labels, registry=registry)

        def histogram(name: str, about: str, labels: tuple[str, ...], bounds: tuple[float, ...]) -> Histogram:
            return Histogram(f"clearhold_{name}", about, labels, buckets=bounds, registry=registry)

        self._requests = counter("http_requests", "Requests answered.", *_KIND)
        self._seconds = histogram(
            "http_request_duration_seconds", "First byte in to last byte out.", _KIND, _REQUEST_BOUNDS
        )
        self._events = counter("ingest_events", "Bank events by result.", "result")
        self._preflight_seconds = histogram(
            "preflight_duration_seconds", "Pre-flights scored and recorded.", ("tenant",), _PREFLIGHT_BOUNDS
        )
        self._degraded = counter("preflight_degraded", "Pre-flights answered with degraded true.", "tenant")
        self._replays = counter("idempotency_replays", "Stored answers replayed.", "tenant")
        self._conflicts = counter("idempotency_conflicts", "Keys with another body, or still in use.", "tenant")
        self._auth_failures = counter("auth_failures", "Answers 401.", "route")
        self._rate_limited = counter("rate_limited", "Answers 429.", "tenant")
        self._proofs = counter("proofs_issued", "Proofs signed.", "tenant")
        self._verdicts = counter("proof_verifications", "Proofs verified by result.", "result")
        self._kinds: dict[Kind, _Series] = {}

    def count(self, kind: Kind, seconds: float) -> None:
        series = self._kinds.get(kind) or self._new_series(kind)
        for increment in series.increments:
            increment()
        for observe in series.observations:
            observe(seconds)

    def count_events(self, counts: EventCounts) -> None:
        for result, count in counts._asdict().items():
            self._events.labels(result).inc(count)

    def count_verdict(self, verdict: str) -> None:
        self._verdicts.labels(verdict).inc()

    def _new_series(self, kind: Kind) -> _Series:
        """The kind's series. Without the tenant there are few kinds, by routes, methods and some ten statuses."""
        if len(self._kinds) >= KINDS_LIMIT and kind.tenant != OTHER:
            kind = kind._replace(tenant=OTHER)
            known = self._kinds.get(kind)
            if known is not None:
                return known
        labels = (kind.route, kind.method, str(kind.status), kind.tenant)
        counters = [self._requests.labels(*labels), *self._further(kind)]
        observed = [self._seconds.labels(*labels)]
        recorded = kind.status == 201 and kind.outcome is not Outcome.REPLAYED  # noqa: PLR2004 - Created
        if kind.route == PROOFS and recorded:
            counters.append(self._proofs.labels(kind.tenant))
        if kind.route == PREFLIGHT and kind.method == "POST" and recorded:
            observed.append(self._preflight_seconds.labels(kind.tenant))
        series = _Series(tuple(each.inc for each in counters), tuple(each.observe for each in observed))
        self._kinds[kind] = series
        return series

    def _further(self, kind: Kind) -> list[Counter]:
        series = []
        if kind.route == INGEST or (kind.route == BATCH and kind.status != 200):  # noqa: PLR2004 - else it is counted by line
            series.append(self._events.labels(_event_result(kind)))
        by_status = {401: (self._auth_failures, kind.route), 429: (self._rate_limited, kind.tenant)}
        by_outcome = {
            Outcome.DEGRADED: self._degraded,
            Outcome.REPLAYED: self._replays,
            Outcome.CONFLICT: self._conflicts,
        }
        if kind.status in by_status:
            family, label = by_status[kind.status]
            series.append(family.labels(label))
        if kind.outcome in by_outcome:
            series.append(by_outcome[kind.outcome].labels(kind.tenant))
        return series


def _event_result(kind: Kind) -> str:
    if kind.status == 200:  # noqa: PLR2004 - the one status of an event that is in the log
        return "duplicate" if kind.outcome is Outcome.DUPLICATE else "accepted"
    return _REFUSALS.get(kind.status, "failed")
