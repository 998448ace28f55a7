"""Whole points of steps: they fit the labels no worse than rounded ones, and make up for what rounding takes."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from clearhold.calibrate.fitting import fit_card
from clearhold.calibrate.points import sums_of
from clearhold.calibrate.steps import COST, LogOdds, SignalSteps, log_odds_of
from clearhold.calibrate.whole import whole_points
from clearhold.features.scorers.cards import DEFAULTS
from tests.support.samples import samples_of

Numbers = npt.NDArray[Any]

SIGNALS: Final = DEFAULTS["trs"].scorer.signals
RISING: Final = SIGNALS["TRS-AMT-07"]
MITIGATING: Final = next(each for each in SIGNALS.values() if each.mitigates)


def some_steps(seed: int, rows: int = 400, signals: int = 6) -> tuple[list[SignalSteps], Any, Numbers]:
    """Signals of two steps, the last one mitigating, and labels that follow them a little."""
    draws = np.random.default_rng(seed)
    steps = [SignalSteps(RISING, (10, 20)) for _ in range(signals - 1)] + [SignalSteps(MITIGATING, (10, 20))]
    columns = [draws.integers(0, 30, rows) for _ in steps]
    reached = csr_array(np.column_stack([column >= edge for column in columns for edge in (10, 20)]).astype(float))
    chance = 1 / (1 + np.exp(3 - sum(column >= 20 for column in columns[:-1])))
    return steps, reached, draws.random(rows) < chance


def lost(points: Numbers, reached: Any, bad: Numbers, base: float, scale: float) -> float:
    """The log loss of the points, and their cost."""
    log_odds = base + reached @ (points / scale)
    loss = np.sum(np.logaddexp(0, log_odds)) - np.sum(log_odds[bad])
    return float(loss + COST / 2 * np.sum((points / scale) ** 2))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from((0.7, 2.0, 9.0)))
def test_given_any_labels_then_whole_points_fit_no_worse_than_rounded_ones_and_no_single_point_improves_them(
    seed: int, scale: float
) -> None:
    steps, reached, bad = some_steps(seed)
    if bad.all() or not bad.any():
        return
    model = log_odds_of(steps, reached, bad)
    points = whole_points(steps, reached, bad, model, scale)
    by_signal = np.rint(np.cumsum((model.added * scale).reshape(-1, 2), axis=1))
    rounded = np.diff(by_signal, axis=1, prepend=0).ravel()
    own = lost(points, reached, bad, model.base, scale)

    assert (points == np.rint(points)).all()
    assert (points[:-2] >= 0).all()
    assert (points[-2:] <= 0).all()
    assert own <= lost(rounded, reached, bad, model.base, scale) + 1e-6
    for place in range(len(points)):
        for change in (1, -1):
            other = points.copy()
            other[place] += change
            allowed = other[place] <= 0 if place >= len(points) - 2 else other[place] >= 0
            assert not allowed or lost(other, reached, bad, model.base, scale) >= own - 1e-6


def test_given_equal_steps_of_less_than_half_a_point_then_together_they_have_what_they_add() -> None:
    draws = np.random.default_rng(4)
    reached = np.zeros((2_000, 8))
    reached[:1_000] = 1.0
    bad = np.where(np.arange(2_000) < 1_000, draws.random(2_000) < 0.3, draws.random(2_000) < 0.05)
    steps, sparse = [SignalSteps(RISING, (10,)) for _ in range(8)], csr_array(reached)
    model = log_odds_of(steps, sparse, bad)
    points = whole_points(steps, sparse, bad, model, 1.9)

    assert np.rint(model.added * 1.9).sum() == 0
    assert points.sum() == pytest.approx(model.added.sum() * 1.9, abs=0.5)


def test_given_a_model_without_log_odds_then_no_step_has_points_that_the_labels_do_not_give() -> None:
    steps, reached, _ = some_steps(1)
    points = whole_points(steps, reached, np.zeros(400, bool), LogOdds(-3.0, np.zeros(12)), 5.0)

    assert (points[:-2] == 0).all()


def test_given_a_part_of_the_newest_time_with_many_firings_when_fitted_then_the_volume_holds_in_it_too() -> None:
    """Over all, and in the newest quarter, they are few enough."""
    rows, draws = 6_000, np.random.default_rng(9)
    places = np.arange(rows)
    chance = np.where((places >= 3_600) & (places < 4_400), 0.05, 0.004)
    large = np.where(draws.random(rows) < chance, 900.0, 10.0)
    bad = np.where(large > 100, draws.random(rows) < 0.8, draws.random(rows) < 0.002)
    samples = samples_of({"TRS-AMT-07": large, "TRS-VEL-03": np.floor(draws.random(rows) * 5)}, bad)
    fit = fit_card(samples, DEFAULTS["trs"], "Parts", volume=20)
    sent = sums_of(samples, {each.id: each.bins for each in fit.card.signals}) >= 30

    assert fit.fitted
    assert 1_000 * np.mean(sent[3_600:4_400]) <= 20
