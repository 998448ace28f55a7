"""A delivery checked in a test: the usual mistakes of a sender are named, and nothing is stored."""

import base64
import hmac
from typing import Any, Final

import pytest
from msgspec import json

from clearhold.features.webhooks.delivery import secret_of
from tests.support import bank_events as bank
from tests.support.callers import UNKNOWN_ID
from tests.support.running_app import RunningApp, assert_refused, signature

WIRE: Final = "wire.outgoing_transfer.initiated"
SECRET: Final = secret_of(bytes(range(32)))
EVENT: Final = bank.an_event(WIRE, bank.a_wire(name="Zoë"))
SPACED: Final = b'{ "id": "evnt_1", "type": "identity.created", "created_at": "2026-03-02T14:00:00Z", "data": {} }'


@pytest.fixture
def simulated(api: RunningApp, tenant: dict[str, Any]) -> dict[str, Any]:
    program = api.create_program(tenant, slug="trial", source="simulated")
    path = f"/api/admin/programs/{program['id']}/ingest-secret"
    assert api.client.post(path, json={"secret": SECRET}, headers=api.admin).status_code == 201
    return program


def checked(api: RunningApp, program: dict[str, Any], body: bytes, **headers: str) -> dict[str, Any]:
    before = api.stored()
    answer = api.client.post(f"/api/ingest/bank/{program['id']}/check", content=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert api.stored() == before
    content: dict[str, Any] = answer.json()
    assert content["simulated"] is True
    return content


def faults(content: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["part"], each["sentence"]) for each in content["faults"]]


def test_given_a_right_delivery_when_checked_then_it_is_taken_and_has_no_fault(
    api: RunningApp, simulated: dict[str, Any]
) -> None:
    content = checked(api, simulated, EVENT, **{"Bank-Signature": signature(SECRET, EVENT)})

    assert (content["taken"], content["faults"], content["result"]) == (True, [], "applied")
    assert content["bodyBytes"] == len(EVENT)
    assert api.deliver(simulated | {"ingestSecret": SECRET}, EVENT).status_code == 200


BARE: Final = SECRET.removeprefix("whsec_")
MISTAKES: Final = {
    "nothing": (None, "Bank-Signature must be there, once"),
    "no hash": ("nonsense", "64 hex digits alone"),
    "another secret": (signature(secret_of(bytes(32)), EVENT), "another program"),
    "the prefix cut off": (signature(BARE, EVENT), "whsec_ included"),
    "a line end at the secret": (signature(f"{SECRET}\n", EVENT), "without a line end"),
    "a prefix": (f"sha256={signature(SECRET, EVENT)}", "without a prefix"),
    "a time before it": (f"t=1772463600,v1={signature(SECRET, EVENT)}", "without a prefix"),
    "base64": (base64.b64encode(bytes.fromhex(signature(SECRET, EVENT))).decode(), "not base64"),
    "an empty body": (signature(SECRET, b""), "empty body"),
    "a line end at the body": (signature(SECRET, EVENT + b"\n"), "with a line end"),
    "another spelling": (signature(SECRET, json.format(EVENT, indent=0)), "another spelling"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_given_a_usual_mistake_of_a_signature_when_checked_then_its_cure_is_said(
    api: RunningApp, simulated: dict[str, Any], case: str
) -> None:
    sent, words = MISTAKES[case]

    content = checked(api, simulated, EVENT, **({} if sent is None else {"Bank-Signature": sent}))

    ((part, sentence),) = faults(content)
    assert (content["taken"], part) == (False, "header")
    assert words in sentence
    assert SECRET not in sentence


def test_given_the_decoded_secret_and_another_spelling_when_checked_then_both_are_said(
    api: RunningApp, simulated: dict[str, Any]
) -> None:
    spelt = hmac.digest(base64.b64decode(BARE), json.format(SPACED, indent=-1), "sha256").hex()

    (_, sentence), *_ = faults(checked(api, simulated, SPACED, **{"Bank-Signature": spelt}))

    assert "not decoded" in sentence
    assert "another spelling" in sentence


def test_given_a_program_that_names_its_header_and_an_endpoint_when_checked_then_each_is_missed(
    api: RunningApp, simulated: dict[str, Any]
) -> None:
    change = {"signatureHeader": "Column-Signature", "webhookEndpointId": "whep_1"}
    path = f"/api/admin/programs/{simulated['id']}"
    assert api.client.patch(path, json=change, headers=api.admin).status_code == 200
    signed = signature(SECRET, EVENT)

    wrong = faults(checked(api, simulated, EVENT, **{"Bank-Signature": signed}))
    right = checked(api, simulated, EVENT, **{"Column-Signature": signed, "Webhook-Endpoint-Id": "whep_1"})

    assert [part for part, _ in wrong] == ["header", "header"]
    assert "Column-Signature" in wrong[0][1]
    assert "Bank-Signature" in wrong[0][1]
    assert "Webhook-Endpoint-Id" in wrong[1][1]
    assert right["taken"] is True


@pytest.mark.parametrize(
    ("body", "part", "path", "result"),
    [
        (b"", "body", None, None),
        (b"[]", "body", None, None),
        (EVENT + b"\n" + EVENT, "body", None, None),
        (b'{"id":"evnt_1","type":"a.b","createdAt":"2026-03-02T14:00:00Z"}', "body", "created_at", None),
        (bank.an_event(WIRE, bank.a_wire(amount=9850.55)), "data", "data.amount", "unusable"),
        (bank.an_event(WIRE, bank.a_wire(amount="9,850.00")), "data", "data.amount", "unusable"),
        (bank.an_event("wires.sent", bank.a_wire()), "data", "type", "unknown"),
    ],
)
def test_given_a_fault_of_the_body_when_checked_then_it_is_named_with_its_path(
    api: RunningApp, simulated: dict[str, Any], body: bytes, part: str, path: str | None, result: str | None
) -> None:
    content = checked(api, simulated, body, **{"Bank-Signature": signature(SECRET, body)})

    (fault,) = content["faults"]
    assert (fault["part"], fault["path"], content["result"]) == (part, path, result)
    assert content["taken"] is (part == "data")


def test_given_a_program_of_the_bank_when_checked_then_404_as_for_one_that_is_none(
    api: RunningApp, program: dict[str, Any]
) -> None:
    sent = {"Bank-Signature": signature(program["ingestSecret"], EVENT)}
    answers = [
        api.client.post(f"/api/ingest/bank/{each}/check", content=EVENT, headers=sent)
        for each in (program["id"], UNKNOWN_ID)
    ]

    for answer in answers:
        assert_refused(answer, 404, "no simulated program")
    assert answers[0].json()["error"] == answers[1].json()["error"]
