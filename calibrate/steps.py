"""Steps of the signals: from which measures on a transfer may be worth more, and the log-odds of all steps together.

Steps   a signal that rises has them at or above an edge, any other below one: more points the rarer the measure. An
        edge stands where a share of the bad ones or of all transfers is
Model   a logistic regression on the steps of all signals at once. No step takes points from a worse measure, nor gives
        any to a signal that mitigates; large steps cost, by their squares; where no step is reached, the log-odds are
        not far below those of all
Rests   a transfer that does not reach a step, and one that was not measured, has nothing of it
Source  Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, 2009, 4.4 and 18.3
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_array, hstack
from scipy.special import expit

from clearhold.calibrate.samples import BAD, Column, Samples
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.scorers.signal import Signal

AnySignal = Signal[FeatureVector]

MOST_FIRING: Final = 0.2
"""Share of the transfers on which a reason may fire with points: what more of them do is usual. [P]"""

FEWEST_IN_STEP: Final = 10
"""Labelled transfers that reach a step."""

SHARES_OF_BAD: Final = (1 / 6, 1 / 3, 1 / 2, 2 / 3, 5 / 6)
SHARES_OF_ALL: Final = (0.2, 0.1, 0.05, 0.02, 0.01, 0.003)
COST: Final = 0.5
"""Of half the square of a step's log-odds, in log loss."""

MOST_UNDER: Final = 2.0
"""Log-odds from the share of all bad ones down to a transfer that reaches no step. The lines of review and hold are
fixed: the further down it begins, the more points of weak steps come before the first line, and few pass the second.
[P]
"""

_MOST_ITERATIONS: Final = 500


class SignalSteps(NamedTuple):
    """``edges`` go from the most usual step to the rarest; None is where every measure is reached from. ``refused`` is
    the too large share of the transfers on which it would have had points; None where nothing is left out.
    """

    signal: AnySignal
    edges: tuple[int | None, ...]
    refused: float | None = None

    def reached(self, column: Column) -> Column:
        """Whether each measure reaches each step, a column a step."""
        return np.column_stack([_reached(self.signal, column, edge) for edge in self.edges])


class _Step(NamedTuple):
    """One of a signal's steps: which transfers of the window reach it, as a share, and which labelled ones do."""

    edge: int | None
    share: float
    reached: Column


def _reached(signal: AnySignal, column: Column, edge: int | None) -> Column:
    if edge is None:
        return ~np.isnan(column)
    return np.asarray(column >= edge if signal.rises else column < edge)


def steps_of(signal: AnySignal, place: int, window: Samples, labelled: Samples) -> SignalSteps:
    """The steps that the labels may give points to. The window has the transfers without a label, too."""
    column, bad = labelled.measures[:, place], labelled.label == BAD
    steps = [
        step
        for edge, share in _edges(signal, window.measures[:, place], column[bad])
        if np.count_nonzero((step := _Step(edge, share, _reached(signal, column, edge))).reached) >= FEWEST_IN_STEP
    ]
    if signal.mitigates:
        return SignalSteps(signal, tuple(each.edge for each in steps))
    rare = _more_often_bad([each for each in steps if each.share <= MOST_FIRING], bad)
    usual = () if rare else _more_often_bad([each for each in steps if each.share > MOST_FIRING], bad)
    return SignalSteps(signal, tuple(each.edge for each in rare), usual[0].share if usual else None)


def _more_often_bad(steps: Sequence[_Step], bad: Column) -> Sequence[_Step]:
    """Without the first ones, as far as their transfers are no more often bad than all."""
    for place, each in enumerate(steps):
        within = each.reached & ~steps[place + 1].reached if place + 1 < len(steps) else each.reached
        if within.any() and np.mean(bad[within]) > np.mean(bad):
            return steps[place:]
    return ()


def _edges(signal: AnySignal, column: Column, of_bad: Column) -> Iterator[tuple[int | None, float]]:
    """At shares of the bad ones and of all, from the most usual on, each with the share that reaches it."""
    sign = 1 if signal.rises else -1  # so that more is worse
    values, counts = np.unique(sign * column[~np.isnan(column)], return_counts=True)
    shares = np.cumsum(counts[::-1])[::-1] / max(1, len(column))
    of_bad = np.sort(sign * of_bad[~np.isnan(of_bad)])
    if signal.rises:
        of_bad = of_bad[of_bad >= signal.least]
    least = [values[np.searchsorted(-shares, -share)] for share in SHARES_OF_ALL if len(values) and shares[-1] <= share]
    worst = [of_bad[int(share * len(of_bad))] for share in SHARES_OF_BAD if len(of_bad)]
    for value in np.unique(np.array([*least, *worst])):
        place = int(np.searchsorted(values, value))
        lower = None if not place else int(values[place - 1])
        if not signal.rises:
            yield None if lower is None else _roundest(-int(value), -lower), float(shares[place])
        elif value >= signal.least:
            yield max(signal.least, _roundest(lower, int(value))), float(shares[place])


def _roundest(above: int | None, upto: int) -> int:
    """The number with the most zeros at its end that is more than ``above`` and at most ``upto``."""
    if above is None:
        return upto
    if above < 0 <= upto:
        return 0  # which has zeros without an end
    size = 1
    while upto // (size * 10) * (size * 10) > above:
        size *= 10
    return upto // size * size


class LogOdds(NamedTuple):
    """``base`` is of a transfer that reaches no step; ``added`` has each step's, in the order of the steps."""

    base: float
    added: Column


def all_reached(steps: Sequence[SignalSteps], places: Sequence[int], samples: Samples) -> Any:
    """Whether each transfer reaches each step of all signals: few do, so only these are stored."""
    parts = [
        csr_array(each.reached(samples.measures[:, place]), dtype=np.float64)
        for each, place in zip(steps, places, strict=True)
    ]
    return hstack(parts, format="csr")


def mitigating(steps: Sequence[SignalSteps]) -> Column:
    """Whether each step is one of a signal that mitigates, in the order of the steps."""
    return np.repeat([each.signal.mitigates for each in steps], [len(each.edges) for each in steps])


def log_odds_of(steps: Sequence[SignalSteps], reached: Any, bad: Column) -> LogOdds:
    """The log-odds that all steps together give the labels."""
    total = reached.shape[1]
    mitigates = mitigating(steps)
    lower, upper = np.where(mitigates, -np.inf, 0.0), np.where(mitigates, 0.0, np.inf)
    transposed = reached.T.tocsr()

    def loss(weights: Column) -> tuple[float, Column]:
        added, base = weights[:total], weights[total]
        log_odds = reached @ added + base
        lost = np.sum(np.logaddexp(0, log_odds) - np.where(bad, log_odds, 0.0)) + COST / 2 * added @ added
        off = expit(log_odds) - bad
        return float(lost), np.append(transposed @ off + COST * added, np.sum(off))

    share = np.mean(bad)
    usual = float(np.log(share / (1 - share)))
    start = np.append(np.zeros(total), usual)
    bounds = Bounds(np.append(lower, usual - MOST_UNDER), np.append(upper, np.inf))
    fitted = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _MOST_ITERATIONS}).x
    return LogOdds(float(fitted[total]), fitted[:total])
