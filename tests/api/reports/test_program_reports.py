"""Reports of a program and of its weeks agree with the lists that show the same things one by one."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clearhold.features.core.instants import parse_instant, parse_week, week_of
from tests.support.reported_bank import ReportedBank, summary_of, within
from tests.support.running_app import assert_refused

START, END = "2026-03-27", "2026-05-24"
PROGRAM_FIELDS = {
    "snapshotId",
    *(
        "kind",
        "id",
        "name",
        "generatedAt",
        "from",
        "to",
        "current",
        "history",
        "transitions",
        "kris",
        "kriDeltas",
        "rank",
    ),
    *("transfers", "alertsByDetector"),
}
WEEKLY_FIELDS = {
    *("kind", "key", "programId", "programName", "isoWeek", "from", "to", "generatedAt", "programScore", "kris"),
    *("alerts", "enteredHold", "dispositions", "timeToDecisionHours", "transfers", "summary"),
}


def of_program(bank: ReportedBank, start: str = START, end: str = END) -> Any:
    return bank.read(f"/api/reports/program/{bank.program['id']}", **{"from": start, "to": end})


def of_week(bank: ReportedBank, week: str) -> Any:
    return bank.read(f"/api/reports/weekly/{bank.program['id']}", week=week)


def every_week(bank: ReportedBank) -> list[Any]:
    """The reports of all weeks from the first of March up to the clock's own."""
    last = week_of(bank.api.clock.at)
    monday = datetime(2026, 3, 2, tzinfo=UTC)
    names = [(monday + timedelta(weeks=number)).strftime("%G-W%V") for number in range(30)]
    return [of_week(bank, name) for name in names if name <= str(last)]


def by_detector(alerts: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    return dict(Counter((each["detector"], each["route"]) for each in alerts))


def counted(by: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    return {(each["detector"], each["route"]): each["count"] for each in by}


def test_given_a_program_when_reported_then_every_field_is_there_with_its_type(bank: ReportedBank) -> None:
    shown = of_program(bank)

    assert set(shown) == PROGRAM_FIELDS
    assert (shown["kind"], shown["id"], shown["name"]) == ("program", bank.program["id"], "Payroll")
    assert all(set(point) == {"asOf", "programScore", "band", "n"} for point in shown["history"])
    assert set(shown["current"]) == {"score", "band", "n", "confidence", "version", "reasons", "hard", "scoredAt"}
    assert shown["kris"]
    assert [delta["name"] for delta in shown["kriDeltas"]] == list(shown["kris"])


@pytest.mark.parametrize(("start", "end"), [(START, END), ("2026-01-01", "2026-08-01"), ("2026-05-22", "2026-05-23")])
def test_given_a_program_when_reported_then_its_totals_are_those_of_the_lists(
    bank: ReportedBank, start: str, end: str
) -> None:
    shown = of_program(bank, start, end)

    assert shown["transfers"] == summary_of(within(bank.every("/api/transfers"), "bankCreatedAt", start, end))
    assert counted(shown["alertsByDetector"]) == by_detector(within(bank.every("/api/alerts"), "openedAt", start, end))


def test_given_weeks_when_reported_then_each_has_the_totals_of_the_lists_and_together_they_are_all(
    bank: ReportedBank,
) -> None:
    transfers, alerts = bank.every("/api/transfers"), bank.every("/api/alerts")
    dispositions = bank.every("/api/dispositions")
    reports = every_week(bank)

    for shown in reports:
        start, end = shown["from"], shown["to"]
        opened = within(alerts, "openedAt", start, end)
        assert shown["transfers"] == summary_of(within(transfers, "bankCreatedAt", start, end)), shown["key"]
        assert shown["alerts"]["total"] == len(opened)
        assert counted(shown["alerts"]["byDetector"]) == by_detector(opened)
        assert {name: count for name, count in shown["alerts"]["byStatus"].items() if count} == dict(
            Counter(each["status"] for each in opened)
        )
        assert shown["dispositions"] == decisions_of(within(dispositions, "createdAt", start, end))
    assert sum(shown["alerts"]["total"] for shown in reports) == len(alerts)
    assert sum(shown["dispositions"]["total"] for shown in reports) == len(dispositions)


def decisions_of(dispositions: list[dict[str, Any]]) -> dict[str, int]:
    platform = [each for each in dispositions if each["decidedBy"].startswith("policy:")]
    return {
        "total": len(dispositions),
        "byPlatform": len(platform),
        "byPerson": len(dispositions) - len(platform),
        "overturned": sum(each["overturnsDraft"] is True for each in dispositions),
    }


def test_given_decisions_of_persons_when_reported_then_each_alerts_first_one_counts_in_its_week(
    bank: ReportedBank,
) -> None:
    opened = {each["id"]: parse_instant(each["openedAt"]) for each in bank.every("/api/alerts")}
    first: dict[str, int] = {}
    for each in reversed(bank.every("/api/dispositions")):
        at = parse_instant(each["createdAt"])
        if each["decidedBy"].startswith("operator:") and at is not None:
            first.setdefault(each["alertId"], at)

    for shown in every_week(bank):
        week = parse_week(shown["isoWeek"])
        assert week is not None
        waits = sorted(
            (at - (opened[alert_id] or 0)) / 3.6e9 for alert_id, at in first.items() if week.start <= at < week.end
        )
        hours = shown["timeToDecisionHours"]
        assert hours["n"] == len(waits)
        assert (hours["median"] is None) is (not waits)
        if waits:
            middle = (waits[(len(waits) - 1) // 2] + waits[len(waits) // 2]) / 2
            assert hours["median"] == pytest.approx(middle, abs=0.02)
            assert waits[0] - 0.02 <= hours["p90"] <= waits[-1] + 0.02


def test_given_scores_that_change_when_a_week_is_reported_then_those_into_the_hold_band_are_named_once(
    bank: ReportedBank,
) -> None:
    shown = of_week(bank, "2026-W21")
    period = {"programId": bank.program["id"], "from": shown["from"], "to": shown["to"]}
    expected = set()
    for actor_id in {each["entityId"] for each in bank.every("/api/transfers") if each["entityId"]}:
        transitions = bank.read(f"/api/reports/actor/entity/{actor_id}", **period)["transitions"]
        into = [each for each in transitions if each["to"] == "hold"]
        expected |= {(actor_id, each["at"], each["score"], each["n"]) for each in into[-1:]}

    entities = [each for each in shown["enteredHold"] if each["type"] == "entity"]
    assert expected
    assert len(entities) == len(expected)
    assert {(each["id"], each["at"], each["score"], each["n"]) for each in entities} == expected


def test_given_snapshots_when_reported_then_indicators_are_those_of_the_ends_of_the_period(bank: ReportedBank) -> None:
    history = of_program(bank, "2026-01-01", "2026-08-01")["history"]
    assert history == sorted(history, key=lambda point: point["asOf"])
    in_period = [point for point in history if START <= point["asOf"] < END]

    shown = of_program(bank)
    former = of_program(bank, "2026-01-01", START)

    assert shown["history"] == in_period
    (name, kri), *_ = shown["kris"].items()
    (delta, *_) = shown["kriDeltas"]
    prior = former["kris"][name]["value"]
    assert (delta["from"], delta["to"], delta["n"]) == (prior, kri["value"], kri["n"])
    assert (delta["statusFrom"], delta["statusTo"]) == (former["kris"][name]["status"], kri["status"])
    assert delta["delta"] == (None if None in {prior, kri["value"]} else pytest.approx(kri["value"] - prior, abs=1e-6))


def test_given_no_week_when_reported_then_it_is_the_last_one_that_is_over(bank: ReportedBank) -> None:
    shown = bank.read(f"/api/reports/weekly/{bank.program['id']}")
    now = week_of(bank.api.clock.at)

    assert set(shown) == WEEKLY_FIELDS
    assert parse_instant(shown["to"]) == now.start
    assert shown["key"] == f"weekly:{bank.program['id']}:{shown['isoWeek']}"
    current = of_week(bank, str(now))
    assert f"It is not over: all figures are as of {current['generatedAt']}." in current["summary"]


def test_given_a_simulated_program_when_reported_then_it_says_so_and_is_ranked_with_none(bank: ReportedBank) -> None:
    for path in (f"program/{bank.quiet['id']}", f"weekly/{bank.quiet['id']}"):
        assert bank.read(f"/api/reports/{path}")["simulated"] is True
    quiet = bank.read(f"/api/reports/program/{bank.quiet['id']}")
    assert (quiet["rank"], quiet["current"], quiet["kris"], quiet["kriDeltas"]) == (None, None, {}, [])


@pytest.mark.parametrize(
    ("week", "sentence"),
    [
        ("2025-W53", "week must be an ISO week that exists, as in 2026-W37"),
        ("2026-W00", "week must be an ISO week that exists, as in 2026-W37"),
        ("2026-37", "week must be an ISO week that exists, as in 2026-W37"),
        ("2099-W01", "week has not begun"),
        ("9999-W52", "week has not begun"),
    ],
)
def test_given_a_week_that_cannot_be_reported_when_asked_for_then_the_cause_is_named(
    bank: ReportedBank, week: str, sentence: str
) -> None:
    assert_refused(bank.get(f"/api/reports/weekly/{bank.program['id']}", week=week), 400, sentence)


def test_given_the_first_week_of_the_calendar_when_reported_then_it_is_empty(bank: ReportedBank) -> None:
    assert of_week(bank, "0001-W01")["transfers"]["count"] == 0
    assert_refused(bank.get(f"/api/reports/weekly/{bank.program['id']}", format="pdf"), 400, "format must be")
