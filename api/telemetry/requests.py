"""Counts each request in the metrics and writes one line of the log for it.

The line has the template of the route, never the path, and from the caller only the ids of request and trace. Accepted
events and passed probes are too frequent for the log, so they are only counted. Lines are written in batches: a write
for each would cost a request more than scoring does, because every write hands the interpreter to another thread. A
crash loses the lines of its last twentieth of a second.

The metrics are by route template, method, status and tenant slug; never by path, id or name. A request costs a look-up
and a few increments: the series of a kind of request are cached.

Unit    seconds
"""

import asyncio
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, Final, NamedTuple

import msgspec
from litestar.types import ASGIApp, Receive, Send
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics

from clearhold.api.http.envelope import (
    EventCounts,
    Outcome,
    header_values,
    notes_of,
    request_id,
)
from clearhold.api.http.gate import PRINCIPAL
from clearhold.features.core.instants import SECOND_US, format_instant
from clearhold.features.core.principal import Principal
from clearhold.store.clock import Clock, ServiceClock
from clearhold.store.ids import TRACEPARENT, trace_id_of
from clearhold.store.logs import STANDARD_ERROR
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
_BEHIND: Final = "refused_behind"
_FAILED: Final = "failed"


def measure_process(
    registry: CollectorRegistry, appender: LogAppender, memory: RedisMemory, clock: ServiceClock
) -> None:
    """Memory, processor time and files of the process, the entries waiting for the log, the memory of Redis, the
    clock.
    """
    ProcessCollector(registry=registry)
    ahead = "The machine's clock minus the service's, which does not follow a jump at once."
    Gauge("clearhold_clock_ahead_seconds", ahead, registry=registry).set_function(lambda: clock.ahead_s)
    doubtful = "1 while the clock may be wrong and no deadline runs out by it, else 0."
    Gauge("clearhold_clock_doubtful", doubtful, registry=registry).set_function(lambda: clock.is_doubtful)
    for unit, read in (("entries", lambda: appender.waiting_entries), ("bytes", lambda: appender.waiting_bytes)):
        name = f"clearhold_log_append_waiting_{unit}"
        Gauge(name, f"Log {unit} waiting to be sent.", registry=registry).set_function(read)
    owner = appender.ownership
    epoch = "The epoch of this service as the owner of the log in a named Redis, else 0."
    Gauge("clearhold_log_owner_epoch", epoch, registry=registry).set_function(lambda: owner.epoch if owner else 0)
    age = "Time since this service last renewed its ownership of the log; 0 with the embedded Redis."
    renewed = Gauge("clearhold_log_owner_renewed_seconds", age, registry=registry)
    renewed.set_function(lambda: owner.renewed_s_ago if owner else 0.0)
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

    def __init__(self, registry: CollectorRegistry, *, verdicts: Iterable[str] = ()) -> None:
        """``verdicts`` are the results of a proof's verification."""
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
        for result in (*EventCounts._fields, *_REFUSALS.values(), _BEHIND, _FAILED):
            self._events.labels(result)  # Born at 0: Prometheus sees no increase of a series that begins above.
        for verdict in verdicts:
            self._verdicts.labels(verdict)
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
    if kind.outcome is Outcome.BEHIND:
        return _BEHIND
    return _REFUSALS.get(kind.status, _FAILED)


FLUSH_AFTER_S: Final = 0.05
UNPROVEN_PER_SECOND: Final = 20
"""Lines a second for unknown callers, whose floods would fill the disk. The metrics count all of them."""

_INFO: Final = "info"


class RequestLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line in the form of the log; from the caller it has only the request id and trace id."""

    request_id: str
    trace_id: str | None
    method: str
    route: str
    status: int
    ms: float
    tenant: str
    principal: str | None
    principal_id: str | None
    event: str = "request"
    level: str = _INFO
    timestamp: str


class UnloggedLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The number of requests of unknown callers without a line."""

    count: int
    event: str = "requests_not_logged"
    level: str = "warning"
    timestamp: str


class RequestLog:
    """Belongs to the API's event loop; ``write`` gets whole lines."""

    def __init__(self, clock: Clock, write: Callable[[str], object] = STANDARD_ERROR.write) -> None:
        self._clock, self._write = clock, write
        self._lines: list[bytes] = []
        self._second = 0
        self._unproven = 0

    def add(self, **fields: Any) -> None:
        """Add a line; ``fields`` are RequestLine's fields without a default, except ``timestamp``."""
        if fields["principal"] is None and not self._has_room_for_unproven():
            return
        line = RequestLine(**fields, timestamp=format_instant(self._clock.now()))
        self._append(line)

    def _has_room_for_unproven(self) -> bool:
        second = self._clock.now() // SECOND_US
        if second != self._second:
            self._report_unlogged()
            self._second, self._unproven = second, 0
        self._unproven += 1
        return self._unproven <= UNPROVEN_PER_SECOND

    def _report_unlogged(self) -> None:
        unlogged = self._unproven - UNPROVEN_PER_SECOND
        if unlogged > 0:
            self._append(UnloggedLine(count=unlogged, timestamp=format_instant(self._clock.now())))

    def _append(self, line: RequestLine | UnloggedLine) -> None:
        self._lines.append(msgspec.json.encode(line))
        if len(self._lines) == 1:
            asyncio.get_running_loop().call_later(FLUSH_AFTER_S, self.flush)

    def flush(self) -> None:
        """Write the lines that are waiting; called once more when the service stops."""
        lines, self._lines = self._lines, []
        if lines:
            self._write(b"\n".join([*lines, b""]).decode())


OBSERVED: Final = "clearhold.observed"
"""The key of this wrapper in the scope, so that a request made on behalf of a first one is observed as well."""

_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_QUIET: Final = frozenset({INGEST, BATCH, "/healthz", "/readyz"})
_START: Final = "http.response.start"
_REPLAYED: Final = (b"idempotent-replayed", b"true")
_UNANSWERED: Final = 500  # uvicorn answers with it if the application does not answer
_FIRST_REFUSAL: Final = 300
_TRACEPARENT: Final = TRACEPARENT.encode()


class Observed:
    """Wraps the whole application, so that no answer is missed."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics, log: RequestLog) -> None:
        self._app, self._metrics, self._log = app, metrics, log

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope[OBSERVED] = self
        began = perf_counter()
        status, replayed = _UNANSWERED, False

        async def watched(message: Any) -> None:
            nonlocal status, replayed
            if message["type"] == _START:
                status, replayed = message["status"], _REPLAYED in message["headers"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            self._note(scope, status, perf_counter() - began, replayed=replayed)

    def _note(self, scope: Any, status: int, seconds: float, *, replayed: bool) -> None:
        principal: Principal | None = scope.get(PRINCIPAL)
        tenant = principal.tenant if principal is not None else ""
        route = scope.get("path_template", UNMATCHED)
        method = scope["method"] if scope["method"] in _METHODS else OTHER
        notes = notes_of(scope)
        outcome = Outcome.REPLAYED if replayed else notes.outcome
        self._metrics.count(Kind(route, method, status, tenant, outcome), seconds)
        if notes.events is not None:
            self._metrics.count_events(notes.events)
        if notes.verdict is not None:
            self._metrics.count_verdict(notes.verdict)
        if status < _FIRST_REFUSAL and route in _QUIET:
            return
        self._log.add(
            request_id=request_id(scope),
            trace_id=_trace_id(scope),
            method=method,
            route=route,
            status=status,
            ms=round(seconds * 1_000, 3),
            tenant=tenant,
            principal=None if principal is None else principal.kind,
            principal_id=None if principal is None else principal.id,
        )


def _trace_id(scope: Any) -> str | None:
    """The caller's trace; None without one valid header."""
    sent = header_values(scope, _TRACEPARENT)
    return trace_id_of(sent[0]) if len(sent) == 1 else None
