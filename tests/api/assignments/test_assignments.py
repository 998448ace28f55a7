"""Alerts assigned to persons over HTTP: shown and filtered everywhere, one entry for several, and no lock."""

from typing import Any, Final

import httpx
import pytest

from clearhold.api.log import commands as committed
from clearhold.features.core.log_entry import EntryKind
from tests.support.alerting import alerts_of, an_alert, assign, decide, read
from tests.support.running_app import RunningApp, assert_refused, content_of_201

UNKNOWN: Final = "00000000-0000-4000-8000-000000000000"
SECOND_US: Final = 1_000_000


def assign_many(
    api: RunningApp, headers: dict[str, str], alert_ids: list[str], assignee: str | None = "ann"
) -> httpx.Response:
    return api.client.post("/api/alerts/assign", json={"alertIds": alert_ids, "assignee": assignee}, headers=headers)


def listed(api: RunningApp, tenant: dict[str, Any], path: str, **query: Any) -> list[dict[str, Any]]:
    answer = api.client.get(path, params={"limit": 100} | query, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


def entries(api: RunningApp) -> int:
    return sum(entry.kind == EntryKind.ASSIGN for entry in api.entries())


def three(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> list[str]:
    return [
        an_alert(api, tenant, program, f"acht_{number}", bank_account_id=f"bacc_{number}")["id"] for number in range(3)
    ]


def test_given_an_alert_when_assigned_then_every_reading_of_it_says_so_and_nothing_else_changes(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    assert alert["assignee"] is None

    made = content_of_201(assign(api, api.operator(tenant, "bob"), alert["id"].upper(), "  Ann   Lee "))

    expected = {"alertId": alert["id"], "assignee": "Ann Lee", "assignedBy": "bob", "identity": "claimed"}
    assert {name: made[name] for name in expected} == expected
    detail = read(api, tenant, alert["id"])
    assert detail["alert"] == alert | {"assignee": "Ann Lee"}
    assert detail["assignments"] == [made]
    (found,) = alerts_of(api, tenant, assignee="ANN LEE")
    assert found == detail["alert"]
    (summary,) = listed(api, tenant, "/api/alerts/summaries", assignee="ann lee")
    assert (summary["id"], summary["assignee"]) == (alert["id"], "Ann Lee")
    (stack,) = listed(api, tenant, "/api/stacks", assignee="ann lee")
    assert alert["id"] in stack["alertIds"]
    assert (stack["assignees"], stack["unassigned"]) == (["Ann Lee"], stack["size"] - 1)
    (of_stack,) = [
        each
        for each in api.client.get(f"/api/stacks/{stack['id']}", headers=api.operator(tenant)).json()["alerts"]
        if each["id"] == alert["id"]
    ]
    assert of_stack == summary
    exported = api.client.get("/api/alerts/export?assignee=ann%20lee", headers=api.operator(tenant)).text.splitlines()
    assert len(exported) == 1
    assert httpx.Response(200, text=exported[0]).json()["assignee"] == "Ann Lee"
    assert api.client.get("/api/record/verify", headers=api.operator(tenant)).json()["ok"]


@pytest.mark.parametrize("statuses", ["open,held,escalated", "open,held,escalated,closed,auto_closed", ""])
def test_given_several_persons_then_each_filter_finds_its_alerts_in_every_list(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], statuses: str
) -> None:
    one, other, third = three(api, tenant, program)
    everyone = {alert["id"] for alert in alerts_of(api, tenant)}
    # The first read of waiting alerts is before some of the assignments, and after others.
    content_of_201(assign(api, api.operator(tenant), one, "ann"))
    listed(api, tenant, "/api/alerts/summaries", status="open")
    content_of_201(assign(api, api.operator(tenant), other, "Bob"))
    content_of_201(assign(api, api.operator(tenant), third, "ann"))
    content_of_201(assign(api, api.operator(tenant), third, None))

    expected = {
        "ann": {one},
        "BOB": {other},
        "bob,ann": {one, other},
        "none": everyone - {one, other},
        "None,ann": everyone - {other},
        "carol": set(),
    }
    query = {"status": statuses} if statuses else {}
    for assignee, ids in expected.items():
        for path in ("/api/alerts", "/api/alerts/summaries"):
            assert {each["id"] for each in listed(api, tenant, path, assignee=assignee, **query)} == ids, assignee
        stacks = listed(api, tenant, "/api/stacks", assignee=assignee, **query)
        assert {each for stack in stacks for each in stack["alertIds"]} >= ids
        assert {stack["id"] for stack in stacks} == _stacks_of(api, tenant, ids)


def _stacks_of(api: RunningApp, tenant: dict[str, Any], ids: set[str]) -> set[str]:
    return {alert["stackId"] for alert in alerts_of(api, tenant) if alert["id"] in ids}


def test_given_alerts_assigned_before_the_lists_are_first_read_then_they_are_found(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    one, other, _ = three(api, tenant, program)
    for name, alert_id in (("bob", one), ("ann", one), ("ann", other)):
        content_of_201(assign(api, api.operator(tenant), alert_id, name))

    api.restart()

    found = listed(api, tenant, "/api/alerts/summaries", status="open", assignee="ann")
    assert {each["id"] for each in found} == {one, other}
    assert listed(api, tenant, "/api/alerts/summaries", status="open", assignee="bob") == []


def test_given_an_assigned_alert_that_is_closed_and_appealed_then_it_stays_assigned_and_the_appeal_is_not(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    content_of_201(assign(api, api.operator(tenant), alert["id"], "ann"))

    content_of_201(decide(api, api.operator(tenant, "bob"), alert["id"]))  # no lock
    body = {"reason": "It was not."}
    appealed = content_of_201(
        api.client.post(f"/api/alerts/{alert['id']}/appeal", json=body, headers=api.operator(tenant))
    )

    assert appealed["assignee"] is None
    assert read(api, tenant, alert["id"])["alert"]["assignee"] == "ann"
    assert [each["id"] for each in alerts_of(api, tenant, assignee="ann", status="closed")] == [alert["id"]]
    assert alerts_of(api, tenant, assignee="ann", status="open") == []
    content_of_201(assign(api, api.operator(tenant), alert["id"], "carol"))
    assert read(api, tenant, alert["id"])["alert"]["assignee"] == "carol"


def test_given_assignments_one_after_another_then_the_last_counts_and_the_history_is_shown(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    made = []
    for name in ("ann", "bob", None, "ann", "carol"):
        api.clock.advance(SECOND_US)
        made.append(content_of_201(assign(api, api.operator(tenant), alert["id"], name)))

    detail = read(api, tenant, alert["id"])

    assert (detail["assignments"], detail["alert"]["assignee"]) == (made, "carol")


def test_given_a_stack_when_its_alerts_are_assigned_then_it_is_one_entry(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    ids = three(api, tenant, program)
    headers = api.operator(tenant) | {"Idempotency-Key": "several"}

    first, again = (assign_many(api, headers, [*ids, UNKNOWN, ids[0]]) for _ in range(2))
    other = assign_many(api, headers, ids, "bob")

    content = first.json()
    assert first.status_code == 200
    assert (content["assignee"], content["assigned"], content["refused"]) == ("ann", 3, 1)
    assert [(each["alertId"], each["result"]) for each in content["results"]] == [
        *((each, "assigned") for each in ids),
        (UNKNOWN, "refused"),
    ]
    assert content["results"][-1]["error"]["code"] == "alert_not_found"
    assert again.json() == content
    assert_refused(other, 409)
    assert entries(api) == 1
    assert {each["id"] for each in alerts_of(api, tenant, assignee="ann")} == set(ids)
    assert assign_many(api, api.operator(tenant), ids, None).json()["assigned"] == 3
    assert alerts_of(api, tenant, assignee="ann") == []


def test_given_alerts_of_two_programs_and_of_another_tenant_then_an_entry_for_each_program_and_none_of_the_other(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending, other = api.create_program(tenant, slug="lending"), api.create_tenant("second-bank")
    theirs = api.create_program(other, slug="theirs")
    ids = [an_alert(api, tenant, each)["id"] for each in (program,)]
    ids += [an_alert(api, tenant, lending, "acht_2")["id"], an_alert(api, other, theirs, "acht_3")["id"]]

    content = assign_many(api, api.operator(tenant), ids).json()

    assert [each["result"] for each in content["results"]] == ["assigned", "assigned", "refused"]
    assert entries(api) == 2
    assert alerts_of(api, other, assignee="ann") == []
    key = api.key(tenant, programId=lending["id"])
    of_key = assign_many(api, key | {"X-Operator": "ann"}, ids, "bob").json()
    assert [each["result"] for each in of_key["results"]] == ["refused", "assigned", "refused"]


@pytest.mark.parametrize(
    "assignee", ["", "   ", "none", " NONE ", "key:abc", "Operator: ann", "policy:v1", "añn", "a\nb", "x" * 129, 7]
)
def test_given_a_name_that_nobody_can_have_then_it_is_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], assignee: Any
) -> None:
    alert = an_alert(api, tenant, program)

    for answer in (
        assign(api, api.operator(tenant), alert["id"], assignee),
        assign_many(api, api.operator(tenant), [alert["id"]], assignee),
    ):
        assert_refused(answer, 400, "assignee")
    assert entries(api) == 0


@pytest.mark.parametrize("body", [None, {}, {"assignee": "ann", "by": "bob"}])
def test_given_no_assignee_then_it_is_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], body: Any
) -> None:
    alert = an_alert(api, tenant, program)

    answer = api.client.post(f"/api/alerts/{alert['id']}/assign", json=body, headers=api.operator(tenant))

    assert_refused(answer, 400)


def test_given_too_many_alerts_or_none_then_it_is_refused(api: RunningApp, tenant: dict[str, Any]) -> None:
    for ids in ([], [UNKNOWN] * 201, ["no uuid"]):
        assert_refused(assign_many(api, api.operator(tenant), ids), 400, "alertIds")


def test_given_an_alert_that_is_not_there_or_of_another_tenant_or_no_scope_then_it_is_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert, other = an_alert(api, tenant, program), api.create_tenant("second-bank")
    reading = api.key(tenant, scopes=["alerts:read"])

    assert_refused(assign(api, api.operator(tenant), UNKNOWN, "ann"), 404, "Unknown alert on this tenant.")
    assert_refused(assign(api, api.operator(other), alert["id"], "ann"), 404, "Unknown alert on this tenant.")
    assert_refused(assign(api, reading, alert["id"], "ann"), 403, "alerts:decide")
    assert_refused(assign_many(api, reading, [alert["id"]]), 403, "alerts:decide")
    assert entries(api) == 0


def test_given_a_persons_own_token_then_the_name_of_the_one_who_assigns_is_certain_and_the_assignee_is_free(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    body = {"name": "Ann Lee", "expiresAt": "2026-06-01"}
    path = f"/api/admin/tenants/{tenant['id']}/operator-tokens"
    token = content_of_201(api.client.post(path, json=body, headers=api.admin))["token"]

    made = content_of_201(assign(api, {"Authorization": f"Bearer {token}"}, alert["id"], "bob"))

    assert (made["assignee"], made["assignedBy"], made["identity"]) == ("bob", "Ann Lee", "person")


def test_given_a_flow_that_stands_still_then_503_and_the_repeat_finds_it_made_once(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    alert = an_alert(api, tenant, program)
    headers = api.operator(tenant) | {"Idempotency-Key": "late"}
    monkeypatch.setattr(committed, "COMMITTED_WITHIN_S", 0.05)

    api.appender.stands_still = True
    refused = assign_many(api, headers, [alert["id"]])
    api.appender.stands_still = False
    api.catch_up()
    content_of_201(assign(api, api.operator(tenant), alert["id"], "bob"))
    content = assign_many(api, headers, [alert["id"]]).json()

    assert_refused(refused, 503, "Idempotency-Key")
    assert (content["assigned"], content["refused"]) == (1, 0)
    assert read(api, tenant, alert["id"])["alert"]["assignee"] == "bob"
    assert len(read(api, tenant, alert["id"])["assignments"]) == 2


def test_given_simulated_money_then_its_assignments_say_so(api: RunningApp, tenant: dict[str, Any]) -> None:
    simulated = api.create_program(tenant, slug="simulated", source="simulated")
    alert = an_alert(api, tenant, simulated)

    assert content_of_201(assign(api, api.operator(tenant), alert["id"], "ann"))["simulated"] is True
