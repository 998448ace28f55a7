"""What waits although its time to decide ran out."""

from typing import Any

import pytest

from api.clocks import service
from tests.support.alerting import DETECTOR, an_alert, decide
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
    api.clock.advance(70 * HOUR_US + HOUR_US // 2)

    found = overdue(api, api.operator(tenant))

    ours = [names[each["id"]] for each in found["alerts"] if each["detector"] == DETECTOR]
    assert ours == ["held", "escalated", "open"]
    assert found["count"] == len(found["alerts"])
    assert found["asOf"] == "2026-03-05T18:30:00.000Z"
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
    ]
    monkeypatch.setattr(service, "MOST_SHOWN", 1)
    first = overdue(api, api.operator(tenant))
    assert (first["count"], first["alerts"]) == (found["count"], found["alerts"][:1])


def test_given_other_tenants_and_narrow_keys_when_asked_then_each_hears_of_its_own_only(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    an_alert(api, tenant, program)
    other = api.create_tenant("second-bank")
    body = {"name": "k", "mode": "live", "programId": lending["id"]}
    secret = api.client.post("/api/keys", json=body, headers=api.operator(tenant)).json()["secret"]
    api.clock.advance(1_000 * HOUR_US)

    assert overdue(api, api.operator(tenant))["count"] > 0
    assert overdue(api, api.operator(other))["count"] == 0
    assert overdue(api, {"Authorization": f"Bearer {secret}"})["count"] == 0
