"""Measures of a ranking of transfers: shares with Wilson intervals, scenarios found, precision and recall at a volume.

Unit      a volume is a number of transfers; a row that two banks saw is two transfers, and found when either is
Precision bad transfers among the alerted ones
Recall    bad rows with an alerted transfer among all bad rows
Null      a share of nothing is None: not measured, never 0
Source    Wilson, Probable inference, the law of succession, and statistical inference (1927): the interval
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt
from typing import Final, NamedTuple

import msgspec

from bench.detection.data import Case
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM

Z: Final = 1.959964  # two-sided 95 %


class Share(msgspec.Struct, frozen=True):
    """A part of ``n``."""

    hits: int
    n: int

    @property
    def value(self) -> float | None:
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % Wilson interval."""
        if self.n == 0:
            return None
        middle = (self.hits + Z * Z / 2) / (self.n + Z * Z)
        reach = Z / (self.n + Z * Z) * sqrt(self.hits * (self.n - self.hits) / self.n + Z * Z / 4)
        return max(0.0, middle - reach), min(1.0, middle + reach)

    def __str__(self) -> str:
        if self.interval is None or self.value is None:
            return "not measured (n = 0)"
        low, high = self.interval
        return f"{100 * self.value:.1f} % ({self.hits:,} of {self.n:,}; {100 * low:.1f}-{100 * high:.1f})"


class Kind(NamedTuple):
    """Scenarios that belong together: of one typology, bad or innocent."""

    typology: str
    bad: bool


class Touched(NamedTuple):
    """Scenarios and rows of one kind."""

    scenarios: frozenset[str]
    rows: frozenset[str]


NOTHING: Final = Touched(frozenset(), frozenset())


class AtVolume(msgspec.Struct, frozen=True, kw_only=True):
    """What the first ``volume`` transfers of a ranking are."""

    volume: int
    precision: Share
    recall: Share
    scenarios: Share
    touched: Mapping[Kind, Touched]


def in_review_or_hold(case: Case) -> bool:
    return case.answer.score is not None and case.answer.score >= REVIEW_FROM


def in_hold(case: Case) -> bool:
    return case.answer.score is not None and case.answer.score >= HOLD_FROM


def touched(cases: Iterable[Case]) -> dict[Kind, Touched]:
    """The labelled scenarios and rows that the cases belong to."""
    scenarios: dict[Kind, set[str]] = {}
    rows: dict[Kind, set[str]] = {}
    for case in cases:
        if case.label.scenario:
            kind = Kind(case.label.typology, case.label.bad)
            scenarios.setdefault(kind, set()).add(case.label.scenario)
            rows.setdefault(kind, set()).add(case.row)
    return {kind: Touched(frozenset(scenarios[kind]), frozenset(rows[kind])) for kind in sorted(scenarios)}


def by_score(cases: Iterable[Case]) -> list[Case]:
    """Highest first; the unscored come after all others, since a null is no 0."""
    return sorted(cases, key=lambda case: (case.answer.score is None, -(case.answer.score or 0), case.order))


def by_card(cases: Iterable[Case]) -> list[Case]:
    """As by score, of the other card."""
    return sorted(cases, key=lambda case: (case.answer.by_card is None, -(case.answer.by_card or 0), case.order))


def by_over_own(cases: Iterable[Case]) -> list[Case]:
    """The largest against the entity's own past first; where it has none, after all others."""
    return sorted(cases, key=lambda case: (-_known(case.answer.over_own), case.order))


def by_oddness(cases: Iterable[Case]) -> list[Case]:
    """What the isolation forest parts from the rest soonest comes first."""
    return sorted(cases, key=lambda case: (-_known(case.answer.oddness), case.order))


def by_trees(cases: Iterable[Case]) -> list[Case]:
    """The likeliest bad first, by trees over the vectors."""
    return _by_log_odds(cases, lambda case: case.answer.by_trees)


def by_signal_trees(cases: Iterable[Case]) -> list[Case]:
    """The same, over the signals."""
    return _by_log_odds(cases, lambda case: case.answer.by_signal_trees)


def _by_log_odds(cases: Iterable[Case], of: Callable[[Case], float | None]) -> list[Case]:
    def key(case: Case) -> tuple[bool, float, int]:
        value = of(case)
        return value is None, 0.0 if value is None else -value, case.order

    return sorted(cases, key=key)


def _known(value: float | None) -> float:
    return -1.0 if value is None else value


def by_cents(cases: Iterable[Case]) -> list[Case]:
    """The largest amount first."""
    return sorted(cases, key=lambda case: (-case.answer.cents, case.order))


def by_first_and_cents(cases: Iterable[Case]) -> list[Case]:
    """The first transfers from one party to another, the largest first, then all others."""
    return sorted(cases, key=lambda case: (not case.first_of_pair, -case.answer.cents, case.order))


def average_precision(ranking: Sequence[Case]) -> float | None:
    """The mean of the precision at every bad transfer of a ranking."""
    hits, total = 0, 0.0
    for place, case in enumerate(ranking, start=1):
        if case.label.bad:
            hits += 1
            total += hits / place
    return total / hits if hits else None


def by_amount(cases: Sequence[Case]) -> list[Case]:
    """Highest percentile of the amount within its program and rail first; equal amounts share the middle of theirs."""
    amounts: dict[tuple[str, str], list[int]] = {}
    for case in cases:
        amounts.setdefault((case.answer.program, case.answer.rail), []).append(case.answer.cents)
    for group in amounts.values():
        group.sort()

    def percentile(case: Case) -> float:
        group, cents = amounts[case.answer.program, case.answer.rail], case.answer.cents
        return (bisect_left(group, cents) + bisect_right(group, cents)) / (2 * len(group))

    return sorted(cases, key=lambda case: (-percentile(case), case.order))


def by_first_of_pair(cases: Iterable[Case]) -> list[Case]:
    """The first transfers from one party to another, in the order of their hashes, then all others."""
    return sorted(cases, key=lambda case: (not case.first_of_pair, case.order))


def by_lot(cases: Iterable[Case]) -> list[Case]:
    """In the order of their hashes: what chance finds."""
    return sorted(cases, key=lambda case: case.order)


def at_volume(ranking: Sequence[Case], volume: int) -> AtVolume:
    picked, all_of = ranking[:volume], touched(ranking)
    hits_by_kind = touched(picked)
    bad = [kind for kind in all_of if kind.bad]
    return AtVolume(
        volume=len(picked),
        precision=Share(sum(case.label.bad for case in picked), len(picked)),
        recall=Share(*_counts(hits_by_kind, all_of, bad, "rows")),
        scenarios=Share(*_counts(hits_by_kind, all_of, bad, "scenarios")),
        touched=hits_by_kind,
    )


def _counts(
    hits_by_kind: Mapping[Kind, Touched], all_of: Mapping[Kind, Touched], kinds: Sequence[Kind], what: str
) -> tuple[int, int]:
    return (
        sum(len(getattr(hits_by_kind.get(kind, NOTHING), what)) for kind in kinds),
        sum(len(getattr(all_of[kind], what)) for kind in kinds),
    )


def volume_of(cases: Sequence[Case], per_thousand: float) -> int:
    return round(len(cases) * per_thousand / 1000)


def per_thousand(count: int, n: int) -> float | None:
    return 1000 * count / n if n else None


def times(cases: Iterable[Case]) -> dict[Kind, dict[str, list[int]]]:
    """When the rows of each scenario were made, in order; a row that two banks saw is one."""
    rows = {case.row: case for case in cases if case.label.scenario}
    hits_by_kind: dict[Kind, dict[str, list[int]]] = {}
    for case in sorted(rows.values(), key=lambda case: case.at):
        of_kind = hits_by_kind.setdefault(Kind(case.label.typology, case.label.bad), {})
        of_kind.setdefault(case.label.scenario, []).append(case.at)
    return dict(sorted(hits_by_kind.items()))


def span_days(ordered: Sequence[int]) -> int:
    """The whole days from the first to the last."""
    return (ordered[-1] - ordered[0]) // DAY_US


def densest(ordered: Sequence[int], window: int) -> int:
    """The most of them that one window, half-open as all windows are, holds."""
    return max(place + 1 - bisect_right(ordered, at - window) for place, at in enumerate(ordered))


def days_word(days: int, edges: Sequence[int]) -> str:
    """Which of the classes that end with the edges it is in."""
    place = bisect_left(edges, days)
    first = edges[place - 1] + 1 if place else 0
    return f"{first}-{edges[place]} days" if place < len(edges) else f"{first} days and more"
