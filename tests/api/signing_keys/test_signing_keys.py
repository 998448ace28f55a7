"""Keys that sign are replaced over HTTP, while what they signed goes on being verified."""

from typing import Any

from clearhold.features.core.instants import HOUR_US, MINUTE_US
from tests.api.proofs.test_proofs import prove, verdict
from tests.support.running_app import RunningApp, assert_refused
from tests.support.scored_actors import score_actors

PATH = "/api/admin/signing-keys"


def listed(api: RunningApp) -> list[tuple[str, str, str]]:
    keys = api.client.get(PATH, headers=api.admin).json()
    return sorted((key["purpose"], key["state"], key["kid"]) for key in keys)


def published(api: RunningApp) -> set[str]:
    return {key["kid"] for key in api.client.get("/.well-known/jwks.json").json()["keys"]}


def announce(api: RunningApp, purpose: str, **headers: str) -> Any:
    return api.client.post(PATH, json={"purpose": purpose}, headers=api.admin | headers)


def kid_of(api: RunningApp, purpose: str, state: str) -> str:
    (kid,) = [kid for each, its, kid in listed(api) if (each, its) == (purpose, state)]
    return kid


def test_given_a_rotation_when_proofs_are_made_before_and_after_then_both_hold_to_their_end(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    score_actors(api, program)
    request = {"type": "entity", "id": "enti_1"}
    old = kid_of(api, "proof", "signing")
    etag = api.client.get("/.well-known/jwks.json").headers["etag"]

    answer = announce(api, "proof", **{"Idempotency-Key": "once"})
    again = announce(api, "proof", **{"Idempotency-Key": "once"})
    assert_refused(announce(api, "proof"), 409, "announced already")

    new = answer.json()["kid"]
    assert (answer.status_code, answer.json()["state"], again.content) == (201, "announced", answer.content)
    assert answer.json()["signsFrom"] == "2026-03-02T15:30:00.000Z"
    assert published(api) == {old, new, kid_of(api, "checkpoint", "signing")}
    assert api.client.get("/.well-known/jwks.json", headers={"If-None-Match": etag}).status_code == 200
    before = prove(api, tenant, **request).json()["token"]
    api.clock.advance(30 * MINUTE_US)
    after = prove(api, tenant, **request).json()["token"]
    api.restart()
    assert before.split(".")[0] != after.split(".")[0]
    assert [verdict(api, token)["valid"] for token in (before, after)] == [True, True]
    api.clock.advance(24 * HOUR_US - 30 * MINUTE_US)
    assert [verdict(api, token).get("reason") for token in (before, after)] == ["expired", None]
    api.clock.advance(2 * HOUR_US)
    assert [verdict(api, token).get("reason") for token in (before, after)] == ["unknown kid", "expired"]
    assert old not in published(api)
    assert kid_of(api, "proof", "expired") == old


def test_given_a_compromised_key_when_removed_then_nothing_that_it_signed_holds(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    score_actors(api, program)
    old = kid_of(api, "proof", "signing")
    token = prove(api, tenant, type="entity", id="enti_1").json()["token"]

    removed = api.client.delete(f"{PATH}/{old}", headers=api.admin)

    assert (removed.status_code, removed.json()["state"]) == (200, "removed")
    assert api.client.delete(f"{PATH}/{old}", headers=api.admin).json() == removed.json()
    assert verdict(api, token) == {"valid": False, "reason": "unknown kid"}
    assert verdict(api, prove(api, tenant, type="entity", id="enti_1").json()["token"])["valid"] is True
    assert old not in published(api)
    assert_refused(api.client.delete(f"{PATH}/nobodys", headers=api.admin), 404)
    assert_refused(announce(api, "everything"), 400, "purpose")


def test_given_a_checkpoint_key_when_replaced_and_removed_then_the_record_still_holds(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    def signed() -> str:
        path = "/api/record/checkpoint?chain=dispositions"
        return str(api.client.get(path, headers=api.operator(tenant)).text)

    def record_holds() -> bool:
        return bool(api.client.get("/api/record/verify", headers=api.operator(tenant)).json()["ok"])

    first, key = signed(), kid_of(api, "checkpoint", "signing")
    announce(api, "checkpoint")
    api.clock.advance(30 * MINUTE_US)
    second = signed()

    assert first != second
    assert record_holds()
    assert key in published(api)
    api.client.delete(f"{PATH}/{key}", headers=api.admin)
    assert key not in published(api)
    assert record_holds()


def test_given_the_published_keys_when_rotated_then_nothing_private_and_nothing_undocumented_is_in_them(
    api: RunningApp,
) -> None:
    announce(api, "proof")

    keys = api.client.get("/.well-known/jwks.json").json()["keys"]

    assert len(keys) == 3
    assert all(set(key) == {"kty", "crv", "x", "kid", "use", "alg"} for key in keys)
    assert "private" not in api.client.get(PATH, headers=api.admin).text.lower()
