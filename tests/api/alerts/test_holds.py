"""Holds over HTTP: cleared with their reason, appealed, decided by two persons, and warned about."""

from typing import Any, Final

import pytest
from msgspec import json

from tests.support.alerting import ALERTING, alerts_of, appeal, decide, deliver, outgoing, party, read
from tests.support.connector import Assistant
from tests.support.running_app import RunningApp, assert_refused, content_of_201

HELD: Final = "acht_held"


@pytest.fixture
def held(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> dict[str, Any]:
    """The first alert on a wire of a denied entity to Iran, which is in the hold band."""
    deliver(api, program, party("identity", "enti_1", verification_status="DENIED"))
    for number in range(6):
        at = f"2026-02-0{number + 1}T14:00:00Z"
        deliver(api, program, outgoing(f"acht_{number}", at=at, entity_id="enti_1"))
    deliver(api, program, outgoing(HELD, entity_id="enti_1", **ALERTING))
    (alert, *_) = alerts_of(api, tenant, transferId=HELD, status="held")
    assert (alert["bandAtAlert"], alert["evidence"]["autoHold"], alert["hardSignal"]) == ("hold", True, True)
    return alert


def act(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], type_: str, target: tuple[str, str], **over: Any
) -> Any:
    body = {"programId": program["id"], "type": type_, "targetType": target[0], "targetId": target[1]} | over
    return api.client.post("/api/actions", json=body, headers=api.operator(tenant, "ann"))


def cleared(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], **over: Any) -> dict[str, Any]:
    action = content_of_201(act(api, tenant, program, "clear_hold", ("transfer", HELD), **over))
    assert action["status"] == "executed"
    return action


def verified(api: RunningApp, tenant: dict[str, Any]) -> dict[str, Any]:
    report: dict[str, Any] = api.client.get("/api/record/verify", headers=api.operator(tenant)).json()
    return report


@pytest.mark.parametrize("names_alert", [True, False])
def test_given_a_held_alert_when_the_hold_is_cleared_then_it_is_released_and_both_sides_name_each_other(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], held: dict[str, Any], *, names_alert: bool
) -> None:
    over = {"alertId": held["id"]} if names_alert else {}
    action = cleared(api, tenant, program, **over)

    detail = read(api, tenant, held["id"])
    (disposition,) = detail["dispositions"]
    assert (detail["alert"]["status"], disposition["decision"], disposition["decidedBy"]) == (
        "closed",
        "release",
        "operator:ann",
    )
    assert disposition["actionId"] == action["id"]
    assert held["id"] in action["releasedAlertIds"]
    assert [each["id"] for each in detail["actions"]] == [action["id"]]
    listed = api.client.get(f"/api/actions?alertId={held['id']}", headers=api.operator(tenant)).json()["data"]
    assert listed == [action]
    assert alerts_of(api, tenant, transferId=HELD, status="held") == []
    api.clock.advance(90 * 24 * 3_600_000_000)
    overdue = api.client.get("/api/clocks/overdue", headers=api.operator(tenant)).json()["alerts"]
    assert held["id"] not in {each["id"] for each in overdue}
    assert verified(api, tenant)["ok"], verified(api, tenant)


@pytest.mark.parametrize(("decision", "status"), [("close", "closed"), ("no_action", "closed"), ("hold", "held")])
def test_given_an_escalated_alert_when_its_hold_is_cleared_then_the_action_ended_none_and_a_person_decides_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], held: dict[str, Any], decision: str, status: str
) -> None:
    escalation = content_of_201(decide(api, api.operator(tenant), held["id"], "escalate"))

    action = cleared(api, tenant, program, alertId=held["id"])
    assert read(api, tenant, held["id"])["alert"]["status"] == "escalated"
    decided = content_of_201(decide(api, api.operator(tenant), held["id"], decision))

    detail = read(api, tenant, held["id"])
    assert detail["alert"]["status"] == status
    assert held["id"] not in action["releasedAlertIds"]
    assert (escalation["actionId"], decided["actionId"]) == (None, None)
    assert [each["id"] for each in detail["actions"]] == [action["id"]]  # which names the alert, and ended no hold
    warned = [each["actionId"] for each in decided["warnings"]]
    assert warned == ([action["id"]] if decision == "hold" else [])
    assert verified(api, tenant)["ok"], verified(api, tenant)


def test_given_a_transfer_that_no_one_knows_or_an_alert_on_another_when_clearing_then_it_is_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], held: dict[str, Any]
) -> None:
    unknown = act(api, tenant, program, "clear_hold", ("transfer", "acht_of_no_one"))
    assert_refused(unknown, 404, "Unknown transfer on this tenant.")
    assert unknown.json()["code"] == "transfer_not_found"
    (on_transfer, *_) = [each for each in alerts_of(api, tenant, transferId=HELD) if each["subjectType"] == "transfer"]
    other = act(api, tenant, program, "clear_hold", ("transfer", "acht_1"), alertId=on_transfer["id"])
    assert_refused(other, 400, "alertId must be of an alert on the transfer")
    assert other.json()["fields"] == [{"path": "alertId", "code": "conflicting"}]
    assert api.client.get("/api/actions", headers=api.operator(tenant)).json()["data"] == []
    assert read(api, tenant, held["id"])["alert"]["status"] == "held"


def test_given_a_key_without_a_person_when_it_clears_a_held_alert_then_it_is_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], held: dict[str, Any]
) -> None:
    body = {"programId": program["id"], "type": "clear_hold", "targetType": "transfer", "targetId": HELD}
    refused = api.client.post("/api/actions", json=body, headers=api.key(tenant, scopes=["actions"]))

    assert (refused.status_code, refused.json()["code"]) == (400, "person_required")
    assert read(api, tenant, held["id"])["alert"]["status"] == "held"


def test_given_a_released_hold_when_appealed_then_the_appeal_is_held_and_cleared_like_any(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], held: dict[str, Any]
) -> None:
    content_of_201(decide(api, api.operator(tenant), held["id"], "release"))
    appealed = content_of_201(appeal(api, api.operator(tenant), held["id"]))

    assert (appealed["status"], appealed["evidence"]["autoHold"], appealed["slaTier"]) == ("held", True, "appeal")
    action = cleared(api, tenant, program)
    assert appealed["id"] in action["releasedAlertIds"]
    assert read(api, tenant, appealed["id"])["alert"]["status"] == "closed"
    assert verified(api, tenant)["ok"], verified(api, tenant)


def test_given_a_short_narrative_on_a_hard_alert_when_decided_then_400_names_the_field(
    api: RunningApp, tenant: dict[str, Any], held: dict[str, Any]
) -> None:
    refused = decide(api, api.operator(tenant), held["id"], "release", f"   {'x' * 19}   ")

    assert_refused(refused, 400, "narrative must have the characters that minNarrativeChars")
    assert refused.json()["fields"] == [{"path": "narrative", "code": "too_short"}]
    assert decide(api, api.operator(tenant), held["id"], "release", "x" * 20).status_code == 201


def test_given_executed_actions_when_a_decision_contradicts_them_then_every_reader_sees_the_warning(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], held: dict[str, Any]
) -> None:
    action = content_of_201(act(api, tenant, program, "cancel_transfer", ("transfer", HELD)))
    arguments = {"alertId": held["id"], "decision": "release", "narrative": "Their papers explain it all."}
    signed = Assistant(api, api.operator(tenant, "ann")).call("decide_alert", **arguments)["disposition"]

    (warning,) = signed["warnings"]
    assert (warning["actionId"], warning["type"], warning["targetId"]) == (action["id"], "cancel_transfer", HELD)
    assert action["id"] in warning["sentence"]
    detail = read(api, tenant, held["id"])
    assert detail["dispositions"][0]["warnings"] == [warning]
    listed = api.client.get("/api/dispositions", headers=api.operator(tenant)).json()["data"]
    assert listed[0]["warnings"] == [warning]
    export = api.client.get("/api/record/export", headers=api.operator(tenant)).content
    lines = [json.decode(line) for line in export.splitlines()]
    assert [line["body"]["warnings"] for line in lines if line["chain"] == "dispositions"] == [[warning]]
    assert verified(api, tenant)["ok"], verified(api, tenant)


def test_given_a_policy_that_asks_for_two_persons_when_a_hard_alert_is_released_then_it_waits_for_the_second(
    api: RunningApp, tenant: dict[str, Any], held: dict[str, Any]
) -> None:
    headers = api.operator(tenant, "ann")
    (policy,) = api.client.get("/api/policies?prefix=policy&active=true", headers=headers).json()
    assert policy["body"]["minNarrativeChars"] == {"hard": 20, "high": 0, "medium": 0, "low": 0}
    assert policy["body"]["hardNeedsSecondPerson"] is False
    body = policy["body"] | {"version": "policy-v2", "hardNeedsSecondPerson": True}
    written = content_of_201(
        api.client.post("/api/policies", json={"version": "policy-v2", "body": body}, headers=headers)
    )
    requested = content_of_201(
        api.client.post(f"/api/policies/{written['id']}/activate", json={"note": "Two."}, headers=headers)
    )
    approve = f"/api/actions/{requested['id']}/approve"
    assert api.client.post(approve, headers=api.operator(tenant, "bob")).json()["status"] == "executed"
    api.catch_up()

    waiting = decide(api, headers, held["id"], "release")

    assert waiting.status_code == 202, waiting.text
    assert (waiting.json()["type"], waiting.json()["status"]) == ("decide_alert", "requested")
    assert waiting.json()["change"]["decision"] == "release"
    detail = read(api, tenant, held["id"])
    assert (detail["alert"]["status"], detail["dispositions"], detail["actions"]) == ("held", [], [waiting.json()])
    pending = api.client.get("/api/actions?status=requested&type=decide_alert", headers=headers).json()["data"]
    assert pending == [waiting.json()]
    assert decide(api, headers, held["id"], "close").json()["code"] == "change_pending"
    path = f"/api/actions/{waiting.json()['id']}/approve"
    assert api.client.post(path, headers=api.operator(tenant, "Ann")).json()["status"] == "refused"
    arguments = {"alertId": held["id"], "decision": "close", "narrative": "Their papers explain it all."}
    again = Assistant(api, api.operator(tenant, "ann")).call("decide_alert", **arguments)
    assert (again["disposition"], again["action"]["status"]) == (None, "requested")
    path = f"/api/actions/{again['action']['id']}/approve"
    assert api.client.post(path, headers=api.operator(tenant, "bob")).json()["status"] == "executed"
    (disposition,) = read(api, tenant, held["id"])["dispositions"]
    assert disposition["actionId"] == again["action"]["id"]
    assert read(api, tenant, held["id"])["alert"]["status"] == "closed"
    assert verified(api, tenant)["ok"], verified(api, tenant)


@pytest.mark.parametrize(
    ("over", "path"),
    [
        ({"minNarrativeChars": {"hard": -1}}, "body.minNarrativeChars.hard"),
        ({"minNarrativeChars": {"hard": 8_001}}, "body.minNarrativeChars.hard"),
        ({"minNarrativeChars": {"worst": 5}}, "body.minNarrativeChars.worst"),
        ({"minNarrativeChars": 20}, "body.minNarrativeChars"),
        ({"hardNeedsSecondPerson": "yes"}, "body.hardNeedsSecondPerson"),
        ({"hardNeedsSecondPerson": None}, "body.hardNeedsSecondPerson"),
    ],
)
def test_given_a_policy_whose_new_fields_are_wrong_when_written_then_400_names_them(
    api: RunningApp, tenant: dict[str, Any], over: dict[str, Any], path: str
) -> None:
    headers = api.operator(tenant)
    (policy,) = api.client.get("/api/policies?prefix=policy&active=true", headers=headers).json()
    body = {"version": "policy-v2", "body": policy["body"] | {"version": "policy-v2"} | over}
    refused = api.client.post("/api/policies", json=body, headers=headers)

    assert refused.status_code == 400, refused.text
    assert [each["path"] for each in refused.json()["fields"]] == [path]
