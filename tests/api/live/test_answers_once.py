"""Idempotency keys, secrets shown once, white space in headers, and the bank's own webhook secret."""

from contextlib import closing
from typing import Any

import msgspec
import pytest

from tests.support.live_feed import WIRE, LiveBank, LiveFeed, now, text_of
from tests.support.running_service import ADMIN_TOKEN, RunningService

HOOK = {"url": "https://hooks.bank.example/x"}


@pytest.mark.parametrize(("path", "body"), [("/api/webhooks", HOOK), ("/api/keys", {"name": "k", "mode": "live"})])
def test_given_a_secret_that_was_shown_when_the_call_is_replayed_then_it_has_no_secret(
    live_bank: LiveBank, path: str, body: dict[str, Any]
) -> None:
    key = f"once{path}"

    first, replay = (live_bank.call("POST", path, body, Idempotency_Key=key) for _ in "ab")

    assert first.json()["secret"]
    assert replay.headers["idempotent-replayed"] == "true"
    assert replay.json() == first.json() | {"secret": None}


def test_given_a_rotated_secret_when_the_rotation_is_replayed_then_it_has_no_secret(live_bank: LiveBank) -> None:
    hook = live_bank.post("/api/webhooks", HOOK)

    path = f"/api/webhooks/{hook['id']}/rotate"
    first, replay = (live_bank.call("POST", path, Idempotency_Key="rotate") for _ in "ab")

    assert first.json()["secret"] not in (None, hook["secret"])
    assert replay.json() == first.json() | {"secret": None}


@pytest.mark.parametrize("body", [None, {}, {"overlapHours": 1}])
def test_given_a_new_ingest_secret_without_a_body_when_the_call_is_replayed_then_it_has_no_secret(
    feed: LiveFeed, body: dict[str, Any] | None
) -> None:
    path, key = f"/api/admin/programs/{feed.id}/ingest-secret", f"secret {body}"

    first, replay = (feed.bank.call("POST", path, body, token=ADMIN_TOKEN, Idempotency_Key=key) for _ in "ab")

    assert (first.status_code, replay.json()) == (201, {"secret": None}), first.text
    feed.program["ingestSecret"] = first.json()["secret"]
    feed.send(WIRE, {"id": "wire_1", "amount": 100}, now())
    assert feed.event()["result"] == "applied"


def test_given_a_new_operator_token_without_a_body_when_the_call_is_replayed_then_it_has_no_token(
    live_service: RunningService,
) -> None:
    with closing(LiveBank(live_service)) as bank:
        path = f"/api/admin/tenants/{bank.tenant['id']}/operator-token"
        first, replay = (bank.call("POST", path, token=ADMIN_TOKEN, Idempotency_Key="token") for _ in "ab")

        assert (first.status_code, replay.json()) == (201, {"token": None}), first.text
        assert bank.call("GET", "/api/programs", token=first.json()["token"]).status_code == 200
        assert bank.call("GET", "/api/programs").status_code == 401


def test_given_a_key_that_was_used_when_only_the_tenant_or_the_operator_differs_then_the_answer_is_replayed(
    live_bank: LiveBank,
) -> None:
    slug, body = live_bank.tenant["slug"], HOOK | {"description": "same"}

    first = live_bank.call("POST", "/api/webhooks", body, Idempotency_Key="same")
    confirmed = live_bank.call("POST", f"/api/webhooks?tenant={slug}", body, Idempotency_Key="same")
    other = live_bank.call("POST", "/api/webhooks", body, Idempotency_Key="same", X_Operator="zoe")

    assert first.status_code == 201
    for replay in (confirmed, other):
        assert (replay.status_code, replay.headers.get("idempotent-replayed")) == (201, "true"), replay.text
        assert replay.json()["id"] == first.json()["id"]


@pytest.mark.parametrize("padded", ["{} ", "  {}", "\t{}", "{}\t", " {} \t"])
def test_given_a_key_that_was_used_when_it_comes_with_white_space_around_it_then_the_answer_is_replayed(
    live_bank: LiveBank, padded: str
) -> None:
    body = HOOK | {"description": "padded"}
    first = live_bank.call("POST", "/api/webhooks", body, Idempotency_Key="padded")

    headers = {"Authorization": f"Bearer {live_bank.tenant['operatorToken']}", "X-Operator": "ann"}
    headers["Idempotency-Key"] = padded.format("padded")
    status, content, answered = live_bank.raw("/api/webhooks", msgspec.json.encode(body), headers)

    assert (status, answered.get("idempotent-replayed")) == (201, "true"), content
    assert content["id"] == first.json()["id"]


def test_given_a_key_that_was_used_when_the_body_differs_then_it_is_a_conflict(live_bank: LiveBank) -> None:
    live_bank.call("POST", "/api/webhooks", HOOK | {"description": "one"}, Idempotency_Key="differs")

    answer = live_bank.call("POST", "/api/webhooks", HOOK | {"description": "two"}, Idempotency_Key="differs")

    assert answer.status_code == 409


@pytest.mark.parametrize("padded", ["{} ", " {}", "\t{}", "{}\t "])
def test_given_white_space_around_a_signature_when_delivered_then_it_is_the_signature(
    feed: LiveFeed, padded: str
) -> None:
    event = {"id": "evnt_1", "type": WIRE, "created_at": text_of(now()), "data": {"id": "wire_1", "amount": 100}}
    body, path = msgspec.json.encode(event), f"/api/ingest/bank/{feed.id}"
    signature = feed.signature(body)

    assert feed.bank.raw(path, body, {"Bank-Signature": padded.format(signature)})[0] == 200
    assert feed.bank.raw(path, body, {"Bank-Signature": f"{signature[:30]} {signature[30:]}"})[0] == 401


@pytest.mark.parametrize("secret", ["whsec_of_the_bank_0123456789abcdef", "b7c1e2f0-3c7e-4a1c-9a0e-000000000001"])
def test_given_a_secret_that_the_bank_minted_when_an_admin_sets_it_then_the_banks_events_are_taken(
    feed: LiveFeed, secret: str
) -> None:
    path = f"/api/admin/programs/{feed.id}/ingest-secret"
    answer = feed.bank.call("POST", path, {"secret": secret}, token=ADMIN_TOKEN)
    assert answer.status_code in (200, 201), answer.text

    feed.program["ingestSecret"] = secret
    feed.send(WIRE, {"id": "wire_1", "amount": 100}, now())

    assert feed.event()["result"] == "applied"
