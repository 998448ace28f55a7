"""The state of the keys that a bank and the service share, without their values; and the published signing keys."""

from typing import Any

from clearhold.features.core.instants import HOUR_US
from tests.support.running_app import ADMIN_TOKEN, RunningApp

KEY = "test_of_the_first_bank"


def read(api: RunningApp, tenant: dict[str, Any]) -> dict[str, Any]:
    answer = api.client.get("/api/bank-keys", headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    assert KEY not in answer.text
    states: dict[str, Any] = answer.json()
    return states


def test_given_a_key_to_the_banks_api_then_its_state_follows_and_outlasts_a_restart(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    path = f"/api/admin/tenants/{tenant['id']}/bank-key"
    assert read(api, tenant)["bankApi"] == {"state": "never_set", "since": None, "by": None}
    api.client.put(path, json={"key": KEY}, headers=api.admin)
    was_set = read(api, tenant)["bankApi"]
    assert (was_set["state"], was_set["by"]) == ("set", api.admin["X-Operator"])
    api.client.delete(path, headers=api.admin)
    assert read(api, tenant)["bankApi"]["state"] == "removed"
    keys = api.reloaded_registry().tenancy.bank_keys
    assert keys.last_change(tenant["id"]) == api.registry.tenancy.bank_keys.last_change(tenant["id"])


def test_given_a_program_then_the_replaced_secret_counts_until_its_end(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    (before,) = read(api, tenant)["webhooks"]
    assert before == {
        "programId": program["id"],
        "signatureHeader": "Bank-Signature",
        "webhookEndpointId": None,
        "replacedUntil": None,
    }
    path = f"/api/admin/programs/{program['id']}/ingest-secret"
    answer = api.client.post(path, json={"overlapHours": 2}, headers=api.admin)
    (during,) = read(api, tenant)["webhooks"]
    assert during["replacedUntil"] is not None
    assert answer.json()["secret"] not in str(read(api, tenant))
    api.clock.advance(3 * HOUR_US)
    assert read(api, tenant)["webhooks"] == [before]


def test_given_another_bank_then_its_states_are_its_own(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_tenant("second-bank")
    api.client.put(f"/api/admin/tenants/{other['id']}/bank-key", json={"key": KEY}, headers=api.admin)
    assert read(api, tenant)["bankApi"]["state"] == "never_set"
    assert [each["programId"] for each in read(api, tenant)["webhooks"]] == [program["id"]]
    assert read(api, other)["webhooks"] == []


def test_given_signing_keys_then_readers_of_the_record_have_the_states_and_the_halves_that_are_published(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    assert ADMIN_TOKEN in str(api.admin)
    api.client.post("/api/admin/signing-keys", json={"purpose": "proof"}, headers=api.admin)
    keys = api.client.get("/api/signing-keys", headers=api.operator(tenant)).json()
    states = api.client.get("/api/admin/signing-keys", headers=api.admin).json()
    published = {each["kid"]: each["x"] for each in api.client.get("/.well-known/jwks.json").json()["keys"]}
    assert [{name: value for name, value in each.items() if name != "x"} for each in keys] == states
    assert {each["kid"]: each["x"] for each in keys} == published
    assert {each["state"] for each in keys} == {"announced", "signing"}
