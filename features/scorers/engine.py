"""The one scorecard engine: signals are measured, their bins give points, and caps and limits take some away.

Unit    points 0-100, integers; None below the card's floor, because unscored is not clear
Errors  none: all inputs have an answer, and equal inputs have equal answers. A card is checked before it comes
        here (``features/scorers/cards.py``)

Source  confidence, caps and limits all [P], proposed here; credibility n / (n + k) is Buehlmann's
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Generic

from clearhold.features.catalogue.thresholds import COMMON_FROM_PERMILLE
from clearhold.features.core.scorecards import (
    Bin,
    CardCap,
    CardSignal,
    Scorecard,
    points_when,
    scorecard_sha256,
)
from clearhold.features.core.vocabulary import Reason, Score
from clearhold.features.scorers.signal import COMMON, ONE_KIND, Fact, Family, InputKind, Inputs, Scorer, Signal

CREDIBILITY_K: Final = 20
DEGRADED_FACTOR: Final = 0.5
CEILING: Final = 100


def cap_reason(reason_id: str, capped: Family | Fact, most: int, total: int) -> Reason:
    """The deduction by the cap of a family or a fact."""
    name = capped.value if isinstance(capped, Family) else capped.name
    signals = f"Signals of the family {name}" if isinstance(capped, Family) else f"All signals that {capped.meaning}"
    sentence = f"{signals} count for at most {most} points ({total} in all)."
    return Reason(id=reason_id, signal=f"cap_{name}", weight=most - total, hard=False, sentence=sentence)


def common_reason(reason_id: str, most: int, uncounted: Mapping[str, int]) -> Reason:
    """The deduction for signals that are common around the scored subject: the points that do not count, by signal."""
    sentence = (
        f"More than {COMMON_FROM_PERMILLE - 1} of 1,000 of the program's transfers have points by "
        f"{', '.join(uncounted)}: such signals count for at most {most} points together."
    )
    return Reason(id=reason_id, signal=f"cap_{COMMON}", weight=-sum(uncounted.values()), hard=False, sentence=sentence)


def uncounted_in(reasons: Iterable[Reason], card: "CompiledCard[Any]") -> dict[str, int]:
    """The points that do not count because their signals are common, by the signal's id, read from a score's reasons.

    Signals are counted in the order of the scorer: the first one that the deduction names may count in part.
    """
    given = {reason.id: reason for reason in reasons}
    cut = None if card.common_points is None else given.get(card.scorer.cap_id(COMMON))
    if cut is None:
        return {}
    named = [each for each in card.scorer.signals if each in given and each in cut.sentence]
    lost = {each: given[each].weight for each in named}
    lost[named[0]] += -cut.weight - sum(lost.values())
    return lost


def limit_reason(prefix: str, total: int) -> Reason | None:
    """The reason that brings the points within 0 and 100; None when they already are. ``prefix`` is as TRS."""
    if total > CEILING:
        sentence = f"Points above {CEILING} are cut ({total} in all)."
        return Reason(id=f"{prefix}-CAP-99", signal="ceiling", weight=CEILING - total, hard=False, sentence=sentence)
    if total < 0:
        sentence = "Points below 0 are raised to 0."
        return Reason(id=f"{prefix}-CAP-00", signal="floor", weight=-total, hard=False, sentence=sentence)
    return None


def in_order(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """By weight descending, then by id."""
    return tuple(sorted(reasons, key=lambda reason: (-reason.weight, reason.id)) if len(reasons) > 1 else reasons)


def _credibility(n: int) -> float:
    return round(n / (n + CREDIBILITY_K), 2)


_FULL_FROM: Final = next(n for n in range(10**6) if _credibility(n) == 1)
_CONFIDENCE: Final = tuple(
    tuple(round(_credibility(n) * factor, 3) for n in range(_FULL_FROM + 1)) for factor in (1.0, DEGRADED_FACTOR)
)


class WeighedSignal(Generic[Inputs]):
    """A signal with its bins: ``points[k]`` counts from ``edges[k - 1]`` on, and is None outside of every bin."""

    __slots__ = ("edges", "least", "measure", "points", "signal")

    def __init__(self, signal: Signal[Inputs], bins: tuple[Bin, ...]) -> None:
        points: list[int | None] = [None]
        edges: list[int] = []
        for each in bins:
            edges.append(each.at_least)
            points.append(each.points)
        if bins and bins[-1].below is not None:
            edges.append(bins[-1].below)
            points.append(None)
        self.signal = signal
        self.measure: Callable[[Inputs], int | None] = signal.measure
        self.edges: tuple[int, ...] = tuple(edges)
        self.points: tuple[int | None, ...] = tuple(points)
        self.least: int = edges[0] if edges else signal.least

    def points_of(self, measured: int) -> int | None:
        return self.points[bisect_right(self.edges, measured)] if self.edges else measured


Fired = tuple[Signal[Inputs], int, int]
"""A signal that fired, its measure and its points."""

_Measured = tuple[Callable[[Inputs], int | None], int, WeighedSignal[Inputs]]
"""The function that measures a signal, the least measure that counts, and the signal."""

_Group = tuple[Callable[[Inputs], object] | None, tuple[_Measured[Inputs], ...]]

Weighed = tuple[int | None, bool, int, list[Fired[Inputs]], list[Reason]]
"""A score before its reasons are worded: points, whether a hard signal fired, n, fired signals, and deductions.

Below the floor there are no points, and hard signals alone are measured.
"""


class CompiledCard(Generic[Inputs]):
    """A card that scores. ``version`` is the version of its scores."""

    def __init__(self, scorer: Scorer[Inputs], card: Scorecard, version: str) -> None:
        self.scorer, self.card, self.version = scorer, card, version
        self.sha256 = scorecard_sha256(card)
        caps = {cap.family: cap.points for cap in card.caps}
        self.caps: dict[Family, int] = {family: caps[family] for family in scorer.capped if family in caps}
        self.facts: dict[Fact, int] = {fact: caps[fact.name] for fact in scorer.facts if fact.name in caps}
        self.common_points: int | None = caps.get(COMMON)
        self._common_of: Callable[[Inputs], str | None] = _unknown if scorer.common is None else scorer.common.of
        self._fact_of: dict[str, Fact] = {each: fact for fact in self.facts for each in fact.signals}
        capped = (*scorer.capped, *(fact.name for fact in scorer.facts), COMMON)
        self._cap_ids = {name: scorer.cap_id(name) for name in capped}
        of_card = {each.id: each for each in card.signals}
        self._most_known = {each.id: each.most_known for each in card.signals if each.most_known is not None}
        self.weighed: dict[str, WeighedSignal[Inputs]] = {}
        for signal in scorer.signals.values():
            if signal.id in of_card:
                self.weighed[signal.id] = WeighedSignal(signal, of_card[signal.id].bins)
            elif signal.worked_out:
                self.weighed[signal.id] = WeighedSignal(signal, ())
        self._groups_of = {kind.name: self._groups(kind, only_hard=False) for kind in scorer.kinds}
        self._hard_groups_of = {kind.name: self._groups(kind, only_hard=True) for kind in scorer.kinds}
        self._kind_of: Callable[[Inputs], str] | None = scorer.kind_of
        self._observations: Callable[[Inputs, int, int], tuple[int, bool]] = scorer.observations
        self._floor: int = card.floor
        self._program_floor: int = card.program_floor or 0
        self._prefix: str = scorer.prefix
        self._whole: int | None = scorer.whole

    def weigh(self, inputs: Inputs) -> Weighed[Inputs]:
        """The points alone, for a caller that only compares them with the last ones."""
        n, is_enough = self._observations(inputs, self._floor, self._program_floor)
        kind = ONE_KIND.name if self._kind_of is None else self._kind_of(inputs)
        if not is_enough:
            fired = self._measure(self._hard_groups_of[kind], inputs)
            return None, bool(fired), n, fired, []
        fired = self._measure(self._groups_of[kind], inputs)
        if not fired:
            return 0, False, n, fired, []
        total, cuts = self._add_up(inputs, fired)
        is_hard = any([signal.hard for signal, _, _ in fired])  # noqa: C419 - a list costs half as much
        return min(CEILING, max(0, total)), is_hard, n, fired, cuts

    def score(self, inputs: Inputs, *, degraded: bool = False) -> Score:
        """The points with all their reasons, caps and limits among them; ``degraded`` halves the confidence."""
        return self.explain(inputs, self.weigh(inputs), degraded=degraded)

    def explain(self, inputs: Inputs, weighed: Weighed[Inputs], *, degraded: bool = False) -> Score:
        """The score with its reasons; a null score lists the hard ones."""
        value, _, n, fired, cuts = weighed
        reasons = in_order([*_reasons(inputs, fired), *cuts]) if fired else ()
        confidence = None if value is None else self._confidence(n, degraded=degraded)
        return Score(version=self.version, value=value, n=n, confidence=confidence, reasons=reasons)

    def without(self, inputs: Inputs, signal_ids: Collection[str]) -> int | None:
        """The points of the same inputs if these signals had not fired."""
        value, _, _, fired, _ = self.weigh(inputs)
        if value is None:
            return None
        total, _ = self._add_up(inputs, [each for each in fired if each[0].id not in signal_ids], signal_ids)
        return min(CEILING, max(0, total))

    def fired(self, inputs: Inputs) -> list[Reason]:
        """Every reason that the signals give, even without enough data for a score; no caps."""
        kind = ONE_KIND.name if self._kind_of is None else self._kind_of(inputs)
        return _reasons(inputs, self._measure(self._groups_of[kind], inputs))

    def bins_of(self, signal_id: str) -> tuple[Bin, ...]:
        """The bins of a signal on the card; empty for a signal without points."""
        return next((each.bins for each in self.card.signals if each.id == signal_id), ())

    def most_known(self, signal_id: str) -> int | None:
        """The most points of a signal where the program's usual is known; None without such a limit."""
        return self._most_known.get(signal_id)

    def amount_edges(self, inputs: Inputs) -> Iterator[int]:
        """Every amount in cents at which a signal's points may change."""
        for each in self.weighed.values():
            if each.signal.edges is not None:
                yield from each.signal.edges(inputs, each.edges)

    def _confidence(self, n: int, *, degraded: bool) -> float:
        """Credibility n / (n + 20), halved when an input was missing or stale; or the share of the whole."""
        return _CONFIDENCE[degraded][min(n, _FULL_FROM)] if self._whole is None else round(n / self._whole, 2)

    def _add_up(
        self, inputs: Inputs, fired: list[Fired[Inputs]], without: Collection[str] = ()
    ) -> tuple[int, list[Reason]]:
        """The points before the limits, and the reasons of all deductions, including the limits.

        ``without`` are the signals that are left out of ``fired``. Points that they lent to others are then not taken.
        """
        total, by_family, by_fact = 0, dict[Family | None, int](), dict[str, int]()
        cuts: list[Reason] = []
        common = None if self.common_points is None else self._common_of(inputs)
        uncounted = self._uncounted(_ids_in(common), fired) if common else {}
        for signal, _, points in fired:
            total += points
            counting = points - uncounted.get(signal.id, 0) if uncounted else points
            by_family[signal.family] = by_family.get(signal.family, 0) + counting
            fact = self._fact_of.get(signal.id)
            if fact is not None:
                by_fact[fact.name] = by_fact.get(fact.name, 0) + counting
        if uncounted:
            cuts.append(common_reason(self._cap_ids[COMMON], self.common_points or 0, uncounted))
        for fact, most in self.facts.items() if by_fact else ():
            points = by_fact.get(fact.name, most)
            if points > most:
                by_family[fact.family] -= points - most
                cuts.append(cap_reason(self._cap_ids[fact.name], fact, most, points))
        cuts += [
            cap_reason(self._cap_ids[family], family, self.caps[family], points)
            for family, points in by_family.items()
            if family is not None and points > self.caps.get(family, points)
        ]
        cuts += self._overlaps(inputs, by_family, without)
        total += sum([cut.weight for cut in cuts])
        limited = limit_reason(self._prefix, total)
        if limited is not None:
            cuts.append(limited)
        return total, cuts

    def _uncounted(self, common: frozenset[str], fired: list[Fired[Inputs]]) -> dict[str, int]:
        """The points of common signals that are over the cap, by the signal's id."""
        left, uncounted = self.common_points or 0, {}
        for signal, _, points in fired:
            if points > 0 and signal.id in common:
                counts = min(points, left)
                left -= counts
                if counts < points:
                    uncounted[signal.id] = points - counts
        return uncounted

    def _measure(self, groups: tuple[_Group[Inputs], ...], inputs: Inputs) -> list[Fired[Inputs]]:
        fired: list[Fired[Inputs]] = []
        for may_fire, signals in groups:
            if may_fire is None or may_fire(inputs):
                for measure, least, weighed in signals:
                    measured = measure(inputs)
                    if measured is None or measured < least:
                        continue
                    points = weighed.points_of(measured)
                    if points is not None:
                        fired.append((weighed.signal, measured, points))
        if not fired or not self._most_known or self._common_of(inputs) is None:
            return fired
        most = self._most_known.get
        return [(signal, measured, min(points, most(signal.id, points))) for signal, measured, points in fired]

    def _overlaps(
        self, inputs: Inputs, by_family: dict[Family | None, int], without: Collection[str]
    ) -> Iterator[Reason]:
        for each in self.scorer.overlaps:
            if each.lender in without:
                continue
            own = by_family.get(each.family, 0)
            shared = min(each.points(inputs), own, self.caps.get(each.family, own))
            if shared > 0:
                yield Reason(id=each.id, signal=each.name, weight=-shared, hard=False, sentence=each.sentence(shared))

    def _groups(self, kind: InputKind, *, only_hard: bool) -> tuple[_Group[Inputs], ...]:
        """The groups with the signals that count in a kind, without empty groups."""
        weighed = self.weighed
        compiled = []
        for group in self.scorer.groups:
            signals = [each for each in group.signals if each.id in weighed and kind.holds(each)]
            counting = [weighed[each.id] for each in signals if each.hard or not only_hard]
            if counting:
                compiled.append((group.may_fire, tuple((each.measure, each.least, each) for each in counting)))
        return tuple(compiled)


def checks(*groups: Mapping[Signal[Inputs], int]) -> tuple[CardSignal, ...]:
    """Checks with the points that the default card gives each, as the card has them."""
    return tuple(points_when(signal.id, points) for group in groups for signal, points in group.items())


def default_card(
    scorer: Scorer[Inputs],
    *,
    floor: int,
    signals: tuple[CardSignal, ...],
    caps: Mapping[Family, int] = MappingProxyType({}),
    facts: Mapping[Fact, int] = MappingProxyType({}),
    common: int | None = None,
    program_floor: int | None = None,
) -> CompiledCard[Inputs]:
    """The card of a scorer's own version, which scores where no other is in force."""
    card = Scorecard(
        scorer=scorer.name,
        name=scorer.version,
        floor=floor,
        program_floor=program_floor,
        caps=(
            *(CardCap(family=family.value, points=most) for family, most in caps.items()),
            *(CardCap(family=fact.name, points=most) for fact, most in facts.items()),
            *(() if common is None else (CardCap(family=COMMON, points=common),)),
        ),
        signals=signals,
    )
    return CompiledCard(scorer, card, scorer.version)


@lru_cache(maxsize=1_024)
def _ids_in(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _unknown(_: object) -> None:
    return None


def _reasons(inputs: Inputs, fired: list[Fired[Inputs]]) -> list[Reason]:
    return [signal.reason(inputs, measured, points) for signal, measured, points in fired]
