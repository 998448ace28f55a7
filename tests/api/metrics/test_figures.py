"""Metrics out of totals, worked out by hand."""

from typing import Any

import msgspec
import pytest

from clearhold.api.metrics.routes import DecisionHours, hours, to_metrics
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.measured import DayTotals, sum_of
from tests.support.clock import T0

MIDNIGHT = T0 // DAY_US * DAY_US
NOTHING = {"value": None, "n": 0, "low": None, "high": None}


def shown(totals: DayTotals) -> dict[str, Any]:
    metrics: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode(to_metrics(totals, days=30, to=MIDNIGHT, as_of=T0))
    )
    return metrics


def test_given_no_days_then_nothing_is_measured_and_nothing_is_zero_that_is_not_counted() -> None:
    metrics = shown(DayTotals())

    assert metrics["calibration"] == dict.fromkeys(("clear", "review", "hold", "unscored"), NOTHING)
    assert metrics["coverage"] == {"transfers": NOTHING, "programs": NOTHING}
    assert metrics["holdBand"] == {"precision": NOTHING, "recall": NOTHING, "tp": 0, "fp": 0, "fn": 0}
    assert (metrics["autoClosed"], metrics["overturned"], metrics["labelMaturity"]) == (NOTHING, NOTHING, NOTHING)
    nobody = {"median": None, "p90": None, "n": 0}
    assert metrics["timeToDecisionHours"] == {"automated": nobody, "reviewed": nobody}
    assert metrics["approvedWithoutWaiting"] == {"count": 0, "cents": "0", "n": 0}
    assert metrics["eventCoverage"] == {"value": None, "n": 0, "seen": [], "byFamily": []}
    assert "simulated" not in metrics


def test_given_labels_in_each_band_then_calibration_precision_and_recall_are_by_hand() -> None:
    totals = DayTotals(
        *(0, 0, 0, 0, 0, 0, 0, 0),
        clear_bad=1,
        clear_ok=9,
        review_bad=1,
        review_ok=3,
        hold_bad=6,
        hold_ok=2,
        unscored_bad=2,
        unscored_ok=1,
        provisional_ok=5,
    )
    metrics = shown(totals)

    shares = {band: (each["value"], each["n"]) for band, each in metrics["calibration"].items()}
    assert shares == {"clear": (0.1, 10), "review": (0.25, 4), "hold": (0.75, 8), "unscored": (0.666667, 3)}
    hold = metrics["holdBand"]
    assert (hold["tp"], hold["fp"], hold["fn"]) == (6, 2, 4)
    assert (hold["precision"]["value"], hold["precision"]["n"]) == (0.75, 8)
    assert (hold["recall"]["value"], hold["recall"]["n"]) == (0.6, 10)
    assert (metrics["labelMaturity"]["value"], metrics["labelMaturity"]["n"]) == (0.8, 25)
    # Wilson, 1 in 10: (0.1 + 0.19207 -+ 1.95996 sqrt(0.009 + 0.0096037)) / 1.38415
    assert (metrics["calibration"]["clear"]["low"], metrics["calibration"]["clear"]["high"]) == (0.017876, 0.404150)


def test_given_programs_of_a_tenant_then_their_figures_are_added_before_shares_are_taken() -> None:
    one = DayTotals(10, 5_00, unscored=1, unalerted=3, unalerted_cents=3_00, alerts=4, auto_closed=1, programs=1)
    other = DayTotals(30, 7_00, unscored=9, unalerted=1, unalerted_cents=7, reviews=8, overturns=2, programs=1)
    metrics = shown(
        sum_of(
            (
                msgspec.structs.replace(one, scored_programs=1, waits=(90, 60, 90), events={"ach": {"applied": 3}}),
                msgspec.structs.replace(
                    other, waits=(90,), events={"ach": {"applied": 1, "stale": 1}, "loan": {"stored": 1}}
                ),
            )
        )
    )

    assert (metrics["coverage"]["transfers"]["value"], metrics["coverage"]["transfers"]["n"]) == (0.75, 40)
    assert (metrics["coverage"]["programs"]["value"], metrics["coverage"]["programs"]["n"]) == (0.5, 2)
    assert (metrics["autoClosed"]["value"], metrics["overturned"]["value"]) == (0.25, 0.25)
    assert metrics["approvedWithoutWaiting"] == {"count": 4, "cents": "307", "n": 30}
    assert metrics["timeToDecisionHours"]["automated"] == {"median": 0.0, "p90": 0.0, "n": 1}
    assert metrics["timeToDecisionHours"]["reviewed"] == {"median": 0.025, "p90": 0.025, "n": 4}
    assert metrics["eventCoverage"] == {
        "value": 0.5,
        "n": 2,
        "seen": ["ach", "loan"],
        "byFamily": [
            {"family": "ach", "result": "applied", "count": 4},
            {"family": "ach", "result": "stale", "count": 1},
            {"family": "loan", "result": "stored", "count": 1},
        ],
    }


@pytest.mark.parametrize(
    ("seconds", "median", "p90"),
    [
        ((3_600,), 1.0, 1.0),
        ((3_600, 7_200), 1.5, 1.9),
        ((0, 3_600, 7_200, 10_800, 36_000), 2.0, 7.2),  # the place of p90 is 3.6: 3 h and 0.6 of the 7 h to 10 h
        ((3_600,) * 9 + (36_000,), 1.0, 1.9),
    ],
)
def test_given_waits_then_median_and_p90_are_interpolated(seconds: tuple[int, ...], median: float, p90: float) -> None:
    assert hours(reversed(seconds)) == DecisionHours(median=median, p90=p90, n=len(seconds))
