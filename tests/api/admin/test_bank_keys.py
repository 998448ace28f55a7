"""A tenant's key to the bank's API: test keys only, sealed in the log, and never shown again."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from clearhold.api.admin.schemas import NewBankKey
from clearhold.features.core.errors import RiskError
from tests.support.running_app import RunningApp, assert_refused

KEY = "test_of_the_first_bank"


def put(api: RunningApp, tenant: dict[str, Any], key: Any = KEY, **headers: str) -> Any:
    path = f"/api/admin/tenants/{tenant['id']}/bank-key"
    return api.client.put(path, json={"key": key}, headers=api.admin | headers)


def remove(api: RunningApp, tenant: dict[str, Any], **headers: str) -> Any:
    return api.client.delete(f"/api/admin/tenants/{tenant['id']}/bank-key", headers=api.admin | headers)


def stored(api: RunningApp, tenant: dict[str, Any]) -> str | None:
    """As the next process would find it."""
    assert api.registry.tenancy.bank_keys.tenants() == api.reloaded_registry().tenancy.bank_keys.tenants()
    return api.reloaded_registry().tenancy.bank_keys.of_tenant(tenant["id"])


def test_given_a_test_key_when_put_then_it_is_stored_sealed_and_shown_nowhere(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    with capture_logs() as logs:
        answer = put(api, tenant)

    assert answer.status_code == 204
    assert answer.content == b""
    assert stored(api, tenant) == KEY
    assert [line["event"] for line in logs] == ["bank_key_set"]
    assert KEY not in repr(logs)
    assert KEY not in repr([*api.reader.control()])
    assert KEY not in repr(NewBankKey(key=KEY))


def test_given_a_key_when_another_is_put_then_it_is_replaced_and_when_removed_then_it_is_gone(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    put(api, tenant)
    put(api, tenant, "test-second-key")
    second = stored(api, tenant)
    answers = [remove(api, tenant).status_code for _ in range(2)]

    assert second == "test-second-key"
    assert answers == [204, 204]
    assert stored(api, tenant) is None


def test_given_a_key_that_was_put_or_removed_when_repeated_then_the_204_has_no_body_and_no_headers_of_one(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    for send in (put, remove):
        first, again = (send(api, tenant, **{"Idempotency-Key": "once"}) for _ in range(2))

        assert (first.status_code, again.status_code, again.content) == (204, 204, b"")
        assert again.headers["idempotent-replayed"] == "true"
        assert not [each.headers for each in (first, again) if {"content-length", "content-type"} & set(each.headers)]


@pytest.mark.parametrize("key", ["live_of_the_first_bank", "live-0123456789", "prod_0123456789", "LIVE_0123456789"])
def test_given_a_live_key_when_put_then_400_says_so_and_nothing_is_stored(
    api: RunningApp, tenant: dict[str, Any], key: str
) -> None:
    answer = put(api, tenant, key)

    assert_refused(answer, 400, "live keys are refused")
    assert key not in answer.text
    assert stored(api, tenant) is None


@pytest.mark.parametrize(
    "key", ["", "test_12", "test_" + "x" * 196, "test_ 12345", "test_12345\n", "test_1234é", "sandbox_12345", 7, None]
)
def test_given_a_bad_key_when_put_then_400(api: RunningApp, tenant: dict[str, Any], key: Any) -> None:
    assert_refused(put(api, tenant, key), 400, "key must")
    assert stored(api, tenant) is None


@pytest.mark.parametrize("key", ["test_123", "test_" + "x" * 195])
def test_given_the_shortest_and_the_longest_key_when_put_then_204(
    api: RunningApp, tenant: dict[str, Any], key: str
) -> None:
    assert put(api, tenant, key).status_code == 204
    assert stored(api, tenant) == key


def test_given_an_unknown_tenant_when_a_key_is_put_or_removed_then_404(api: RunningApp) -> None:
    nobody = {"id": "11111111-1111-4111-8111-111111111111"}

    assert_refused(put(api, nobody), 404, "Unknown tenant.")
    assert_refused(remove(api, nobody), 404, "Unknown tenant.")


def test_given_a_tenants_own_token_when_a_key_is_put_then_401(api: RunningApp, tenant: dict[str, Any]) -> None:
    path = f"/api/admin/tenants/{tenant['id']}/bank-key"

    assert_refused(api.client.put(path, json={"key": KEY}, headers=api.operator(tenant)), 401)
    assert_refused(api.client.delete(path, headers=api.operator(tenant)), 401)


def test_given_an_idempotency_key_when_repeated_then_the_answer_is_replayed_and_the_effect_is_one(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    once = {"Idempotency-Key": "set once"}
    answers = [put(api, tenant, **once) for _ in range(2)]
    entries = [kind for _, _, kind, _, _ in api.reader.control() if kind == "bank_key"]

    assert [answer.status_code for answer in answers] == [204, 204]
    assert answers[1].headers["Idempotent-Replayed"] == "true"
    assert len(entries) == 1


def test_given_an_effect_that_is_in_the_log_when_carried_out_again_then_a_newer_key_stays(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    async def store(key: str, effect_id: str | None) -> None:
        await api.stores.credentials.set_bank_key(tenant["id"], key, operator="root", effect_id=effect_id)

    async def removal() -> None:
        await api.stores.credentials.remove_bank_key(tenant["id"], operator="root", effect_id="the first")

    api.on_loop(lambda: store("test_first", "the first"))
    api.on_loop(lambda: store("test_second", None))
    api.on_loop(lambda: store("test_first", "the first"))
    api.on_loop(removal)

    assert stored(api, tenant) == "test_second"


def test_given_an_unknown_tenant_when_the_registry_is_asked_then_it_is_refused(api: RunningApp) -> None:
    async def store() -> None:
        await api.stores.credentials.set_bank_key("nobody", KEY, operator="root")

    with pytest.raises(RiskError):
        api.on_loop(store)
