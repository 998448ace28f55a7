"""Points for the signals of a scorer, fitted to labels: the log-odds of steps, as whole numbers, in bins.

Model   ``steps.py``: all steps of the chosen signals together. The signals that tell transfers apart most are chosen;
        ``whole.py`` makes whole points of the log-odds
Unit    points are log-odds times a constant: the most at which review and hold have the volume that was asked for or
        less, in each part of the newest time too and by a fit to the time before, and at which ``HOLD_FROM`` points
        mean ``HOLD_CHANCE`` or more, by the fit and by the newest labels
Refused a reason that fires on over ``MOST_FIRING`` of the transfers
Rests   what the labels cannot say anything of keeps the champion's points
Errors  ``NoCardError`` where transfers are nearly as often bad when nothing is seen of them
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec
import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from clearhold.calibrate.points import (
    BinsById,
    Volume,
    bins_of,
    firing,
    most_points,
    sums_of,
    volume_of,
    without_points,
)
from clearhold.calibrate.request import DEFAULT_VOLUME, NoCardError
from clearhold.calibrate.samples import BAD, Column, Samples
from clearhold.calibrate.steps import (
    MOST_FIRING,
    AnySignal,
    LogOdds,
    SignalSteps,
    all_reached,
    log_odds_of,
    steps_of,
)
from clearhold.calibrate.whole import whole_points
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.scorecards import MOST_POINTS, Bin, CardCap, CardSignal, Scorecard
from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM
from clearhold.features.scorers.cards import MOST_WEIGHED
from clearhold.features.scorers.engine import CompiledCard

FEWEST_MEASURED: Final = 30
"""Scored, labelled transfers on which a signal must have fired before its points are fitted."""

HOLD_CHANCE: Final = 0.6
FEWEST_HELD: Final = 10
"""Labelled transfers of the newest time by whose bad share a hold band is proved."""

LEAST_APART: Final = 1.0
"""Log-odds from a transfer of which no signal fires to even odds; below, points would tell too little apart. [P]"""

NEWEST_FROM: Final = 0.6
"""Of the labelled transfers: the newest are as many, beside the others, as those of later time beside the fit. [P]"""

MOST_PARTS: Final = 3
FEWEST_SENT: Final = 10
"""Transfers of the volume in each part of the newest time, in which it is kept. [P]"""

_OVER: Final = 0.01  # log-odds over those of every transfer: nothing is held
_NO_SIGNAL: Final = "No signal fired more often on bad transfers of the fit window than on the others."
_STEP_DOWN: Final = 0.99


class Refused(NamedTuple):
    """``firing`` is the share of the fit window's transfers on which the reason would have points."""

    signal_id: str
    firing: float


class Fit(NamedTuple):
    """A fitted card. ``fitted`` are the signals with points from labels, ``kept`` those with the champion's."""

    card: Scorecard
    fitted: tuple[str, ...]
    kept: tuple[str, ...]
    without_points: tuple[str, ...]
    refused: tuple[Refused, ...]
    base_log_odds: float
    points_a_log_odd: float
    hold_chance: float
    volume: Volume


class _Model(NamedTuple):
    """The steps of some signals, each with its column's place, and their log-odds."""

    places: tuple[int, ...]
    steps: tuple[SignalSteps, ...]
    log_odds: LogOdds

    def added(self) -> list[Column]:
        """The log-odds of each signal's steps."""
        return np.split(self.log_odds.added, self._ends())

    def _ends(self) -> Column:
        return np.cumsum([len(each.edges) for each in self.steps])[:-1]

    def over_base(self, samples: Samples) -> Column:
        """The log-odds of each transfer over those of one that reaches no step."""
        return np.asarray(all_reached(self.steps, self.places, samples) @ self.log_odds.added)

    def bins(
        self, scale: float, labelled: Samples, champion: CompiledCard[FeatureVector]
    ) -> dict[str, tuple[Bin, ...]]:
        """The bins of each signal; empty where they would give no points."""
        reached = all_reached(self.steps, self.places, labelled)
        points = whole_points(self.steps, reached, labelled.label == BAD, self.log_odds, scale)
        parts = zip(self.steps, np.split(points, self._ends()), strict=True)
        return {steps.signal.id: bins_of(steps, own, champion) for steps, own in parts}


def fit_card(
    window: Samples,
    champion: CompiledCard[FeatureVector],
    name: str,
    left_out: Sequence[str] = (),
    volume: float = DEFAULT_VOLUME,
) -> Fit:
    """A card for samples in order of time: points from those with a label and a score, volumes from all with a score.
    The same samples give the same card, byte for byte: one thread adds up in one order.
    """
    scored = window.where(window.is_scored)
    with threadpool_limits(1):
        return _fitted_card(scored, champion, name, left_out, volume)


def _fitted_card(
    window: Samples, champion: CompiledCard[FeatureVector], name: str, left_out: Sequence[str], volume: float
) -> Fit:
    labelled = window.where(window.is_labelled)
    places = {signal_id: place for place, signal_id in enumerate(window.signal_ids) if signal_id not in left_out}
    signals = champion.scorer.signals
    known = {each: place for each, place in places.items() if _is_known(labelled.measures[:, place], signals[each])}
    if not known:
        raise NoCardError([f"No signal fired on {FEWEST_MEASURED} labelled transfers of the fit window."])
    every = [(place, steps_of(signals[each], place, window, labelled)) for each, place in known.items()]
    model = _chosen([(place, each) for place, each in every if each.edges], labelled)
    refused = {each.signal.id: each.refused for _, each in every if each.refused is not None}
    unknown = {each: champion.bins_of(each) for each in places if each not in known}
    unknown = {each: bins for each, bins in unknown.items() if any(part.points for part in bins)}
    windows = (window, *_parts_of(window.where(window.at >= labelled.at[_newest(labelled)]), volume))
    kept, too_much = _kept(unknown, len(model.steps), champion, windows, volume)
    scale, bins = _scaled(model, kept, windows, labelled, champion, volume)
    return _fit(model, scale, bins, kept, refused | too_much, window, champion, name)


def _is_known(column: Column, signal: AnySignal) -> bool:
    fires = column >= signal.least if signal.rises else ~np.isnan(column)
    return bool(np.count_nonzero(fires) >= FEWEST_MEASURED and len(np.unique(column)) > 1)


def _chosen(steps: Sequence[tuple[int, SignalSteps]], labelled: Samples) -> _Model:
    """The signals that tell most, with the log-odds of their steps when no others are there."""
    bad = labelled.label == BAD
    if bad.all() or not bad.any() or not steps:
        raise NoCardError([_NO_SIGNAL])
    model = _model(steps, labelled)
    if not any(np.any(added > 0) for added in model.added()):
        raise NoCardError([_NO_SIGNAL])
    gains = [
        float(np.std(each.reached(labelled.measures[:, place]) @ added))
        for (place, each), added in zip(steps, model.added(), strict=True)
    ]
    ranked = sorted(range(len(steps)), key=lambda each: (not steps[each][1].signal.hard, -gains[each], each))
    best = sorted(each for each in ranked[:MOST_WEIGHED] if gains[each])
    return model if len(best) == len(steps) else _model([steps[each] for each in best], labelled)


def _model(steps: Sequence[tuple[int, SignalSteps]], labelled: Samples) -> _Model:
    places, parts = tuple(place for place, _ in steps), tuple(each for _, each in steps)
    return _Model(places, parts, log_odds_of(parts, all_reached(parts, places, labelled), labelled.label == BAD))


def _newest(labelled: Samples) -> int:
    """Where the newest part of the labelled samples begins."""
    return int(len(labelled.at) * NEWEST_FROM)


def _parts_of(newest: Samples, volume: float) -> list[Samples]:
    """The newest time in parts of as many transfers each: a volume that is kept in all of it may be exceeded in one."""
    total = len(newest.at)
    parts = max(1, min(MOST_PARTS, int(total * volume / 1_000 / FEWEST_SENT)))
    edges = [total * part // parts for part in range(parts + 1)]
    return [newest.where(slice(*ends)) for ends in pairwise(edges)]


def _kept(
    bins: BinsById,
    fitted: int,
    champion: CompiledCard[FeatureVector],
    windows: Sequence[Samples],
    volume: float,
) -> tuple[BinsById, dict[str, float]]:
    """The signals that keep the champion's points beside the fitted ones; and the refused, with their shares of the
    transfers: all that fire too often, then the most frequent until the rest alone keep to the volume.
    """
    window, signals = windows[0], champion.scorer.signals
    shares = {each: firing(window.measures[:, window.signal_ids.index(each)], own) for each, own in bins.items()}
    refused = {each: share for each, share in shares.items() if share > MOST_FIRING}
    usual = sorted(bins, key=lambda each: (not signals[each].hard, -most_points(bins[each]), each))
    kept = {each: bins[each] for each in [each for each in usual if each not in refused][: MOST_WEIGHED - fitted]}
    while _most_sent(windows, kept) > volume:
        worst = max(kept, key=lambda each: (shares[each], each))
        refused[worst] = shares[worst]
        del kept[worst]
    return kept, refused


def _scaled(
    model: _Model,
    kept: BinsById,
    windows: Sequence[Samples],
    labelled: Samples,
    champion: CompiledCard[FeatureVector],
    volume: float,
) -> tuple[float, BinsById]:
    """Points a log-odd: as many as the hold band and the volume allow, in all of the window and in each of the newest
    parts; and the bins with these points.
    """
    (window, *parts), base = windows, model.log_odds.base
    if -base < LEAST_APART:
        at_rest = f"{100 / (1 + np.exp(-base)):.0f} %"
        sentence = f"A transfer of which no signal fires is bad with {at_rest}, by labels of reviewed transfers only."
        raise NoCardError([f"{sentence} Label a random sample of the others."])
    scale = HOLD_FROM / (float(np.log(HOLD_CHANCE / (1 - HOLD_CHANCE))) - base)
    scale = min(scale, _review_scale(model.over_base(window), volume))
    cut, bad = _newest(labelled), labelled.label == BAD
    if len(np.unique(bad[:cut])) > 1:
        before = _model(list(zip(model.places, model.steps, strict=True)), labelled.where(slice(cut)))
        scale = min(scale, *(_review_scale(before.over_base(part), volume) for part in parts))
        scale = min(scale, _hold_scale(before.over_base(labelled.where(slice(cut, None))), bad[cut:]))
    while _most_sent(windows, {**kept, **(bins := model.bins(scale, labelled, champion))}) > volume:
        scale *= _STEP_DOWN
    return scale, bins


def _most_sent(windows: Sequence[Samples], bins: BinsById) -> float:
    """The volume of review and hold in the window where it is greater."""
    return max(volume_of(sums_of(each, bins)).total for each in windows)


def _review_scale(log_odds: Column, volume: float) -> float:
    """At which the transfers of the volume, and no others, come to review."""
    next_one = float(np.sort(log_odds)[::-1][min(len(log_odds) - 1, int(volume * len(log_odds) / 1_000))])
    return REVIEW_FROM / next_one if next_one > 0 else np.inf


def _hold_scale(log_odds: Column, bad: Column) -> float:
    """At which the hold band begins where ``HOLD_CHANCE`` of the transfers are bad from there on, if it ever does."""
    order = np.argsort(-log_odds, kind="stable")
    ranks, hits = log_odds[order], np.cumsum(bad[order])
    ends = np.flatnonzero(np.diff(ranks, append=-np.inf))
    ends = ends[(ranks[ends] > 0) & (ends + 1 >= FEWEST_HELD) & (hits[ends] >= HOLD_CHANCE * (ends + 1))]
    return HOLD_FROM / (float(ranks[ends[-1]]) if len(ends) else float(ranks[0]) + _OVER)


def _fit(
    model: _Model,
    scale: float,
    bins: BinsById,
    kept: BinsById,
    refused: Mapping[str, float],
    window: Samples,
    champion: CompiledCard[FeatureVector],
    name: str,
) -> Fit:
    every, base = champion.scorer.signals, model.log_odds.base
    bins = {each: own for each, own in bins.items() if own}
    hard = {each: without_points(champion.bins_of(each)) for each, signal in every.items() if signal.hard}
    chosen = {**hard, **kept, **bins}
    card = msgspec.structs.replace(
        champion.card,
        name=name,
        caps=tuple(_caps(champion, chosen)),
        signals=tuple(
            CardSignal(id=each, bins=chosen[each], most_known=champion.most_known(each) if each in kept else None)
            for each in every
            if each in chosen
        ),
    )
    return Fit(
        card,
        fitted=tuple(each for each, own in bins.items() if any(part.points for part in own)),
        kept=tuple(each for each in every if each in kept),
        without_points=tuple(each for each in every if each not in chosen),
        refused=tuple(Refused(each, refused[each]) for each in every if each in refused),
        base_log_odds=base,
        points_a_log_odd=scale,
        hold_chance=float(expit(base + HOLD_FROM / scale)),
        volume=volume_of(sums_of(window, chosen)),
    )


def _caps(champion: CompiledCard[FeatureVector], chosen: BinsById) -> Iterator[CardCap]:
    """The champion's caps, raised to the points of their signals; a cap over the maximum is dropped."""
    for cap in champion.card.caps:
        capped = champion.scorer.caps[cap.family]
        most = sum(most_points(bins) for signal_id, bins in chosen.items() if signal_id in capped)
        if most <= MOST_POINTS:
            yield CardCap(family=cap.family, points=max(cap.points, most))
