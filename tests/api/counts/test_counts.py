"""Numbers of waiting alerts and approvals: those of the lists, without reading a list."""

from collections import Counter
from typing import Any

from tests.support.alerting import alerts_of, an_alert, decide, outgoing
from tests.support.running_app import RunningApp, assert_refused

HOUR_US = 3_600_000_000


def counts(api: RunningApp, headers: dict[str, str], query: str = "") -> dict[str, Any]:
    answer = api.client.get(f"/api/counts{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_given_alerts_in_several_states_when_counted_then_the_numbers_are_those_of_the_lists(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    headers = api.operator(tenant)
    lending = api.create_program(tenant, slug="lending")
    first = counts(api, headers)
    ids = [an_alert(api, tenant, program, f"acht_{number}")["id"] for number in range(4)]
    an_alert(api, tenant, lending, "acht_l", bank_account_id="bacc_l", counterparty_id="cpty_l")
    for alert_id, decision in zip(ids, ("close", "hold", "escalate"), strict=False):
        assert decide(api, headers, alert_id, decision).status_code == 201
    api.clock.advance(22 * HOUR_US)

    soon = counts(api, headers)
    api.clock.advance(3 * HOUR_US)
    late = counts(api, headers)

    assert (first["waiting"], first["byProgram"], first["approvals"]) == (0, [], 0)
    waiting = alerts_of(api, tenant, status="open,held,escalated")
    assert soon["waiting"] == len(waiting) > 3
    assert soon["byStatus"] == {"open": 0, "held": 0, "escalated": 0} | Counter(each["status"] for each in waiting)
    tiers = Counter(each["slaTier"] for each in waiting)
    assert soon["byTier"] == {"auto": 0, "standard": 0, "complex": 0, "appeal": 0} | tiers
    bands = Counter(each["bandAtAlert"] or "none" for each in waiting)
    assert soon["byBand"] == {"clear": 0, "review": 0, "hold": 0, "unscored": 0, "none": 0} | bands
    assert {each["programId"]: each["waiting"] for each in soon["byProgram"]} == Counter(
        each["programId"] for each in waiting
    )
    overdue = alerts_of(api, tenant, overdue="true")
    assert (soon["overdue"], soon["dueSoon"]) == (0, len(overdue))
    assert (late["overdue"], late["dueSoon"]) == (len(overdue), 0)
    assert sum(each["overdue"] for each in late["byProgram"]) == len(overdue) > 0
    listed = api.client.get("/api/stacks?limit=100", headers=headers).json()["data"]
    due = [stack["dueAt"] for stack in listed]
    assert first["stacks"] == 0
    assert soon["stacks"] == len(due) > 1
    assert (soon["stacksOverdue"], soon["stacksDueSoon"]) == (0, len(list(filter(None, due))))
    assert (late["stacksOverdue"], late["stacksDueSoon"]) == (len(list(filter(None, due))), 0)
    of_one = counts(api, headers, f"?programId={lending['id']}")
    assert 0 < of_one["stacks"] < soon["stacks"]
    assert [each["programId"] for each in of_one["byProgram"]] == [lending["id"]]
    assert of_one["waiting"] == of_one["byProgram"][0]["waiting"]


def test_given_requested_actions_when_counted_then_those_that_wait_for_an_approver_are(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    headers = api.operator(tenant)
    body = {"kind": "per_transaction", "capCents": "9999", "note": "A cap."}
    change = api.client.post(f"/api/limits/program/{program['id']}", json=body, headers=headers)
    assert change.status_code == 201, change.text

    waiting = counts(api, headers)["approvals"]
    elsewhere = counts(api, headers, f"?programId={api.create_program(tenant, slug='lending')['id']}")["approvals"]
    approved = api.client.post(f"/api/actions/{change.json()['id']}/approve", headers=api.operator(tenant, "bob"))

    assert approved.status_code == 200, approved.text
    assert (waiting, elsewhere, counts(api, headers)["approvals"]) == (1, 0, 0)


def test_given_other_tenants_and_narrow_keys_when_counted_then_each_has_its_own_only(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    an_alert(api, tenant, program)
    other = api.create_tenant("second-bank")

    assert counts(api, api.operator(tenant))["waiting"] > 0
    assert counts(api, api.operator(other))["waiting"] == 0
    assert counts(api, api.key(tenant, programId=lending["id"]))["waiting"] == 0
    assert counts(api, api.key(tenant, programId=program["id"]))["waiting"] > 0
    assert_refused(api.client.get("/api/counts?status=open", headers=api.operator(tenant)), 400, "status")


def test_given_simulated_programs_when_counted_then_they_are_counted_where_they_are_named_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    simulated = api.create_program(tenant, slug="sim", source="simulated")
    api.catch_up()
    assert api.deliver(simulated, outgoing("acht_s", beneficiary_address={"country_code": "IR"})).status_code == 200
    api.catch_up()
    headers = api.operator(tenant)

    of_bank, named = counts(api, headers), counts(api, headers, f"?programId={simulated['id']}")

    assert (of_bank["waiting"], "simulated" in of_bank) == (0, False)
    assert (named["waiting"] > 0, named["simulated"], named["byProgram"][0]["simulated"]) == (True, True, True)
    both = api.client.get(f"/api/counts?programId={simulated['id']},{program['id']}", headers=headers)
    assert_refused(both, 400, "programId")
