"""Points for the signals of a scorer, fitted to labels: an additive model of one-step trees, read out as bins.

Model   boosted stumps on the log-odds of bad: each adds a step to one signal alone, so their sum is a card. Where the
        domain says that more of a signal is worse, no step goes down
Unit    points are log-odds times a constant, rounded, so that ``HOLD_FROM`` of them mean the first of ``HOLD_CHANCES``
        at which the hold band has ``FEWEST_HELD`` labelled transfers
Rests   what the labels cannot say anything of keeps the champion's points
Errors  ``NoCardError`` where transfers are nearly as often bad when nothing is seen of them
Source  Friedman, Greedy Function Approximation, 2001; Lou, Caruana and Gehrke, Intelligible Models, 2012
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from clearhold.calibrate.request import NoCardError
from clearhold.calibrate.samples import BAD, Column, Samples, inputs_of
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.scorecards import MOST_POINTS, Bin, CardCap, CardSignal, Scorecard
from clearhold.features.core.vocabulary import HOLD_FROM
from clearhold.features.scorers.cards import MOST_WEIGHED
from clearhold.features.scorers.engine import CompiledCard
from clearhold.features.scorers.signal import Signal

FEWEST_MEASURED: Final = 30
"""Scored, labelled transfers on which a signal must have fired before its points are fitted."""

MOST_FITTED_BINS: Final = 6
FEWEST_IN_BIN: Final = 10
ROUNDS: Final = (25, 50, 100, 200, 400)
LEARNING_RATE: Final = 0.1
FEWEST_HELD: Final = 20
HOLD_CHANCES: Final = (0.5, 1 / 3, 0.2, 0.1, 0.05)
LEAST_APART: Final = 1.0
"""Log-odds from a transfer of which no signal fires to the hold band; below, points would tell too little apart. [P]"""

_INNER_SPLIT: Final = 0.75

AnySignal = Signal[FeatureVector]


class Steps(NamedTuple):
    """The log-odds that a signal adds from each measure on; ``gain`` is how much it tells transfers apart."""

    signal: AnySignal
    edges: tuple[int, ...]
    log_odds: tuple[float, ...]
    gain: float


class Fit(NamedTuple):
    """A fitted card. ``fitted`` are the signals with points from labels, ``kept`` those with the champion's."""

    card: Scorecard
    fitted: tuple[str, ...]
    kept: tuple[str, ...]
    without_points: tuple[str, ...]
    rounds: int
    base_log_odds: float
    points_a_log_odd: float
    hold_chance: float


def fit_card(samples: Samples, champion: CompiledCard[FeatureVector], name: str, left_out: Sequence[str] = ()) -> Fit:
    """A card for labelled and scored samples in order of time. The same samples give the same card, byte for byte: one
    thread adds up in one order.
    """
    with threadpool_limits(1):
        return _fitted_card(samples, champion, name, left_out)


def _fitted_card(samples: Samples, champion: CompiledCard[FeatureVector], name: str, left_out: Sequence[str]) -> Fit:
    every = [champion.scorer.signals[signal_id] for signal_id in samples.signal_ids]
    inputs = inputs_of(samples, champion.scorer.signals)
    known = [
        place for place, signal in enumerate(every) if signal.id not in left_out and _is_known(inputs[:, place], signal)
    ]
    bad = samples.label == BAD
    if not known:
        raise NoCardError([f"No signal fired on {FEWEST_MEASURED} labelled transfers of the fit window."])
    model = _Model(inputs, bad, [every[place] for place in known], known)
    steps = model.steps()
    hard = {signal.id for signal in every if signal.hard}
    best = sorted(steps, key=lambda each: (-each.gain, each.signal.id))
    others = [each.signal.id for each in best if any(each.log_odds) and each.signal.id not in hard]
    chosen = {*hard, *others[: MOST_WEIGHED - len(hard)]}
    places = [place for place in known if every[place].id in chosen]
    if not any(any(each.log_odds) for each in steps):
        raise NoCardError(["No signal fired more often on bad transfers of the fit window than on the others."])
    if 0 < len(places) < len(known):
        model = _Model(inputs, bad, [every[place] for place in places], places)
        steps = model.steps()
    rest = [signal for place, signal in enumerate(every) if place not in known and signal.id not in left_out]
    return _scaled(steps, rest, model, samples, champion, name)


def _is_known(column: Column, signal: AnySignal) -> bool:
    measured = column[~np.isnan(column)]
    seen = np.count_nonzero(measured) if signal.rises else len(measured)
    return bool(seen >= FEWEST_MEASURED and len(np.unique(measured)) > 1)


class _Model:
    """The boosted stumps over some of the columns."""

    def __init__(self, inputs: Column, bad: Column, signals: Sequence[AnySignal], places: Sequence[int]) -> None:
        self.signals, self._inputs, self._bad = signals, inputs[:, list(places)], bad
        self.rounds = self._best_rounds()
        self._trees = self._fitted(slice(None), self.rounds)
        self._reference = np.array([0.0 if signal.rises else np.nan for signal in signals])
        self.base = float(self._trees.decision_function(self._reference.reshape(1, -1))[0])

    def steps(self) -> list[Steps]:
        return [self._steps_of(place) for place in range(len(self.signals))]

    def _best_rounds(self) -> int:
        """How many stumps say most of the last quarter of the time, when they have seen the time before it alone."""
        cut = int(len(self._bad) * _INNER_SPLIT)
        if len(np.unique(self._bad[:cut])) < 2 or not self._bad[cut:].any():  # noqa: PLR2004 - two classes
            return ROUNDS[1]
        trees = self._fitted(slice(cut), ROUNDS[-1])
        losses = {
            rounds: log_loss(self._bad[cut:], chances[:, 1], labels=[False, True])
            for rounds, chances in enumerate(trees.staged_predict_proba(self._inputs[cut:]), start=1)
            if rounds in ROUNDS
        }
        return min(losses, key=lambda rounds: (losses[rounds], rounds))

    def _fitted(self, rows: slice, rounds: int) -> Any:
        trees = HistGradientBoostingClassifier(
            max_leaf_nodes=2,
            max_iter=rounds,
            learning_rate=LEARNING_RATE,
            min_samples_leaf=FEWEST_IN_BIN,
            l2_regularization=1.0,
            monotonic_cst=[int(signal.rises) for signal in self.signals],
            early_stopping=False,
            random_state=0,  # of more than 200,000 rows it draws some for its edges
        )
        inputs = self._inputs[rows]
        unmeasured = np.isnan(inputs).all(axis=0)  # a column of nothing has no edges: it is fitted as one that is alike
        return trees.fit(np.where(unmeasured, 0.0, inputs), self._bad[rows])

    def _steps_of(self, place: int) -> Steps:
        """The curve of one signal, with all others at rest, as few steps of whole numbers."""
        signal, column = self.signals[place], self._inputs[:, place]
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        rows = np.tile(self._reference, (len(values), 1))
        rows[:, place] = values
        curve = self._trees.decision_function(rows) - self.base
        tree = DecisionTreeRegressor(
            max_leaf_nodes=MOST_FITTED_BINS,
            min_weight_fraction_leaf=min(0.5, FEWEST_IN_BIN / int(counts.sum())),
            random_state=0,
        )
        tree.fit(values.reshape(-1, 1), curve, sample_weight=counts)
        smooth = tree.predict(values.reshape(-1, 1))
        starts = [0, *(np.flatnonzero(np.diff(smooth)) + 1).tolist()]
        edges = [_roundest(int(values[k - 1]) if k else None, int(values[k])) for k in starts]
        mean = float(np.average(curve, weights=counts))
        gain = float(np.average((curve - mean) ** 2, weights=counts))
        log_odds = [float(smooth[k]) for k in starts]
        if signal.rises:
            usual = max(self._usual(column, values[starts]), sum(edge < signal.least for edge in edges))
            log_odds[:usual] = [0.0] * usual
        return Steps(signal, tuple(edges), tuple(log_odds), gain)

    def _usual(self, column: Column, starts: Column) -> int:
        """How many steps, from the lowest on, are no more often bad than all transfers: they get no points."""
        steps, base = np.digitize(column, starts) - 1, float(np.mean(self._bad))
        shares = (float(np.mean(self._bad[steps == step])) for step in range(len(starts)))
        return next((step for step, share in enumerate(shares) if share > base), len(starts))


def _roundest(above: int | None, upto: int) -> int:
    """The number with the most zeros at its end that is more than ``above`` and at most ``upto``."""
    if above is None:
        return upto
    size = 1
    while upto // (size * 10) * (size * 10) > above:
        size *= 10
    return upto // size * size


def _scaled(
    steps: Sequence[Steps],
    rest: Sequence[AnySignal],
    model: _Model,
    samples: Samples,
    champion: CompiledCard[FeatureVector],
    name: str,
) -> Fit:
    chance, scale, weighed = _points(steps, model.base, samples, champion)
    fitted = {signal_id: bins for signal_id, bins in weighed.items() if any(each.points for each in bins)}
    signals, kept = dict(fitted), []
    hard = [each for each in champion.scorer.signals.values() if each.hard and each.id not in fitted]
    room = MOST_WEIGHED - len(fitted)
    for signal in [*hard, *sorted(rest, key=lambda each: (-_most(champion.bins_of(each.id)), each.id))]:
        bins = champion.bins_of(signal.id)
        if signal.id in signals or not bins:
            continue
        if signal.id in weighed:
            signals[signal.id] = weighed[signal.id] or tuple(msgspec.structs.replace(each, points=0) for each in bins)
        elif room > 0:
            signals[signal.id], room = bins, room - 1
            kept.append(signal.id)
    order = [signal_id for signal_id in champion.scorer.signals if signal_id in signals]
    card = msgspec.structs.replace(
        champion.card,
        name=name,
        caps=tuple(_caps(champion, fitted)),
        signals=tuple(CardSignal(id=signal_id, bins=signals[signal_id]) for signal_id in order),
    )
    without = tuple(signal.id for signal in champion.scorer.signals.values() if signal.id not in signals)
    return Fit(card, tuple(fitted), tuple(kept), without, model.rounds, model.base, scale, chance)


def _points(
    steps: Sequence[Steps], base: float, samples: Samples, champion: CompiledCard[FeatureVector]
) -> tuple[float, float, dict[str, tuple[Bin, ...]]]:
    """Log-odds as points: the hold band begins at even odds if that holds enough, else at lesser ones."""
    chosen = None
    for chance in HOLD_CHANCES:
        apart = float(np.log(chance / (1 - chance))) - base
        if apart < LEAST_APART:
            break
        scale = HOLD_FROM / apart
        weighed = {each.signal.id: _bins_of(each, scale, champion) for each in steps}
        chosen = chance, scale, weighed
        if np.count_nonzero(_sums(samples, weighed) >= HOLD_FROM) >= FEWEST_HELD:
            break
    if chosen is None:
        at_rest = f"{100 / (1 + np.exp(-base)):.0f} %"
        sentence = f"A transfer of which no signal fires is bad with {at_rest}, by labels of reviewed transfers only."
        raise NoCardError([f"{sentence} Label a random sample of the others."])
    return chosen


def _bins_of(steps: Steps, scale: float, champion: CompiledCard[FeatureVector]) -> tuple[Bin, ...]:
    """Steps as bins of points, without those at either end that add none."""
    rises = steps.signal.rises
    bins: list[tuple[int, int]] = []
    for edge, log_odds in zip(steps.edges, steps.log_odds, strict=True):
        points = max(-MOST_POINTS, min(MOST_POINTS, round(log_odds * scale)))
        if steps.signal.mitigates:
            points = min(0, points)
        elif rises:
            points = max(0, points)
        if (bins and bins[-1][1] == points) or (not bins and not points):
            continue
        bins.append((edge, points))
    usual = champion.bins_of(steps.signal.id)
    if steps.signal.hard and usual and (not bins or bins[0][0] > usual[0].at_least):
        bins.insert(0, (usual[0].at_least, 0))
    if not bins:
        return ()
    ends: list[int | None] = [edge for edge, _ in bins[1:]]
    if not rises and not bins[-1][1]:
        return tuple(
            Bin(at_least=edge, below=end, points=points) for (edge, points), end in zip(bins[:-1], ends, strict=True)
        )
    return tuple(
        Bin(at_least=edge, below=end, points=points) for (edge, points), end in zip(bins, [*ends, None], strict=True)
    )


def _sums(samples: Samples, weighed: dict[str, tuple[Bin, ...]]) -> Column:
    """The points of each sample, caps and limits aside: what the scale is chosen by."""
    total = np.zeros(len(samples.at), np.int64)
    for place, signal_id in enumerate(samples.signal_ids):
        for each in weighed.get(signal_id, ()):
            column = samples.measures[:, place]
            below = np.inf if each.below is None else each.below
            total += np.where((column >= each.at_least) & (column < below), each.points, 0)
    return total


def _most(bins: Sequence[Bin]) -> int:
    return max((each.points for each in bins), default=0)


def _caps(champion: CompiledCard[FeatureVector], fitted: dict[str, tuple[Bin, ...]]) -> Iterator[CardCap]:
    """The champion's caps, raised to the fitted points of their signals; a cap over the maximum is dropped."""
    for cap in champion.card.caps:
        capped = champion.scorer.caps[cap.family]
        most = sum(_most(bins) for signal_id, bins in fitted.items() if signal_id in capped)
        if most <= MOST_POINTS:
            yield CardCap(family=cap.family, points=max(cap.points, most))
