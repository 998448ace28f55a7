"""Alerts beside their transfers, parties, decisions and labels, on lakes counted by hand; and drift by chance."""

from pathlib import Path
from random import Random
from typing import Final

import duckdb
import msgspec
import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.measured import wilson_interval
from clearhold.store.analysts.drift import FEWEST_COMPARED
from tests.store.analysts.test_questions import MONDAY, Known, rows_of
from tests.support.clock import FrozenClock
from tests.support.duck_rows import AT, PROGRAM, a_disposition, a_label, a_transfer, an_alert
from tests.support.small_lake import SmallLake

EVIDENCE: Final = '{"transferIds":["trf_1","trf_2"],"transfers":2}'


@pytest.fixture
def lake(tmp_path: Path, database: duckdb.DuckDBPyConnection, clock: FrozenClock) -> SmallLake:
    return SmallLake(tmp_path, database, clock)


def some_alerts() -> list[msgspec.Struct]:
    """Three alerts of two detectors: one bad, one ok, one that nobody decided."""
    parties = {"account_id": "acc_1", "counterparty_id": "cpt_1"}
    transfers = [
        a_transfer(id="trf_1", entity_id="ent_1", **parties),
        a_transfer(id="trf_2", entity_id="ent_2", **parties),
        a_transfer(id="trf_3", entity_id=None, **parties),
    ]
    alerts = [
        an_alert(id="alr_1", evidence=EVIDENCE, due_at=AT + 4 * HOUR_US),
        an_alert(id="alr_2", transfer_id="trf_3", subject_type="transfer", subject_id="trf_3", dedupe_key="key_2"),
        an_alert(
            id="alr_3", detector="band_review", severity="low", transfer_id=None, subject_id="ent_9", dedupe_key="key_3"
        ),
    ]
    decisions = [
        a_disposition(id="dsp_0", alert_id="alr_2", decided_by="policy:policy-v1", created_at=AT),
        a_disposition(id="dsp_1", alert_id="alr_1", created_at=AT + 2 * HOUR_US),
        a_disposition(id="dsp_2", alert_id="alr_1", created_at=AT + 9 * HOUR_US),
        a_disposition(id="dsp_3", alert_id="alr_2", created_at=AT + 6 * HOUR_US),
    ]
    labels = [
        a_label(transfer_id="trf_2", label="ok"),
        a_label(transfer_id="trf_2", label="bad"),
        a_label(transfer_id="trf_1", label="ok"),
        a_label(transfer_id="trf_3", label="ok"),
    ]
    return [*transfers, *alerts, *decisions, *labels]


def test_given_alerts_when_joined_then_each_has_its_transfers_and_the_parties_of_these(lake: SmallLake) -> None:
    lake.write(some_alerts())

    transfers = {(row["alert_id"], row["transfer_id"], row["is_opening"]) for row in lake.rows("alert_transfers")}
    actors = {
        (row["alert_id"], row["actor_type"], row["actor_id"], row["is_subject"], row["transfers"])
        for row in lake.rows("alert_actors")
    }

    assert transfers == {("alr_1", "trf_1", True), ("alr_1", "trf_2", False), ("alr_2", "trf_3", True)}
    assert len(lake.rows("alert_transfers")) == 3
    assert actors == {
        ("alr_1", "entity", "ent_1", True, 1),
        ("alr_1", "entity", "ent_2", False, 1),
        ("alr_1", "account", "acc_1", False, 2),
        ("alr_1", "counterparty", "cpt_1", False, 2),
        ("alr_2", "account", "acc_1", False, 1),
        ("alr_2", "counterparty", "cpt_1", False, 1),
        ("alr_3", "entity", "ent_9", True, 0),
    }
    assert len(lake.rows("alert_actors")) == len(actors)


def test_given_decisions_and_labels_when_outcomes_are_counted_then_each_detector_has_its_own(lake: SmallLake) -> None:
    lake.write(some_alerts())

    structuring, band = lake.rows("detector_outcomes()")

    low, high = wilson_interval(1, 2) or (0, 0)
    assert structuring == {
        "detector": "structuring_pattern",
        "alerts": 2,
        "closed_by_policy": 1,
        "decided": 2,
        "waiting": 0,
        "hours_p50": 4.0,
        "hours_p90": pytest.approx(5.6),
        "hours": 8.0,
        "bad": 1,
        "ok": 1,
        "n": 2,
        "bad_share": 0.5,
        "low": pytest.approx(low),
        "high": pytest.approx(high),
    }
    assert (band["alerts"], band["decided"], band["waiting"]) == (1, 0, 1)
    unmeasured = ("hours_p50", "hours_p90", "hours", "bad_share", "low", "high")
    assert [band[name] for name in unmeasured] == [None] * 6
    assert (band["bad"], band["ok"], band["n"]) == (0, 0, 0)
    assert lake.rows(f"detector_outcomes(since := make_timestamp({AT + 1}))") == []
    assert lake.rows("detector_outcomes(program := 'prg_9')") == []


def test_given_decisions_when_their_times_are_measured_then_the_first_of_a_person_counts(lake: SmallLake) -> None:
    lake.write(some_alerts())

    high, low = lake.rows("time_to_decision()")

    assert (high["severity"], high["sla_tier"], high["alerts"], high["decided"], high["waiting"]) == (
        "high",
        "complex",
        2,
        2,
        0,
    )
    assert (high["hours_p50"], high["due_n"], high["in_time_share"]) == (4.0, 2, 0.5)
    assert (low["severity"], low["waiting"], low["hours_p50"], low["in_time_share"]) == ("low", 1, None, None)


def weeks(*numbers: int, shift: int = 0) -> list[Known]:
    """Scores of weeks, uniform from 0 to 60; those of the last week shifted."""
    chance = Random(3)
    return [
        Known(
            id=f"trf_{week}_{place}",
            program=PROGRAM,
            at=MONDAY + week * 7 * DAY_US,
            score=chance.randint(0, 60) + (shift if week == len(numbers) - 1 else 0),
            reasons=(),
            is_bad=None,
        )
        for week, number in enumerate(numbers)
        for place in range(number)
    ]


def test_given_quiet_weeks_when_drift_is_read_then_chance_is_told_from_change(lake: SmallLake) -> None:
    few = FEWEST_COMPARED - 1
    lake.write(list(rows_of(weeks(few, few, 300, 300, 300, shift=30), Random(0))))

    rows = lake.rows("weekly_drift()")

    assert [row["verdict"] for row in rows] == [None, "few", "few", "steady", "act"]
    assert [row["n_before"] for row in rows] == [0, few, few, 300, 300]
    for row in rows[1:4]:
        assert 0 < row["psi"] < row["psi_by_chance"]
    assert rows[4]["psi"] > rows[4]["psi_by_chance"]
    assert rows[0]["psi_by_chance"] is None


def test_given_equal_weeks_when_they_are_drawn_often_then_about_one_in_twenty_is_over_chance(lake: SmallLake) -> None:
    lake.write(list(rows_of(weeks(*[250] * 60), Random(0))))

    rows = lake.rows("weekly_drift()")[1:]

    over = sum(row["psi"] > row["psi_by_chance"] for row in rows)
    assert over <= 8
    assert {row["verdict"] for row in rows} <= {"steady", "look"}
