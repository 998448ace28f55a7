"""A delivery checked in a test: the usual mistakes of a sender are named, and nothing is stored."""

import base64
import hmac
from collections.abc import Callable
from hashlib import sha256
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


def hmac_of(key: bytes | str, text: bytes, form: Callable[[bytes], bytes | str] = bytes.hex) -> str:
    made = form(hmac.digest(key.encode() if isinstance(key, str) else key, text, "sha256"))
    return made if isinstance(made, str) else made.decode()


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
    "no hash": ("nonsense", "64 hex digits"),
    "a longer hash": (hmac.digest(SECRET.encode(), EVENT, "sha512").hex(), "of a SHA-256"),
    "no key": (sha256(EVENT).hexdigest(), "with the secret as its key"),
    "an empty key": (signature("", EVENT), "key was empty"),
    "a key that is not set": (signature("undefined", EVENT), "key was empty"),
    "key and text exchanged": (hmac_of(EVENT, SECRET.encode()), "exchanged"),
    "the secret in quotes": (signature(f'"{SECRET}"', EVENT), "without quotes"),
    "another secret": (signature(secret_of(bytes(32)), EVENT), "another program"),
    "the prefix cut off": (signature(BARE, EVENT), "whsec_ included"),
    "a line end at the secret": (signature(f"{SECRET}\n", EVENT), "without a line end"),
    "the decoded secret": (hmac_of(base64.b64decode(BARE), EVENT), "not decoded"),
    "a prefix": (f"sha256={signature(SECRET, EVENT)}", "without a prefix"),
    "a time before it": (f"t=1772463600,v1={signature(SECRET, EVENT)}", "without a prefix"),
    "a time signed before it": (f"t=1772463600,v1={signature(SECRET, b'1772463600.' + EVENT)}", "sign the body alone"),
    "more behind it": (f"v1={signature(SECRET, EVENT)},v0=ab", "anything else"),
    "base64 of the other alphabet": (hmac_of(SECRET, EVENT, base64.urlsafe_b64encode).rstrip("="), "not base64"),
    "base64 behind a version": (f"v1,{hmac_of(SECRET, EVENT, base64.b64encode)}", "not base64"),
    "base64 of hex": (base64.b64encode(signature(SECRET, EVENT).encode()).decode(), "not base64"),
    "base64": (base64.b64encode(bytes.fromhex(signature(SECRET, EVENT))).decode(), "not base64"),
    "an empty body": (signature(SECRET, b""), "empty body"),
    "a line end at the body": (signature(SECRET, EVENT + b"\n"), "with a line end"),
    "another spelling": (signature(SECRET, json.format(EVENT, indent=0)), "another spelling"),
    "several lines": (signature(SECRET, json.format(EVENT, indent=2)), "another spelling"),
    "another order": (signature(SECRET, json.encode(json.decode(EVENT), order="sorted")), "another spelling"),
    "data alone": (signature(SECRET, json.encode(json.decode(EVENT)["data"])), "the whole body"),
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


@pytest.mark.parametrize("prefix", ["msg_1.1772463600.", "1772463600.", "v0:1772463600:"])
def test_given_a_signature_of_another_service_when_checked_then_its_time_is_found_in_the_headers(
    api: RunningApp, simulated: dict[str, Any], prefix: str
) -> None:
    signed = signature(SECRET, prefix.encode() + EVENT)
    sent = {"Bank-Signature": signed, "Webhook-Id": "msg_1", "Webhook-Timestamp": "1772463600"}

    ((_, sentence),) = faults(checked(api, simulated, EVENT, **sent))

    assert "sign the body alone" in sentence


@pytest.mark.parametrize("name", ["X-Hub-Signature-256", "Webhook-Signature", "X-Hmac-Sha256"])
def test_given_a_signature_in_another_header_when_checked_then_the_header_is_named(
    api: RunningApp, simulated: dict[str, Any], name: str
) -> None:
    sent = {name: f"v1,{hmac_of(SECRET, EVENT, base64.b64encode)}"}

    ((_, sentence),) = faults(checked(api, simulated, EVENT, **sent))

    assert sentence.endswith(f"The signature seems to be in {name}.")


def test_given_the_secret_that_the_service_made_when_decoded_as_a_key_then_it_is_said(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    program = api.create_program(tenant, slug="made", source="simulated")
    text = program["ingestSecret"].removeprefix("whsec_")
    decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

    ((_, sentence),) = faults(checked(api, program, EVENT, **{"Bank-Signature": hmac_of(decoded, EVENT)}))

    assert "not decoded" in sentence


def test_given_names_that_nothing_reads_when_checked_then_they_are_listed(
    api: RunningApp, simulated: dict[str, Any]
) -> None:
    body = bank.an_event(WIRE, bank.a_wire() | {"ammount": 1, "x" * 100: 2, "amount": 985_000})

    content = checked(api, simulated, body, **{"Bank-Signature": signature(SECRET, body)})

    assert (content["faults"], content["result"]) == ([], "applied")
    assert {"ammount", "x" * 64} <= set(content["unread"])
    assert "amount" not in content["unread"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (json.encode(EVENT.decode()), "encode the event once"),
        (b"payload=" + EVENT, "looks like a form"),
        (b"event%5Bid%5D=evnt_1&type=a.b", "looks like a form"),
        (EVENT + EVENT, "where the object ends"),
        (b"[" + EVENT + b"]", "an event is one object"),
        (b'{"id":"evnt_1","type":"a.b","created_at":1772463600000}', "RFC 3339"),
        (b'{"id":"evnt_1","type":"a.b","created_at":"1772463600"}', "such as 2026-03-02T14:00:00Z"),
    ],
)
def test_given_a_usual_mistake_of_a_body_when_checked_then_its_cure_is_said(
    api: RunningApp, simulated: dict[str, Any], body: bytes, words: str
) -> None:
    ((part, sentence),) = faults(checked(api, simulated, body, **{"Bank-Signature": signature(SECRET, body)}))

    assert part == "body"
    assert words in sentence


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
