"""Health, readiness, and the OpenAPI document against the routes that are there."""

import asyncio
from threading import Event
from typing import Any, Final

import duckdb
import pytest
from litestar.routes import HTTPRoute
from msgspec import UNSET

from clearhold.api.http.operation import OPT, Access
from clearhold.api.openapi.document import wire_path
from clearhold.api.telemetry.readiness import Readiness
from tests.support.callers import UNKNOWN_ID
from tests.support.error_answers import ERRORS_OF_RPC
from tests.support.openapi import without_references
from tests.support.running_app import RunningApp, assert_stamped

WITHIN_S: Final = 60.0


def documented(api: RunningApp) -> dict[str, Any]:
    return without_references(api.client.get("/openapi.json").json())


def test_given_a_process_when_asked_for_its_health_then_it_answers(api: RunningApp) -> None:
    answer = api.client.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert_stamped(answer)


def test_given_a_component_that_is_down_when_asked_then_readyz_names_it_at_503(api: RunningApp) -> None:
    ready = api.client.get("/readyz")
    api.checks["redis"] = False
    unavailable = api.client.get("/readyz")

    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    assert unavailable.status_code == 503
    assert unavailable.json() == {
        "status": "unavailable",
        "components": {"database": "up", "redis": "down", "flow": "up", "background": "up", "clock": "up", "log": "up"},
        "error": "Not ready: redis down.",
        "code": "unavailable",
        "requestId": unavailable.headers["x-request-id"],
    }
    assert unavailable.headers["retry-after"] == "1"
    assert_stamped(unavailable)


@pytest.mark.parametrize(
    ("database", "forged", "shown"),
    [(True, 0, ("ready", "up", UNSET)), (True, 3, ("ready", "degraded", 3)), (False, 3, ("unavailable", "up", UNSET))],
)
def test_given_forged_entries_when_asked_then_the_log_is_degraded_and_the_service_stays_ready(
    *, database: bool, forged: int, shown: tuple[Any, ...]
) -> None:
    def count() -> int:
        assert database, "it is read from the database"
        return forged

    report = Readiness({"database": lambda: database}, forged_entries=count).report()

    assert (report.status, report.components["log"], report.forged_entries) == shown


@pytest.mark.parametrize("failure", [duckdb.IOException("no block"), OSError(5, "no disk"), RuntimeError("other")])
def test_given_forged_entries_that_cannot_be_counted_when_asked_then_the_database_is_down(failure: Exception) -> None:
    def count() -> int:
        raise failure

    report = Readiness({"database": lambda: True, "redis": lambda: True}, forged_entries=count).report()

    assert (report.status, report.forged_entries) == ("unavailable", UNSET)
    assert report.components == {"database": "down"} | dict.fromkeys(("redis", "background", "log", "clock"), "up")


@pytest.mark.parametrize(
    ("forged", "removed", "shown"), [(0, 0, ("up", UNSET)), (0, 2, ("degraded", 2)), (1, 2, ("degraded", 2))]
)
def test_given_removed_entries_when_asked_then_the_log_is_degraded_and_the_service_stays_ready(
    forged: int, removed: int, shown: tuple[Any, ...]
) -> None:
    report = Readiness({}, forged_entries=lambda: forged, removed_entries=lambda: removed).report()

    assert report.status == "ready"
    assert (report.components["log"], report.removed_entries) == shown


def test_given_the_document_when_read_then_it_is_public_and_cacheable(api: RunningApp) -> None:
    answer = api.client.get("/openapi.json")

    assert answer.headers["cache-control"].startswith("public")
    assert answer.json()["openapi"] == "3.1.0"
    assert answer.json()["servers"] == [{"url": "https://risk.example.test"}]


def test_given_the_routes_when_compared_with_the_document_then_public_ones_are_in_it_and_no_others(
    api: RunningApp,
) -> None:
    routed = set()
    for route in api.app.routes:
        assert isinstance(route, HTTPRoute)
        for handler in route.route_handlers:
            if handler.http_methods == {"OPTIONS"}:
                continue
            operation = handler.opt[OPT]  # every route of ours describes itself
            if operation.access is not Access.ADMIN:
                routed |= {(wire_path(route.path_format), method.lower()) for method in handler.http_methods}
    described = {(path, method) for path, methods in documented(api)["paths"].items() for method in methods}

    assert described == routed
    assert not any(path.startswith("/api/admin") for path, _ in described)


def test_given_the_document_when_read_then_every_error_is_the_envelope(api: RunningApp) -> None:
    document = documented(api)
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]

    assert len({operation["operationId"] for operation in operations}) == len(operations)
    for operation in operations:
        for status, answer in operation["responses"].items():
            is_other = operation["operationId"] == "getReadiness" or (operation["operationId"], status) in ERRORS_OF_RPC
            if status >= "400" and not is_other:
                schema = answer["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorEnvelope"}
    assert "status_code" not in api.client.get("/openapi.json").text


def test_given_the_document_when_read_then_requests_are_closed_and_nullables_are_type_lists(api: RunningApp) -> None:
    schemas = documented(api)["components"]["schemas"]

    for name in ("PreflightRequest", "TransferRequest", "CounterpartyRequest"):
        assert schemas[name]["additionalProperties"] is False
    for name in ("Preflight", "Transfer", "Program"):
        assert "additionalProperties" not in schemas[name]
    assert schemas["Transfer"]["properties"]["score"]["type"] == ["integer", "null"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json"])
def test_given_options_when_sent_then_the_headers_are_there(api: RunningApp, path: str) -> None:
    answer = api.client.options(path)

    assert answer.status_code == 204
    assert_stamped(answer)
    assert "GET" in answer.headers["allow"]


def test_given_a_path_with_two_methods_when_asked_for_its_options_then_allow_lists_both(api: RunningApp) -> None:
    answer = api.client.options("/api/keys")

    assert answer.headers["allow"] == "GET, OPTIONS, POST"
    assert_stamped(answer)


def test_given_every_documented_operation_when_called_by_nobody_then_it_is_refused_unless_public(
    api: RunningApp,
) -> None:
    for path, methods in documented(api)["paths"].items():
        for method, operation in methods.items():
            url = path.replace("{programId}", UNKNOWN_ID).replace("{", "").replace("}", "")
            answer = api.client.request(method, url)
            assert (answer.status_code == 401) is bool(operation["security"]), (method, path)


@pytest.mark.anyio
async def test_given_many_who_ask_when_a_check_hangs_then_it_runs_once_and_all_hear_its_result() -> None:
    begun, go_on = list[int](), Event()

    def hanging() -> bool:
        begun.append(1)
        return go_on.wait(WITHIN_S)

    readiness = Readiness({"redis": hanging}, kept_s=WITHIN_S)
    asking = [asyncio.ensure_future(readiness.latest()) for _ in range(50)]
    await asyncio.sleep(0)
    go_on.set()

    reports = [*await asyncio.gather(*asking), await readiness.latest()]

    assert {report.status for report in reports} == {"ready"}
    assert len(begun) == 1


@pytest.mark.anyio
async def test_given_a_report_that_is_no_longer_new_when_asked_then_the_checks_run_again() -> None:
    begun: list[int] = []
    readiness = Readiness({"redis": lambda: not begun.append(1)}, kept_s=0.0)  # type: ignore[func-returns-value]

    await readiness.latest()
    await readiness.latest()

    assert len(begun) == 2
