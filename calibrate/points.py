"""Log-odds of steps as whole points: bins of a card, and the transfers that they send to review and hold.

Unit    a band's volume is in 1,000 of the fit window's scored transfers
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from clearhold.calibrate.samples import Column, Samples
from clearhold.calibrate.steps import SignalSteps
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.scorecards import MOST_POINTS, Bin
from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM
from clearhold.features.scorers.engine import CompiledCard

BinsById = Mapping[str, tuple[Bin, ...]]


class Volume(NamedTuple):
    """Transfers of 1,000 in the two bands that a person sees."""

    review: float
    hold: float

    @property
    def total(self) -> float:
        return self.review + self.hold


def bins_of(steps: SignalSteps, own: Column, champion: CompiledCard[FeatureVector]) -> tuple[Bin, ...]:
    """Steps, each with its own whole points, as bins. A hard signal holds wherever it does under the champion, if for
    no points.
    """
    signal = steps.signal
    points = np.clip(np.cumsum(own), -MOST_POINTS, MOST_POINTS).astype(int).tolist()
    bins = _rising(steps.edges, points) if signal.rises else _falling(signal.least, steps.edges, points)
    usual = champion.bins_of(signal.id)
    if not signal.hard or not usual:
        return bins
    first, end = usual[0].at_least, usual[-1].below
    if not bins:
        return without_points(usual)
    if bins[0].at_least > first:
        bins = (Bin(at_least=first, below=bins[0].at_least, points=0), *bins)
    last = bins[-1].below
    if last is not None and (end is None or last < end):
        bins = (*bins, Bin(at_least=last, below=end, points=0))
    return bins


def without_points(bins: Sequence[Bin]) -> tuple[Bin, ...]:
    return tuple(msgspec.structs.replace(each, points=0) for each in bins)


def _rising(edges: Sequence[int | None], points: Sequence[int]) -> tuple[Bin, ...]:
    """From the lowest edge up, each to the next at which points change."""
    bins, below = list[Bin](), None
    for edge, own, lower in zip(edges[::-1], points[::-1], [*points[-2::-1], 0], strict=True):
        if own != lower and edge is not None:
            bins.append(Bin(at_least=edge, below=below, points=own))
            below = edge
    return tuple(bins[::-1])


def _falling(least: int, edges: Sequence[int | None], points: Sequence[int]) -> tuple[Bin, ...]:
    """From the least measure up, each to the next edge at which points change."""
    bins, start = list[Bin](), least
    for edge, own, above in zip(edges[::-1], points[::-1], [*points[-2::-1], 0], strict=True):
        if own != above:
            bins.append(Bin(at_least=start, below=edge, points=own))
            start = start if edge is None else edge
    return tuple(bins)


def is_in_bin(column: Column, part: Bin) -> Column:
    """Whether each measure is in the bin."""
    below = np.inf if part.below is None else part.below
    return np.asarray((column >= part.at_least) & (column < below))


def firing(column: Column, bins: Sequence[Bin]) -> float:
    """The share of the transfers on which the bins give points."""
    hits = [is_in_bin(column, each) for each in bins if each.points > 0]
    return float(np.mean(np.any(hits, axis=0))) if hits and len(column) else 0.0


def most_points(bins: Sequence[Bin]) -> int:
    return max((each.points for each in bins), default=0)


def sums_of(samples: Samples, bins: BinsById) -> Column:
    """The points of each sample before the limits of 0 and 100; a fitted card's caps take nothing from them."""
    total = np.zeros(len(samples.at), np.int64)
    for place, signal_id in enumerate(samples.signal_ids):
        for each in bins.get(signal_id, ()):
            if each.points:
                total += np.where(is_in_bin(samples.measures[:, place], each), each.points, 0)
    return total


def volume_of(sums: Column) -> Volume:
    total = max(1, len(sums))
    review, hold = (int(np.count_nonzero(sums >= start)) for start in (REVIEW_FROM, HOLD_FROM))
    return Volume(1_000 * (review - hold) / total, 1_000 * hold / total)
