"""Backtests and shadows over HTTP, held to what the public routes say of the same transfers."""

from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Final

import pytest

from clearhold.features.core.instants import MINUTE_US, format_instant
from tests.support.alerting import ALERTING, deliver, outgoing
from tests.support.backtest_readings import WITHIN_S, BacktestReadings
from tests.support.rule_calls import RuleCalls
from tests.support.rules import a_rule, interpreted
from tests.support.running_app import RunningApp, assert_refused
from tests.support.waiting import eventually

OVER_500: Final = [{"field": "amountCents", "op": "gt", "value": "50000"}]
AT: Final = "2026-03-02T14:{:02}:00Z"
AT_A_TIME: Final = 4


def transfers(number: int, first: int = 0) -> list[bytes]:
    """Every third is over 500 dollars, every fourth to a country that alerts, every fifth is settled afterwards."""
    bodies = []
    for place in range(first, first + number):
        over = {"amount": 90_000 if place % 3 == 0 else 40_000} | (ALERTING if place % 4 == 0 else {})
        bodies.append(outgoing(f"acht_{place}", at=AT.format(place), **over))
    return bodies


def listed(api: RunningApp, tenant: dict[str, Any], path: str, **query: Any) -> list[dict[str, Any]]:
    answer = api.client.get(path, params={"limit": 100} | query, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


def label(api: RunningApp, tenant: dict[str, Any], transfer_id: str, verdict: str) -> None:
    body = {"transferId": transfer_id, "label": verdict, "reason": "It was looked at."}
    assert api.client.post("/api/labels", json=body, headers=api.operator(tenant)).status_code == 201


def test_given_transfers_when_a_rule_is_backtested_then_it_says_what_the_public_routes_say(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any], other: dict[str, Any]
) -> None:
    deliver(api, program, *transfers(24))
    deliver(api, other, *transfers(6, first=30))
    for place in (0, 3, 6, 7):
        label(api, rules.tenant, f"acht_{place}", "bad" if place in {0, 7} else "ok")
    rules.create("over-500", when=OVER_500, action="hold")

    result = rules.backtest("over-500", full=True).json()

    rule, every = a_rule(id="over-500", when=OVER_500), listed(api, rules.tenant, "/api/transfers")
    matched = [each for each in every if interpreted(rule, each["scoreInputs"]["features"])]
    ids = [each["id"] for each in matched]
    alerted = {
        transfer_id
        for alert in listed(api, rules.tenant, "/api/alerts")
        for transfer_id in alert["evidence"]["transferIds"]
    }
    assert (result["scanned"], result["sampled"], result["matched"]) == (30, False, len(ids))
    assert result["matchedShare"] == round(len(ids) / 30, 6)
    assert (result["wouldHold"], result["wouldAlert"]) == (len(ids), len(ids))
    assert result["overlapWithExistingAlerts"] == len(alerted.intersection(ids))
    assert result["byBand"] == {
        band: sum(each["scoreBand"] == band for each in matched) for band in ("clear", "review", "hold", "unscored")
    }
    assert result["sampleTransferIds"] == ids == result["full"]["caught"]["transferIds"]
    assert result["full"]["caught"]["cents"] == str(sum(int(each["amountCents"]) for each in matched))
    assert (result["full"]["precision"]["n"], result["full"]["precision"]["value"]) == (3, round(1 / 3, 6))
    assert (result["full"]["recall"]["n"], result["full"]["recall"]["value"]) == (2, 0.5)
    assert result["full"]["falsePositiveTransferIds"] == ["acht_6", "acht_3"]
    assert result["full"]["volumeADay"] == {"mean": 10.0, "p95": 10, "max": 10, "n": 1}
    assert result["full"]["byWeek"] == [{"week": "2026-W10", "scanned": 30, "matched": 10}]
    assert "full" not in rules.backtest("over-500").json()


def test_given_a_rule_in_testing_when_transfers_come_then_its_shadow_is_what_a_backtest_of_them_finds(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any]
) -> None:
    rules.tested("over-500", when=OVER_500)
    api.catch_up()
    deliver(api, program, *transfers(20))

    shadow = rules.send("GET", "/over-500/shadow").json()
    result = rules.backtest("over-500").json()

    assert (shadow["scanned"], shadow["matched"], shadow["byBand"]) == (20, 7, result["byBand"])
    assert (shadow["matchedShare"], shadow["overlapWithExistingAlerts"]) == (
        result["matchedShare"],
        result["overlapWithExistingAlerts"],
    )
    assert sorted(shadow["sampleTransferIds"]) == sorted(result["sampleTransferIds"])
    assert (shadow["precision"]["value"], shadow["precision"]["n"]) == (None, 0)


def test_given_a_rule_in_force_that_logs_when_transfers_come_then_its_shadow_counts_them_since_its_activation(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any]
) -> None:
    rules.tested("over-500", when=OVER_500, action="log")
    deliver(api, program, *transfers(6))
    api.clock.advance(MINUTE_US)
    rules.in_force("over-500")
    since = api.clock.now()
    rules.active("other", when=OVER_500)
    deliver(api, program, *transfers(20, first=20))

    shadow = rules.send("GET", "/over-500/shadow").json()

    assert (shadow["version"], shadow["since"]) == ("rules-v2", format_instant(since))
    assert (shadow["scanned"], shadow["matched"]) == (20, 7)
    assert rules.send("GET", "/other/shadow").json()["matched"] is None, "an alert is its match"
    rules.pause("over-500")
    assert rules.send("GET", "/over-500/shadow").json()["version"] is None


@pytest.mark.parametrize("full", [False, True])
def test_given_a_backtest_when_activation_is_requested_then_the_action_reports_every_transfer_it_would_have_caught(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any], *, full: bool
) -> None:
    deliver(api, program, *transfers(12))
    rules.create("over-500", when=OVER_500)
    rules.backtest("over-500", full=full)

    change = rules.activate("over-500").json()["change"]

    ids = [f"acht_{place}" for place in (9, 6, 3, 0)]
    named = [{"programId": program["id"], "transferId": transfer_id} for transfer_id in ids]
    assert change["caught"] == {"count": 4, "cents": "360000", "transferIds": ids, "transfers": named}


def test_given_backtests_over_other_programs_when_a_key_of_one_lists_them_then_it_sees_its_own(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any], other: dict[str, Any]
) -> None:
    deliver(api, other, *transfers(6))
    rules.tested("moves", when=OVER_500)
    rules.write("moves", programId=program["id"])
    rules.backtest("moves")
    key = api.key(rules.tenant, programId=program["id"], scopes=["rules"])

    seen = api.client.get("/api/rules/moves/backtests", headers=key).json()
    every = rules.send("GET", "/moves/backtests").json()

    assert [each["programId"] for each in every] == [program["id"], None]
    assert [each["programId"] for each in seen] == [program["id"]]


def test_given_as_many_backtests_as_a_tenant_may_have_when_one_more_comes_then_429_and_another_tenants_is_read(
    api: RunningApp, rules: RuleCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = RuleCalls(api, api.create_tenant("second-bank"))
    rules.create()
    theirs.create()
    readings = BacktestReadings(monkeypatch)

    with ThreadPoolExecutor(AT_A_TIME + 2) as pool:
        other = pool.submit(theirs.backtest)
        eventually(lambda: readings.begun == 1)
        own = [pool.submit(rules.backtest) for _ in range(AT_A_TIME + 1)]
        refused = next(as_completed(own, timeout=WITHIN_S)).result()
        readings.release(AT_A_TIME + 1)

    assert_refused(refused, 429, "when one of them")
    assert refused.json()["code"] == "too_many_at_once"
    assert sorted(each.result().status_code for each in own) == [201] * AT_A_TIME + [429]
    assert other.result().status_code == 201
    assert readings.most_at_once == 1
    readings.release()
    assert rules.backtest().status_code == 201
