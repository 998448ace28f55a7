"""Counts each request in the metrics and writes one line of the log for it.

The line has the template of the route, never the path, and from the caller only the ids of request and trace. Accepted
events and passed probes are too frequent for the log, so they are only counted.
"""

from time import perf_counter
from typing import Any, Final

from litestar.types import ASGIApp, Receive, Send

from clearhold.api.http.envelope import header_values, request_id
from clearhold.api.http.gate import PRINCIPAL
from clearhold.api.http.outcomes import Outcome, events_of, outcome_of, verdict_of
from clearhold.api.telemetry.metrics import BATCH, INGEST, OTHER, UNMATCHED, Kind, RequestMetrics
from clearhold.api.telemetry.request_log import RequestLog
from clearhold.features.core.principal import Principal
from clearhold.store.ids import TRACEPARENT, trace_id_of

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
        outcome = Outcome.REPLAYED if replayed else outcome_of(scope)
        self._metrics.count(Kind(route, method, status, tenant, outcome), seconds)
        if (counts := events_of(scope)) is not None:
            self._metrics.count_events(counts)
        if (verdict := verdict_of(scope)) is not None:
            self._metrics.count_verdict(verdict)
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
