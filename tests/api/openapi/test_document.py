"""The OpenAPI document: committed as served, complete, and true about its own examples."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.api.alerts.schemas import ALERT
from clearhold.api.areas import ROUTES, openapi_text
from clearhold.api.http.operation import OPT, Access, Operation
from clearhold.api.webhooks.schemas import NEW_WEBHOOK
from clearhold.features.core.vocabulary import words
from clearhold.features.webhooks.delivery import endpoint_url
from tests.support.alerting import an_alert, appeal, decide
from tests.support.error_answers import CONNECTOR_OPERATION, ERRORS_OF_RPC
from tests.support.openapi import without_references
from tests.support.running_app import RunningApp

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.json"
BUILT: dict[str, Any] = msgspec.json.decode(openapi_text())
DOCUMENT: dict[str, Any] = without_references(BUILT)
LARGEST_BYTES_AN_OPERATION = 10_200
"""On average: the document grows with its routes, and shared parts are written once."""
WITHOUT_EXAMPLE = {"submitPreflight 201", "changeAutonomy 201", "getOpenApi 200"}
"""As its 200; an action, as ``requestAction`` has it; and the document itself."""
METHODS = {"get", "put", "post", "delete", "patch"}


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in DOCUMENT["paths"].items():
        for method in sorted(METHODS & set(item)):
            yield path, method, item[method]


def bodies() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every JSON body of a request or an answer, by a name."""
    for _, _, operation in operations():
        shown = {"request": operation.get("requestBody", {})} | operation["responses"]
        for name, holder in shown.items():
            media = holder.get("content", {}).get("application/json")
            if media is not None:
                yield f"{operation['operationId']} {name}", media


def texts() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every body of an answer that is not JSON, by a name."""
    for _, _, operation in operations():
        for status, answer in operation["responses"].items():
            for kind, media in answer.get("content", {}).items():
                if "json" not in kind.partition("/")[2].split("+") and kind != "application/jwk-set+json":
                    yield f"{operation['operationId']} {status} {kind}", media


def example_of(described: dict[str, Any]) -> Any:
    """The value of an example, which may stand among the components."""
    name = described.get("$ref", "").rpartition("/")[2]
    return DOCUMENT["components"]["examples"][name]["value"] if name else described["value"]


def shown_in(media: dict[str, Any]) -> list[Any]:
    """The examples of a body."""
    shown = [example_of(each) for each in media.get("examples", {}).values()]
    return [*shown, media["example"]] if "example" in media else shown


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    return schema | {"components": DOCUMENT["components"]}


def test_given_the_routes_when_described_then_the_committed_document_is_theirs() -> None:
    committed = COMMITTED.read_bytes()

    assert msgspec.json.decode(committed) == BUILT, "run: make docs"
    assert len(committed) < LARGEST_BYTES_AN_OPERATION * len([*operations()])


def test_given_a_running_service_when_asked_then_it_serves_that_document(api: RunningApp) -> None:
    served = api.client.get("/openapi.json").json()

    assert served == BUILT | {"servers": [{"url": "https://risk.example.test"}]}


def test_given_the_document_when_read_then_it_is_openapi_3_1_with_unique_operation_ids() -> None:
    ids = [operation["operationId"] for _, _, operation in operations()]

    assert DOCUMENT["openapi"].startswith("3.1.")
    assert len(ids) == len(set(ids)) > 10
    assert all(operation["tags"] and operation["summary"] for _, _, operation in operations())


def test_given_every_route_when_compared_then_all_but_the_administration_are_described() -> None:
    handlers: tuple[Any, ...] = ROUTES
    registered = {
        (method.lower(), re.sub(r"\{(\w+):\w+\}", "{}", path))
        for handler in handlers
        for path in handler.paths
        for method in handler.http_methods
        if _operation(handler).access is not Access.ADMIN
    }
    described = {(method, re.sub(r"\{\w+\}", "{}", path)) for path, method, _ in operations()}

    assert described == registered


def test_given_a_score_of_now_when_described_then_its_state_may_have_no_owner_yet() -> None:
    described = {operation["operationId"]: operation["responses"] for _, _, operation in operations()}

    for operation_id in ("listAgents", "getAgent", "getActorReport", "issueProof"):
        described_503 = described[operation_id]["503"]["description"]
        assert "`unavailable`" in described_503, operation_id
        assert "`starting`" in described_503, operation_id


def test_given_an_operation_when_described_then_its_refusals_are_the_envelope() -> None:
    for _, method, operation in operations():
        statuses = set(operation["responses"])
        is_proven = operation["security"] and "bankSignature" not in operation["security"][0]
        if is_proven:
            assert {"400", "401", "403", "429"} <= statuses, operation["operationId"]
        if "requestBody" in operation:
            assert "413" in statuses, operation["operationId"]
        if method != "get" and is_proven and operation["operationId"] != CONNECTOR_OPERATION:
            assert {"409", "503"} <= statuses, operation["operationId"]
            assert "Idempotency-Key" in {parameter["name"] for parameter in operation["parameters"]}
        for status, answer in operation["responses"].items():
            if status.startswith("4") and (operation["operationId"], status) not in ERRORS_OF_RPC:
                assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorEnvelope")


def test_given_a_body_when_described_then_its_example_fits_its_schema() -> None:
    """Most bodies are an error, whose schema is read once."""
    validators: dict[bytes, Any] = {}
    for name, media in bodies():
        shown = shown_in(media)
        if name.split()[1] in {"request", "200", "201"} and name not in WITHOUT_EXAMPLE:
            assert shown, name
        key = msgspec.json.encode(media["schema"])
        if key not in validators:
            validators[key] = jsonschema_rs.validator_for(resolved(media["schema"]), validate_formats=True)
        faults = [str(error) for example in shown for error in validators[key].iter_errors(example)]
        assert (name, faults) == (name, [])
    assert len(validators) > 100


@pytest.mark.parametrize(("name", "media"), list(texts()), ids=[name for name, _ in texts()])
def test_given_a_text_when_described_then_its_example_is_one(name: str, media: dict[str, Any]) -> None:
    (shown,) = shown_in(media)

    assert isinstance(shown, str), name
    match name.split()[2]:
        case "application/x-ndjson":
            *lines, end = shown.split("\n")
            assert end == ""
            assert all(msgspec.json.decode(line) for line in lines)
        case "text/csv;":
            names, row = csv.reader(io.StringIO(shown, newline=""))
            assert len(names) == len(row)
        case "text/plain":
            assert opened(shown) == ("risk.bank.example/first-bank/dispositions", "2")


def opened(note: str) -> tuple[str, str]:
    """Origin and size of a signed note."""
    origin, size, _, empty, signature, end = note.split("\n")
    assert (empty, end) == ("", "")
    assert signature.startswith(f"\N{EM DASH} {origin} ")
    return origin, size


def test_given_the_exports_when_described_then_there_are_texts_to_look_at() -> None:
    assert {name.split()[0] for name, _ in texts()} == {
        "exportAlerts",
        "exportCounterparty",
        "exportDispositions",
        "exportEntity",
        "exportRecord",
        "exportTransfers",
        "followLive",
        "getDocs",
        "getDocsScript",
        "getWeeklyReport",
        "ingestBankEvents",
        "signCheckpoint",
    }


def test_given_the_alerts_of_the_examples_when_compared_with_an_answer_then_they_have_its_form(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    decide(api, api.operator(tenant), alert["id"])
    real = appeal(api, api.operator(tenant), alert["id"]).json()
    described = DOCUMENT["paths"]["/api/alerts/{alertId}/appeal"]["post"]["responses"]["201"]["content"]
    appealed = described["application/json"]["example"]

    assert list(appealed) == list(real)
    assert set(appealed["evidence"]) == set(real["evidence"]) - {"escalation"}
    assert list(appealed["evidence"]["appeal"]) == list(real["evidence"]["appeal"])
    assert set(ALERT["evidence"]) <= set(alert["evidence"])
    for each in (ALERT, alert):
        assert each["summary"].startswith(f"{words(each['detector'])} on {each['subjectType']} {each['subjectId']}: ")
        assert each["dedupeKey"].startswith(f"{each['detector']}:{each['subjectType']}:{each['subjectId']}")
    for each in (appealed, real):
        old = each["evidence"]["appeal"]["alertId"]
        about = f"{words(each['detector'])} on {each['subjectType']} {each['subjectId']}"
        assert (each["summary"], each["dedupeKey"]) == (f"Appeal of alert {old}: {about}.", f"appeal:{old}")


def test_given_the_reasons_of_an_alert_when_described_then_it_is_said_what_they_are_of() -> None:
    description = DOCUMENT["paths"]["/api/alerts/{alertId}"]["get"]["description"]

    assert "`reasons` are those of the score at which the alert" in description
    assert "finding is in `evidence`" in description


def test_given_filters_by_ids_of_the_bank_when_described_then_it_is_said_what_commas_do() -> None:
    said = {
        (path, parameter["name"]): parameter["schema"]
        for path, _, operation in operations()
        for parameter in operation["parameters"]
        if parameter["schema"].get("description", "").startswith("Any of these, separated by commas")
    }

    assert {name for _, name in said} == {
        *("subjectId", "transferId", "accountId", "entityId", "counterpartyId", "decidedBy", "assignee"),
    }
    assert all("array" in schema["type"] for schema in said.values())


def test_given_a_header_when_described_then_it_is_said_what_it_says() -> None:
    described = {
        name: header["description"]
        for _, _, operation in operations()
        for answer in operation["responses"].values()
        for name, header in answer.get("headers", {}).items()
    }

    assert {"ETag", "Cache-Control", "Content-Disposition", "Link"} <= set(described)
    assert len(set(described.values())) == len(described)


def test_given_a_request_body_when_described_then_it_is_closed() -> None:
    for _, _, operation in operations():
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            if name == "BankEvent":  # The bank may send more than is read.
                continue
            assert DOCUMENT["components"]["schemas"][name]["additionalProperties"] is False, name


def _operation(handler: Any) -> Operation:
    operation: Operation = handler.opt[OPT]
    return operation


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_given_an_endpoints_url_when_it_is_as_the_document_shows_it_then_it_is_taken(data: st.DataObject) -> None:
    shown = DOCUMENT["components"]["schemas"]["NewWebhook"]["properties"]["url"]["pattern"]
    url = data.draw(st.from_regex(shown, fullmatch=True))

    assert endpoint_url(url, allow_local=False).startswith("https://")
    assert jsonschema_rs.is_valid({"pattern": shown}, NEW_WEBHOOK["url"])


@pytest.mark.parametrize(
    "url",
    [
        *("http://hooks.bank.example/", "https://hooks.bank.example:80/", "https://10.0.0.1/", "https://[::1]/"),
        *("https://ann@hooks.bank.example/", "https://hooks.bank.example/#top", "https://hooks.bank.example:70000/"),
        *("https://hooks.bank.example/a b", "https://hooks.bank.example/\\", "https://hooks.bank.example/\n"),
    ],
)
def test_given_an_endpoints_url_that_is_refused_when_described_then_the_document_does_not_show_it(url: str) -> None:
    shown = DOCUMENT["components"]["schemas"]["NewWebhook"]["properties"]["url"]

    assert not jsonschema_rs.is_valid(shown, url)
    with pytest.raises(ValueError, match="must"):
        endpoint_url(url, allow_local=False)
