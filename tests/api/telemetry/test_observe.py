"""The wrapper around the application: each request is counted once under its kind, and told in at most one line."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from clearhold.api.http.envelope import Outcome, note
from clearhold.api.http.gate import PRINCIPAL
from clearhold.api.telemetry.requests import (
    FLUSH_AFTER_S,
    INGEST,
    KINDS_LIMIT,
    OTHER,
    PREFLIGHT,
    UNPROVEN_PER_SECOND,
    Kind,
    Observed,
    RequestLog,
    RequestMetrics,
)
from clearhold.features.core.instants import SECOND_US
from tests.support.clock import FrozenClock

HEADERS: Final = [(b"content-type", b"application/json")]


TOLD: Final[list[dict[str, Any]]] = []
"""What the log was told, in place of standard error."""


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    TOLD.clear()
    yield TOLD
    TOLD.clear()


def tell(text: str) -> None:
    assert text.endswith("\n")
    TOLD.extend(json.loads(line) for line in text.splitlines())


class Observing:
    """An application that answers as it is told, observed."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics = RequestMetrics(self.registry)
        self.clock = FrozenClock()
        self.log = RequestLog(self.clock, tell)

    def ask(
        self,
        route: str | None,
        status: int | Exception = 200,
        *,
        method: str = "GET",
        tenant: str | None = None,
        outcome: Outcome = Outcome.NONE,
        headers: list[tuple[bytes, bytes]] = HEADERS,
        sent: list[tuple[bytes, bytes]] | None = None,
    ) -> None:
        async def app(scope: Any, _: Any, send: Any) -> None:
            if route is not None:
                scope["path_template"] = route
            if tenant is not None:
                scope[PRINCIPAL] = SimpleNamespace(tenant=tenant, kind="key", id="key_1")
            note(scope, outcome=outcome)
            if isinstance(status, Exception):
                raise status
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": b"{}"})

        scope = {"type": "http", "method": method, "path": "/a/path", "query_string": b"q=1", "headers": sent or []}
        with suppress(OverflowError):
            asyncio.run(Observed(app, self.metrics, self.log)(scope, _nothing, _nothing))
        self.log.flush()

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"clearhold_{name}", labels)


async def _nothing(_: Any = None) -> Any:
    return None


def test_given_an_answer_then_it_is_counted_and_told_by_its_template(lines: list[dict[str, Any]]) -> None:
    observing = Observing()

    observing.ask("/api/transfers/{transfer_id}", 404, tenant="first-bank")

    kind = {"route": "/api/transfers/{transfer_id}", "method": "GET", "status": "404", "tenant": "first-bank"}
    assert observing.value("http_requests_total", **kind) == 1
    assert observing.value("http_request_duration_seconds_count", **kind) == 1
    (line,) = lines
    assert (line.pop("level"), line.pop("timestamp")) == ("info", "2026-03-02T15:00:00.000Z")
    assert line.pop("request_id")
    assert line.pop("ms") >= 0
    assert line == {
        "event": "request",
        "trace_id": None,
        "method": "GET",
        "route": "/api/transfers/{transfer_id}",
        "status": 404,
        "tenant": "first-bank",
        "principal": "key",
        "principal_id": "key_1",
    }


def test_given_a_traceparent_then_the_line_has_its_trace_id_unless_there_are_two(lines: list[dict[str, Any]]) -> None:
    observing = Observing()
    one = (b"traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    other = (b"traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

    observing.ask("/api/transfers", sent=[one])
    observing.ask("/api/transfers", sent=[one, other])
    observing.ask("/api/transfers", sent=[(b"traceparent", b"00-x")])

    assert [line["trace_id"] for line in lines] == ["4bf92f3577b34da6a3ce929d0e0e4736", None, None]


@pytest.mark.parametrize("route", [INGEST, "/healthz", "/readyz"])
def test_given_what_there_is_much_of_when_it_went_well_then_it_is_counted_and_not_told(
    lines: list[dict[str, Any]], route: str
) -> None:
    observing = Observing()

    observing.ask(route, 200)
    observing.ask(route, 503)

    assert observing.value("http_requests_total", route=route, method="GET", status="200", tenant="") == 1
    assert [line["status"] for line in lines] == [503]


def test_given_an_application_that_fails_then_it_counts_as_the_500_that_the_server_sends(
    lines: list[dict[str, Any]],
) -> None:
    observing = Observing()

    observing.ask("/api/programs", OverflowError("a secret"))

    assert observing.value("http_requests_total", route="/api/programs", method="GET", status="500", tenant="") == 1
    assert "secret" not in json.dumps(lines)


def test_given_no_route_and_a_made_up_method_then_neither_becomes_a_label(lines: list[dict[str, Any]]) -> None:
    observing = Observing()

    observing.ask(None, 404, method="STEAL")

    assert observing.value("http_requests_total", route="unmatched", method="other", status="404", tenant="") == 1
    assert "STEAL" not in json.dumps(lines)


@pytest.mark.parametrize(
    ("status", "outcome", "result"),
    [
        (200, Outcome.NONE, "accepted"),
        (200, Outcome.DUPLICATE, "duplicate"),
        (400, Outcome.NONE, "refused_invalid"),
        (401, Outcome.NONE, "refused_unverified"),
        (413, Outcome.NONE, "refused_too_large"),
        (503, Outcome.NONE, "refused_unavailable"),
        (503, Outcome.BEHIND, "refused_behind"),
        (500, Outcome.NONE, "failed"),
    ],
)
def test_given_a_bank_event_then_it_is_counted_by_what_became_of_it(
    lines: list[dict[str, Any]], status: int, outcome: Outcome, result: str
) -> None:
    observing = Observing()

    observing.ask(INGEST, status, method="POST", outcome=outcome)

    assert observing.value("ingest_events_total", result=result) == 1
    assert len(lines) == (status != 200)


def test_given_answers_that_say_more_than_their_status_then_each_has_its_counter() -> None:
    observing = Observing()

    observing.ask(PREFLIGHT, 201, method="POST", tenant="a", outcome=Outcome.DEGRADED)
    observing.ask(PREFLIGHT, 201, method="POST", tenant="a")
    observing.ask(PREFLIGHT, 200, method="POST", tenant="a", headers=[*HEADERS, (b"idempotent-replayed", b"true")])
    observing.ask(PREFLIGHT, 409, method="POST", tenant="a", outcome=Outcome.CONFLICT)
    observing.ask(PREFLIGHT, 429, method="POST", tenant="a")
    observing.ask(PREFLIGHT, 401, method="POST")

    assert observing.value("preflight_duration_seconds_count", tenant="a") == 2
    assert observing.value("preflight_degraded_total", tenant="a") == 1
    assert observing.value("idempotency_replays_total", tenant="a") == 1
    assert observing.value("idempotency_conflicts_total", tenant="a") == 1
    assert observing.value("rate_limited_total", tenant="a") == 1
    assert observing.value("auth_failures_total", route=PREFLIGHT) == 1


def test_given_a_proof_that_was_signed_then_it_is_counted_and_a_replay_is_not() -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry)
    signed = Kind("/api/proofs", "POST", 201, "first", Outcome.NONE)

    metrics.count(signed, 0.004)
    metrics.count(signed._replace(outcome=Outcome.REPLAYED), 0.001)
    metrics.count(signed._replace(status=409), 0.001)
    metrics.count_verdict("valid")

    assert registry.get_sample_value("clearhold_proofs_issued_total", {"tenant": "first"}) == 1
    assert registry.get_sample_value("clearhold_proof_verifications_total", {"result": "valid"}) == 1


def test_given_more_tenants_than_are_kept_apart_then_the_rest_is_counted_together() -> None:
    registry = CollectorRegistry()
    metrics = RequestMetrics(registry)

    for number in range(KINDS_LIMIT + 50):
        metrics.count(Kind("/api/programs", "GET", 200, f"bank-{number}", Outcome.NONE), 0.01)

    labels = {"route": "/api/programs", "method": "GET", "status": "200", "tenant": OTHER}
    assert registry.get_sample_value("clearhold_http_requests_total", labels) == 50
    assert generate_latest(registry).count(b"clearhold_http_requests_total{") == KINDS_LIMIT + 1


def test_given_requests_in_one_moment_when_it_is_over_then_their_lines_are_written_at_once() -> None:
    written: list[str] = []
    log = RequestLog(FrozenClock(), written.append)
    about = {"method": "GET", "route": "/r", "status": 200, "ms": 1.5, "tenant": "t", "principal": None}

    async def some_requests() -> None:
        for number in range(3):
            log.add(request_id=f"id-{number}\n", trace_id=None, principal_id=None, **about)
        assert written == []
        await asyncio.sleep(2 * FLUSH_AFTER_S)

    asyncio.run(some_requests())

    (text,) = written
    assert [json.loads(line)["request_id"] for line in text.splitlines()] == ["id-0\n", "id-1\n", "id-2\n"]


def test_given_a_flood_of_unknown_callers_when_observed_then_all_are_counted_and_few_have_a_line(
    lines: list[dict[str, Any]],
) -> None:
    observing = Observing()

    for _ in range(UNPROVEN_PER_SECOND + 5):
        observing.ask("/api/alerts", 401)
    observing.ask("/api/alerts", 200, tenant="first-bank")
    observing.clock.advance(SECOND_US)
    observing.ask("/api/alerts", 401)

    assert observing.value("auth_failures_total", route="/api/alerts") == UNPROVEN_PER_SECOND + 6
    assert [line.get("status", line["event"]) for line in lines] == [
        *[401] * UNPROVEN_PER_SECOND,
        200,
        "requests_not_logged",
        401,
    ]
    assert lines[-2]["count"] == 5
