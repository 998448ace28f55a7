"""Cards of banks' own: random ones without faults, and a plain reading of what a card gives."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from clearhold.features.core.scorecards import CardCap, CardSignal, Scorecard, points_from
from clearhold.features.scorers.cards import DEFAULTS
from clearhold.features.scorers.engine import CEILING, CompiledCard
from clearhold.features.scorers.signal import Scorer, Signal

MOST_WEIGHED: Final = 40
EDGES: Final = st.sampled_from((1, 2, 3, 4, 5, 6, 8, 11, 20, 31, 90, 301, 500))


@st.composite
def card_signals(draw: st.DrawFn, signal: Signal[Any], default: CompiledCard[Any]) -> CardSignal:
    """Bins of any kind, or for a hard signal those of the default card with other points."""
    least, most = 0 if signal.hard or signal.rises else -40, 100
    if signal.mitigates:
        least, most = -40, 0
    if signal.hard:
        usual = default.bins_of(signal.id)[0]
        return points_from(signal.id, (usual.at_least, draw(st.integers(least, 100))), below=usual.below)
    drawn = draw(st.sets(EDGES | st.just(signal.least), min_size=1, max_size=4))
    edges = sorted({max(each, signal.least) if signal.rises else each for each in drawn})
    points = draw(st.lists(st.integers(least, most), min_size=len(edges), max_size=len(edges)))
    known = None if default.scorer.common is None else draw(st.none() | st.integers(0, most))
    if signal.rises:
        return points_from(signal.id, *zip(edges, sorted(points), strict=True), known=known)
    below = edges[-1] + draw(st.integers(1, 40)) if draw(st.booleans()) else None
    return points_from(signal.id, *zip(edges, points, strict=True), below=below, known=known)


@st.composite
def cards(draw: st.DrawFn, name: str) -> Scorecard:
    """A card of the scorer that has no fault: any signals, all the hard ones, and any caps and floors."""
    default = DEFAULTS[name]
    known = [each for each in default.scorer.signals.values() if not each.worked_out]
    hard = [each for each in known if each.hard]
    others = draw(st.lists(st.sampled_from([each for each in known if not each.hard]), unique_by=lambda each: each.id))
    capped = draw(st.lists(st.sampled_from([*default.scorer.caps]), unique=True)) if default.scorer.caps else []
    return Scorecard(
        scorer=name,
        name="another card",
        floor=draw(st.integers(1, 30)),
        program_floor=draw(st.integers(1, 200)) if default.scorer.has_program_floor else None,
        caps=tuple(CardCap(family=name, points=draw(st.integers(0, 100))) for name in capped),
        signals=tuple(draw(card_signals(each, default)) for each in [*hard, *others][:MOST_WEIGHED]),
    )


def points_by_hand(
    card: Scorecard, scorer: Scorer[Any], inputs: Any, looks_at: Callable[[Signal[Any]], bool]
) -> dict[str, int]:
    """The points of each signal that fires, looked up bin by bin, without groups, kinds of inputs or bisection."""
    bins, most_known = ({each.id: getattr(each, field) for each in card.signals} for field in ("bins", "most_known"))
    is_known = scorer.common is not None and scorer.common.of(inputs) is not None
    fired = {}
    for signal in scorer.signals.values():
        measured = signal.measure(inputs) if looks_at(signal) else None
        if measured is None:
            continue
        if signal.worked_out and measured > 0:
            fired[signal.id] = measured
        for each in bins.get(signal.id, ()):
            if each.at_least <= measured and (each.below is None or measured < each.below):
                most = most_known[signal.id] if is_known else None
                fired[signal.id] = each.points if most is None else min(each.points, most)
    return fired


def total_by_hand(card: Scorecard, scorer: Scorer[Any], inputs: Any, fired: dict[str, int]) -> int:
    """The score of those points: facts and families within their caps, overlaps taken away, all within 0 and 100."""
    caps = {cap.family: cap.points for cap in card.caps}
    families: dict[str | None, int] = {}
    common = set() if scorer.common is None else set((scorer.common.of(inputs) or "").split())
    left = caps.get("common", 100 * len(fired))
    for signal_id in scorer.signals:  # in the order in which signals are measured
        if signal_id in common and fired.get(signal_id, 0) > 0:
            counting = min(left, fired[signal_id])
            fired, left = fired | {signal_id: counting}, left - counting
    for signal_id, points in fired.items():
        family = scorer.signals[signal_id].family
        families[family] = families.get(family, 0) + points
    for fact in scorer.facts:
        points = sum(fired.get(signal_id, 0) for signal_id in fact.signals)
        families[fact.family] = families.get(fact.family, 0) - max(0, points - caps.get(fact.name, points))
    capped = {family: min(points, caps.get(family or "", points)) for family, points in families.items()}
    shared = sum(
        max(0, min(each.points(inputs), families.get(each.family, 0), capped.get(each.family, 0)))
        for each in scorer.overlaps
    )
    return min(CEILING, max(0, sum(capped.values()) - shared))


def changed(card: Scorecard, **fields: Any) -> Scorecard:
    return msgspec.structs.replace(card, **fields)
