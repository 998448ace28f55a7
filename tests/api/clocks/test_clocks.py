"""What waits although its time to decide ran out."""

from typing import Any

import pytest
from msgspec import json

from clearhold.api.clocks import routes
from tests.support.alerting import DETECTOR, alerts_of, an_alert, decide
from tests.support.running_app import RunningApp

HOUR_US = 3_600_000_000


def overdue(api: RunningApp, headers: dict[str, str]) -> dict[str, Any]:
    answer = api.client.get("/api/clocks/overdue", headers=headers)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_given_nothing_that_waits_when_asked_then_there_is_none_and_the_clocks_are_told(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    assert overdue(api, api.operator(tenant)) == {
        "asOf": "2026-03-02T15:00:00.000Z",
        "policy": {"autoHours": 1.0, "standardHours": 24.0, "complexHours": 72.0, "appealHours": 72.0},
        "count": 0,
        "alerts": [],
    }


def test_given_alerts_when_their_time_runs_out_then_those_that_wait_come_oldest_due_first(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    alerts = {}
    for name in ("closed", "held", "escalated", "open", "later"):
        alerts[name] = an_alert(api, tenant, program, f"acht_{name}")["id"]
        api.clock.advance(HOUR_US)
    for name, decision in (("closed", "close"), ("held", "hold"), ("escalated", "escalate")):
        assert decide(api, api.operator(tenant), alerts[name], decision).status_code == 201
    names = {alert_id: name for name, alert_id in alerts.items()}
    api.clock.advance(22 * HOUR_US + HOUR_US // 2)

    found = overdue(api, api.operator(tenant))

    ours = [names[each["id"]] for each in found["alerts"] if each["detector"] == DETECTOR]
    assert ours == ["held", "escalated", "open"]
    assert found["count"] == len(found["alerts"])
    assert found["asOf"] == "2026-03-03T18:30:00.000Z"
    due = [each["dueAt"] for each in found["alerts"]]
    assert due == sorted(due)
    held = next(each for each in found["alerts"] if each["id"] == alerts["held"])
    listed = api.client.get(f"/api/alerts/{alerts['held']}", headers=api.operator(tenant)).json()["alert"]
    assert held == {name: listed[name] for name in held}
    assert list(held) == [
        "id",
        "programId",
        "detector",
        "severity",
        "status",
        "route",
        "slaTier",
        "openedAt",
        "dueAt",
        "escalatedAt",
        "summary",
        "fromHistory",
    ]
    monkeypatch.setattr(routes, "MOST_SHOWN", 1)
    first = overdue(api, api.operator(tenant))
    assert (first["count"], first["alerts"]) == (found["count"], [held])  # the worst, and of equal ones the oldest due


def test_given_other_tenants_and_narrow_keys_when_asked_then_each_hears_of_its_own_only(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    an_alert(api, tenant, program)
    other = api.create_tenant("second-bank")
    key = api.key(tenant, programId=lending["id"])
    api.clock.advance(1_000 * HOUR_US)

    assert overdue(api, api.operator(tenant))["count"] > 0
    assert overdue(api, api.operator(other))["count"] == 0
    assert overdue(api, key)["count"] == 0


def test_given_loaded_history_when_alerts_are_read_then_the_filter_leaves_out_what_it_alone_opened(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    past = "2025-12-02T14:00:00Z"
    an_alert(api, tenant, program, "acht_past", created_at=past, updated_at=past)
    an_alert(api, tenant, program, "acht_live")
    everything = alerts_of(api, tenant)
    api.clock.advance(80 * HOUR_US)
    of = {whose: {each["id"] for each in everything if each["fromHistory"] is whose} for whose in (True, False)}
    assert of[True]
    assert of[False]

    for whose, expected in of.items():
        query, headers = {"fromHistory": str(whose).lower()}, api.operator(tenant)
        exported = api.client.get("/api/alerts/export", params=query, headers=headers).text.splitlines()
        late = api.client.get("/api/clocks/overdue", params=query, headers=headers).json()
        assert {each["id"] for each in alerts_of(api, tenant, **query)} == expected
        assert {json.decode(line)["id"] for line in exported} == expected
        assert ({each["id"] for each in late["alerts"]}, late["count"]) == (expected, len(expected))
        assert {each["fromHistory"] for each in late["alerts"]} == {whose}


def test_given_another_filter_when_overdue_alerts_are_asked_for_then_it_is_refused(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    for query in ("fromHistory=perhaps", "status=open"):
        answer = api.client.get(f"/api/clocks/overdue?{query}", headers=api.operator(tenant))
        assert answer.status_code == 400, query
