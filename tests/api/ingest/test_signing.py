"""A bank that makes its secrets itself, and signs in a header of its choice."""

from typing import Any, Final

import httpx
import pytest
from msgspec import json
from structlog.testing import capture_logs

from clearhold.client.answers import sign
from clearhold.client.client import ClearholdClient
from tests.api.ingest.test_ingest import VECTOR_BODY, VECTOR_SIGNATURE, an_event, bank_entries
from tests.support.callers import UNKNOWN_ID
from tests.support.fake_service import PROGRAM
from tests.support.running_app import RunningApp, assert_refused

SECRET: Final = "wh_2zTheBanksOwnSecret_0001"
HOUR_US: Final = 3_600_000_000


def event(event_id: str) -> bytes:
    return json.encode({"id": event_id, "type": "ping", "created_at": "2026-03-02T14:00:00Z", "data": {}})


def posted(api: RunningApp, program: dict[str, Any], secret: str, event_id: str, header: str) -> Any:
    body = event(event_id)
    return api.client.post(f"/api/ingest/bank/{program['id']}", content=body, headers={header: sign(secret, body)})


def set_secret(api: RunningApp, program: dict[str, Any], body: dict[str, Any], **headers: str) -> Any:
    path = f"/api/admin/programs/{program['id']}/ingest-secret"
    return api.client.post(path, json=body, headers=api.admin | headers)


def test_given_a_secret_of_the_bank_when_set_then_its_signature_counts_and_no_answer_or_log_has_it(
    api: RunningApp, program: dict[str, Any]
) -> None:
    with capture_logs() as logs:
        answer = set_secret(api, program, {"secret": SECRET, "overlapHours": 1}, **{"Idempotency-Key": "k1"})
        again = set_secret(api, program, {"secret": SECRET, "overlapHours": 1}, **{"Idempotency-Key": "k1"})

    assert (answer.status_code, answer.json()) == (201, {"secret": None})
    assert (again.json(), again.headers["Idempotent-Replayed"]) == ({"secret": None}, "true")
    secrets = (program["ingestSecret"], SECRET)
    during = [posted(api, program, each, f"evnt_{n}", "Bank-Signature").status_code for n, each in enumerate(secrets)]
    api.clock.advance(HOUR_US)
    after = [posted(api, program, each, f"evnt_1{n}", "Bank-Signature").status_code for n, each in enumerate(secrets)]
    assert (during, after) == ([200, 200], [401, 200])
    assert SECRET not in repr(logs)
    target = api.reloaded_registry().tenancy.ingest_targets.find(program["id"])
    assert target is not None
    assert target.secrets[0].value == SECRET
    stored = api.sync_redis.xrange(f"log:tenant:{program['tenantId']}")
    assert SECRET not in repr(stored)


@pytest.mark.parametrize("length", [16, 255])
def test_given_a_secret_at_the_ends_of_its_length_when_set_then_it_is_taken(
    api: RunningApp, program: dict[str, Any], length: int
) -> None:
    assert set_secret(api, program, {"secret": "s" * length}).status_code == 201
    assert posted(api, program, "s" * length, "evnt_1", "Bank-Signature").status_code == 200


@pytest.mark.parametrize(
    "secret", ["s" * 15, "s" * 256, "sixteen and more ", "sécret-of-sixteen", "", 5, "s" * 15 + "\n"]
)
def test_given_a_secret_that_breaks_its_rule_when_set_then_400_and_the_present_one_stays(
    api: RunningApp, program: dict[str, Any], secret: Any
) -> None:
    refused = set_secret(api, program, {"secret": secret})

    assert_refused(refused, 400, "secret")
    assert [field["path"] for field in refused.json()["fields"]] == ["secret"]
    assert posted(api, program, program["ingestSecret"], "evnt_1", "Bank-Signature").status_code == 200


def test_given_a_program_that_names_a_header_when_its_bank_signs_there_then_that_one_alone_counts(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    secret, path = program["ingestSecret"], f"/api/admin/programs/{program['id']}"
    assert api.client.get(f"/api/programs/{program['id']}", headers=api.operator(tenant)).json()["signatureHeader"] == (
        "Bank-Signature"
    )

    changed = api.client.patch(path, json={"signatureHeader": "X-Column_Signature"}, headers=api.admin)

    assert changed.json()["signatureHeader"] == "X-Column_Signature"
    headers = ("Bank-Signature", "x-column_signature", "X-COLUMN_SIGNATURE")
    answers = [posted(api, program, secret, f"evnt_{n}", header) for n, header in enumerate(headers)]
    assert [answer.status_code for answer in answers] == [401, 200, 200]
    batch = api.client.post(
        f"/api/ingest/bank/{program['id']}/batch",
        content=event("evnt_9"),
        headers={"X-Column_Signature": sign(secret, event("evnt_9"))},
    )
    assert batch.status_code == 200
    target = api.reloaded_registry().tenancy.ingest_targets.find(program["id"])
    assert target is not None
    assert target.signature_header == b"x-column_signature"


def test_given_a_new_program_when_it_names_a_header_then_it_has_it_from_the_start(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    program = api.create_program(tenant, slug="signed", signatureHeader="Column-Signature")

    assert program["signatureHeader"] == "Column-Signature"
    assert posted(api, program, program["ingestSecret"], "evnt_1", "Column-Signature").status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bank Signature",
        "Bank-Signature:",
        "Signatur\u00e9",
        "x" * 65,
        "Authorization",
        "transfer-encoding",
        "CONNECTION",
        "Content-Length",
        "Host",
        "X-Operator",
        "Webhook-Endpoint-Id",
        "Idempotency-Key",
        "Score-Signature",
        "X-Forwarded-For",
        "Proxy-Authorization",
        None,
    ],
)
def test_given_a_header_that_is_none_or_has_another_meaning_when_named_then_400(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], header: str | None
) -> None:
    change = api.client.patch(
        f"/api/admin/programs/{program['id']}", json={"signatureHeader": header}, headers=api.admin
    )
    body = {"tenantId": tenant["id"], "slug": "other", "name": "Other", "signatureHeader": header}
    created = api.client.post("/api/admin/programs", json=body, headers=api.admin)

    for refused in (change, created):
        assert_refused(refused, 400, "signatureHeader")
        assert [field["path"] for field in refused.json()["fields"]] == ["signatureHeader"]


def test_given_another_header_when_the_client_posts_then_it_signs_there(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[httpx.Request] = []
    connect = httpx.Client

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={"received": True, "duplicate": False})

    monkeypatch.setattr("httpx.Client", lambda **given: connect(**given | {"transport": httpx.MockTransport(respond)}))

    with ClearholdClient("http://bank.example") as client:
        client.post_event(PROGRAM, SECRET, event("evnt_1"), signature_header="Column-Signature")
        client.post_event(PROGRAM, SECRET, event("evnt_1"))

    assert [request.headers.get("Column-Signature") for request in requests] == [sign(SECRET, event("evnt_1")), None]
    assert [request.headers.get("Bank-Signature") for request in requests] == [None, sign(SECRET, event("evnt_1"))]


def refusals(api: RunningApp, program: dict[str, Any], sent: dict[str, str]) -> set[str]:
    """The sentences that refuse one request: of the program, of one with its bank's header, and of an unknown one."""
    path = f"/api/admin/programs/{api.create_program({'id': program['tenantId']}, slug='other')['id']}"
    other = api.client.patch(path, json={"signatureHeader": "Column-Signature"}, headers=api.admin).json()
    ids = (program["id"], other["id"], UNKNOWN_ID)
    answers = [api.client.post(f"/api/ingest/bank/{each}", content=VECTOR_BODY, headers=sent) for each in ids]
    for answer in answers:
        assert_refused(answer, 401)
    return {answer.json()["error"] for answer in answers}


@pytest.mark.parametrize("name", ["Bank-Signature", "Column-Signature", "X-Other"])
@pytest.mark.parametrize("value", ["0" * 64, VECTOR_SIGNATURE, "f" * 64])
def test_given_a_signature_that_proves_nothing_when_posted_anywhere_then_one_sentence_says_what_to_send(
    api: RunningApp, program: dict[str, Any], name: str, value: str
) -> None:
    (sentence,) = refusals(api, program, {name: value})

    for words in ("could not be verified", "Bank-Signature", "64 hex digits", "HMAC-SHA256 of the raw body", "whsec_"):
        assert words in sentence


@pytest.mark.parametrize("sent", [{}, {"X-Operator": "ann"}, {"Column-Signature": "no hash"}])
def test_given_no_signature_when_posted_anywhere_then_one_sentence_names_the_missing_header(
    api: RunningApp, program: dict[str, Any], sent: dict[str, str]
) -> None:
    (sentence,) = refusals(api, program, sent)

    assert "the header Bank-Signature is missing" in sentence
    assert "64 hex digits" in sentence


@pytest.mark.parametrize("secrets", [1, 2])
def test_given_a_body_that_a_thread_verifies_when_posted_then_it_is_taken_or_refused_as_any(
    api: RunningApp, program: dict[str, Any], secrets: int
) -> None:
    if secrets == 2:
        path = f"/api/admin/programs/{program['id']}/ingest-secret"
        assert api.client.post(path, json={"overlapHours": 1}, headers=api.admin).status_code == 201
    body = an_event(data={"note": "x" * 100_000})

    assert_refused(api.deliver(program, body, **{"Bank-Signature": "0" * 64}), 401)
    assert api.deliver(program, body).status_code == 200


@pytest.mark.parametrize("data", [[1] * 20_001, {f"n{number}": 1 for number in range(20_001)}])
def test_given_an_event_of_too_many_values_when_posted_then_400_and_nothing_is_stored(
    api: RunningApp, program: dict[str, Any], data: Any
) -> None:
    assert_refused(api.deliver(program, an_event(data=data)), 400, "at most 20,000 values")
    assert bank_entries(api) == []
