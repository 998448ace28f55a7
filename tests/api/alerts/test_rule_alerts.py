"""Alerts of the bank's rules over HTTP: they are listed, read, decided, exported and counted as any other."""

from typing import Any, Final

from msgspec import json

from tests.support.alerting import alerts_of, decide, deliver, outgoing, read
from tests.support.rule_calls import RuleCalls
from tests.support.running_app import RunningApp

LARGE: Final = [{"field": "amountCents", "op": "gte", "value": "10000"}]
DETECTOR: Final = "rule:large-credits"


def get(api: RunningApp, tenant: dict[str, Any], path: str, **query: Any) -> Any:
    answer = api.client.get(path, params=query or None, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    return answer


def test_given_a_rule_in_force_when_transfers_meet_it_then_its_alerts_are_alerts_everywhere(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    rules = RuleCalls(api, tenant)
    rules.active("large-credits", when=LARGE, name="Credits of J. Doe")
    rules.tested("tries", when=LARGE)
    api.catch_up()
    deliver(api, program, outgoing("acht_1"), outgoing("acht_2"), outgoing("acht_3", amount=99_00))

    alerts = alerts_of(api, tenant, detector=DETECTOR, route="reviewed")
    assert sorted(alert["transferId"] for alert in alerts) == ["acht_1", "acht_2"]
    evidence = read(api, tenant, alerts[0]["id"])["alert"]["evidence"]
    assert evidence["rule"]["conditions"] == [
        {"field": "amountCents", "op": "gte", "value": "10000", "observed": "10000"}
    ]
    assert evidence["transferIds"] == evidence["restsOn"] == [alerts[0]["transferId"]]
    assert decide(api, api.operator(tenant), alerts[0]["id"], "close").status_code == 201
    api.catch_up()
    assert read(api, tenant, alerts[0]["id"])["alert"]["status"] == "closed"

    assert get(api, tenant, "/api/alerts/export", detector=DETECTOR).text.count(DETECTOR) >= 2
    (counted,) = get(api, tenant, f"/api/reports/weekly/{program['id']}", week="2026-W10").json()["alerts"][
        "byDetector"
    ]
    assert (counted["detector"], counted["route"], counted["count"]) == (DETECTOR, "reviewed", 2)
    assert get(api, tenant, "/api/record/verify").json()["ok"] is True
    closed_alone = get(api, tenant, "/api/metrics").json()["autoClosed"]
    assert (closed_alone["value"], closed_alone["n"]) == (0.0, 2)
    assert "Doe" not in get(api, tenant, "/api/alerts/export").text
    named = [line for line in get(api, tenant, "/api/record/export").text.splitlines() if "Doe" in line]
    assert {json.decode(line)["kind"] for line in named} == {"policy"}, "a rules version alone is whole"
