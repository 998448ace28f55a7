"""Whole points for the steps of all signals, fitted together: others make up for what rounding takes from one.

Way     from the rounded log-odds, one step after another goes up or down by a point while the labels then fit better,
        within the bounds of the model, until no step does
Unit    points; ``scale`` is points a log-odd
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from clearhold.calibrate.samples import Column
from clearhold.calibrate.steps import COST, LogOdds, SignalSteps, mitigating

_MOST_ROUNDS: Final = 50
_LEAST_GAIN: Final = 1e-9
"""Of log loss: without it rounding of the machine could move a step to and fro."""


def whole_points(steps: Sequence[SignalSteps], reached: Any, bad: Column, log_odds: LogOdds, scale: float) -> Column:
    """The points of each step, in the order of the steps."""
    points, columns = _rounded(steps, log_odds.added * scale), reached.tocsc()
    rows = [columns.indices[start:end] for start, end in zip(columns.indptr[:-1], columns.indptr[1:], strict=True)]
    at = log_odds.base + reached @ (points / scale)
    signs = np.where(mitigating(steps), -1, 1).tolist()
    for _ in range(_MOST_ROUNDS):
        moved = [_move(points, place, at, own, bad, scale, signs[place]) for place, own in enumerate(rows)]
        if not any(moved):
            break
    return points


def _move(points: Column, place: int, at: Column, rows: Column, bad: Column, scale: float, sign: int) -> bool:
    """One step by a point up or down, if that is better and leaves its points the sign that they may have. ``at`` has
    the log-odds of each transfer.
    """
    own, is_bad, point = at[rows], bad[rows], points[place]
    before = _loss(own, is_bad)
    for change in (1, -1):
        if (point + change) * sign < 0:
            continue
        cost = COST / 2 * ((point + change) ** 2 - point**2) / scale**2
        if _loss(own + change / scale, is_bad) + cost < before - _LEAST_GAIN:
            points[place] += change
            at[rows] += change / scale
            return True
    return False


def _loss(log_odds: Column, bad: Column) -> float:
    return float(np.sum(np.logaddexp(0, log_odds)) - np.sum(log_odds[bad]))


def _rounded(steps: Sequence[SignalSteps], points: Column) -> Column:
    """So that the sums of each signal's steps are rounded, and not each step."""
    ends = np.cumsum([len(each.edges) for each in steps])[:-1]
    return np.concatenate([np.diff(np.rint(np.cumsum(own)), prepend=0) for own in np.split(points, ends)])
