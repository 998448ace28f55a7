"""The owner of an account, told by the platform: through the log, once, and shown on the account's transfers."""

from typing import Any

import pytest
from msgspec import json

from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.running_app import RunningApp, assert_refused


@pytest.fixture
def three(api: RunningApp, program: dict[str, Any]) -> None:
    """Three transfers of an account whose owner is not known, and one of another account."""
    for number, account in enumerate(("bacc_1", "bacc_1", "bacc_1", "bacc_2")):
        data = bank.a_wire(id=f"wire_{number}", bank_account_id=account, created_at=bank.rfc3339(T0 + number))
        data.pop("entity_id", None)
        event = {"id": f"evnt_{number}", "created_at": bank.rfc3339(T0), "type": "wire.outgoing_transfer.completed"}
        assert api.deliver(program, json.encode(event | {"data": data})).status_code == 200
    api.catch_up()


def tell(api: RunningApp, program: dict[str, Any], account: str = "bacc_1", **body: Any) -> Any:
    path = f"/api/admin/programs/{program['id']}/accounts/{account}"
    return api.client.put(path, json=body or {"entityId": "enti_1"}, headers=api.admin)


def listed(api: RunningApp, tenant: dict[str, Any], **query: Any) -> dict[str, str | None]:
    answer = api.client.get("/api/transfers", params=query, headers=api.operator(tenant))
    return {each["id"]: each["entityId"] for each in answer.json()["data"]}


@pytest.mark.usefixtures("three")
def test_given_an_owner_told_late_when_transfers_are_read_then_they_show_it_and_are_found_by_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    told = tell(api, program)
    of_account = {"wire_0": "enti_1", "wire_1": "enti_1", "wire_2": "enti_1"}

    read = api.client.get("/api/transfers/wire_1", params={"programId": program["id"]}, headers=api.operator(tenant))

    assert told.status_code == 200
    assert told.json() == {
        "programId": program["id"],
        "accountId": "bacc_1",
        "entityId": "enti_1",
        "toldBy": "operator:root",
        "toldAt": told.json()["toldAt"],
    }
    assert read.json()["entityId"] == "enti_1"
    assert listed(api, tenant) == of_account | {"wire_3": None}
    assert listed(api, tenant, entityId="enti_1") == of_account
    assert listed(api, tenant, entityId="enti_2") == {}


@pytest.mark.usefixtures("three")
def test_given_another_owner_told_later_when_transfers_are_read_then_they_are_still_the_first_owners(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    tell(api, program)
    tell(api, program, entityId="enti_2")

    assert listed(api, tenant, entityId="enti_2") == {}
    assert len(listed(api, tenant, entityId="enti_1")) == 3


@pytest.mark.usefixtures("three")
def test_given_an_owner_told_when_an_account_is_asked_about_then_its_owner_answers(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    tell(api, program)
    transfer = {"rail": "wire", "direction": "outgoing", "amountCents": "10000", "counterpartyId": "cpty_1"}
    asked = [
        api.client.post(
            "/api/preflight",
            json={"programId": program["id"], "transfer": transfer | {"entityId": named}},
            headers=api.operator(tenant),
        ).json()
        for named in ("bacc_1", "enti_1")
    ]

    assert asked[0]["n"] == asked[1]["n"] > 0


def test_given_a_program_that_is_not_there_when_an_owner_is_told_then_404(api: RunningApp) -> None:
    assert_refused(
        tell(api, {"id": "11111111-1111-4111-8111-111111111111"}), 404, "Unknown program: no tenant has one of this id."
    )


@pytest.mark.parametrize("body", [{"entityId": ""}, {"entityId": None}, {"owner": "enti_1"}, {"entityId": "a\u0000"}])
def test_given_a_body_that_names_nobody_when_an_owner_is_told_then_400(
    api: RunningApp, program: dict[str, Any], body: dict[str, Any]
) -> None:
    assert tell(api, program, **body).status_code == 400


def test_given_a_tenants_token_when_an_owner_is_told_then_401(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    path = f"/api/admin/programs/{program['id']}/accounts/bacc_1"

    assert_refused(api.client.put(path, json={"entityId": "enti_1"}, headers=api.operator(tenant)), 401)
