"""Reading a counterparty: what transfers and the bank's own object say of it, and whose it is."""

from typing import Any

from tests.support.alerting import deliver, outgoing, party
from tests.support.running_app import RunningApp, assert_refused


def read(api: RunningApp, tenant: dict[str, Any], counterparty_id: str, **query: Any) -> Any:
    return api.client.get(f"/api/counterparties/{counterparty_id}", params=query or None, headers=api.operator(tenant))


def test_given_only_a_transfer_when_read_then_it_was_first_seen_with_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1"), outgoing("acht_2", at="2026-03-02T15:00:00Z"))

    assert read(api, tenant, "cpty_1").json() == {
        "id": "cpty_1",
        "tenantId": tenant["id"],
        "programId": program["id"],
        "name": None,
        "routingNumber": None,
        "accountLast4": None,
        "countryCode": None,
        "earlierAccounts": [],
        "raw": {},
        "firstSeenAt": "2026-03-02T14:00:00.000Z",
    }


def test_given_the_banks_object_and_then_a_transfer_when_read_then_both_are_in_it_and_raw_is_masked(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    details = {"name": "Example Supplies", "routing_number": "121145307", "account_number": "000123456789"}
    deliver(api, program, party("counterparty", "cpty_1", at="2026-03-02T13:00:00Z", **details))
    before = read(api, tenant, "cpty_1").json()
    deliver(api, program, outgoing("acht_1"))

    after = read(api, tenant, "cpty_1").json()

    assert before["firstSeenAt"] == "2026-03-02T13:00:00.000Z"
    assert after["firstSeenAt"] == "2026-03-02T14:00:00.000Z"
    assert before | {"firstSeenAt": None} == after | {"firstSeenAt": None}
    assert (after["name"], after["routingNumber"], after["accountLast4"]) == ("Example Supplies", "121145307", "6789")
    assert after["raw"]["account_number"] == "6789"


def test_given_one_id_in_two_programs_when_read_then_a_program_must_be_named(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    deliver(api, program, outgoing("acht_1"))
    deliver(api, lending, outgoing("acht_2"))

    assert_refused(read(api, tenant, "cpty_1"), 400, "name one in programId")
    assert read(api, tenant, "cpty_1", programId=lending["id"]).json()["programId"] == lending["id"]


def test_given_another_tenants_counterparty_when_read_then_404(api: RunningApp, program: dict[str, Any]) -> None:
    deliver(api, program, outgoing("acht_1"))
    other = api.create_tenant("second-bank")

    assert_refused(read(api, other, "cpty_1"), 404, "Unknown counterparty on this tenant.")
    assert_refused(read(api, other, "cpty_1", programId=program["id"]), 404, "Unknown program on this tenant.")
