"""The smallest sets of reasons without which the band of a score would be lower.

A score is a sum over families, and what a family counts depends on its own signals alone. So the search is over tables:
for each family, the most points that go away without m reasons that can be otherwise and f that cannot. Within one fact
or family these are the largest ones, for a cap takes the same from each. Tables of families add up. The first set is
the best entry of the sum; each further one is the best entry without one reason of each earlier set, so that no listed
set contains another. Nothing is enumerated, and the work on further sets ends after ``MOST_STEPS``.

A set is minimal: without any smaller part of it the band stays. Sets come with the fewest reasons first, then with the
fewest that cannot be otherwise, then with the fewest points left.

Two signals reach beyond their family. The strongest transfer of an entity lends points to families that count once
(``Overlap.lender``): the search is made with it and without it. And where a bank's own card lets common signals count
up to a cap above 0, the points of one depend on the others: there each listed set is verified by adding up again, and
``is_exact`` is false, for others may exist. Where it is not even known which signals are common, there are no sets.

Unit    points; a band is lower from 69 and from 29 points down
Errors  none; an unscored score and one in the lowest band have no sets
"""

import heapq
from typing import Final, NamedTuple

from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM, Reason
from clearhold.features.scorers.breakdown import Breakdown
from clearhold.features.scorers.engine import CEILING
from clearhold.features.scorers.negated import FIXED
from clearhold.features.scorers.signal import Family

MOST_SETS: Final = 4
MOST_STEPS: Final = 8_000
"""Pairs of entries, some two milliseconds, after which no further set is looked for."""
MOST_IN_ALTERNATIVES: Final = 6
"""Further sets with more reasons than this are not looked for: they are too long to read."""

_FIRST_TRY: Final = 3


class SmallestSet(NamedTuple):
    """The reasons by place in the score, and the score without them."""

    reasons: tuple[Reason, ...]
    value: int


class SmallestSets(NamedTuple):
    """``is_exact`` is false where a set may exist that comes before one that is listed."""

    sets: tuple[SmallestSet, ...] = ()
    is_exact: bool = True


def smallest_sets(breakdown: Breakdown) -> SmallestSets:
    """The first sets in order; of a coupled card only sets that hold when they are added up again."""
    value = breakdown.value
    if value is None or value < REVIEW_FROM:
        return SmallestSets()
    below = HOLD_FROM if value >= HOLD_FROM else REVIEW_FROM
    if not breakdown.is_known:
        return SmallestSets(is_exact=False)
    listed = _Search(breakdown, below).sets()
    if breakdown.is_coupled:
        listed = [each for each in listed if _is_minimal(breakdown, each, below)]
    by_id = {each.reason.id: each.reason for each in breakdown.counted}
    return SmallestSets(
        tuple(
            SmallestSet(tuple(by_id[each] for each in ids), min(CEILING, max(0, breakdown.total(ids))))
            for ids in listed
        ),
        not breakdown.is_coupled,
    )


def _is_minimal(breakdown: Breakdown, ids: tuple[str, ...], below: int) -> bool:
    """Whether the set lowers the band and none of its parts with one reason less does."""
    if breakdown.total(ids) >= below:
        return False
    return all(breakdown.total([other for other in ids if other != each]) >= below for each in ids)


class _Entry(NamedTuple):
    """The most points that go away without a number of reasons, and these, by place."""

    points: int
    places: tuple[int, ...]


_Table = dict[tuple[int, int], _Entry]
"""By the numbers of reasons that can be otherwise and that cannot."""

_NOTHING: Final[_Table] = {(0, 0): _Entry(0, ())}
_Key = tuple[int, int, int, tuple[int, ...]]
"""A set in order: its size, its reasons that cannot be otherwise, points left (less than any other: first), places."""


class _Search:
    """One search: the places of a breakdown's signals, and the tables of its families, each made once."""

    def __init__(self, breakdown: Breakdown, below: int) -> None:
        self._breakdown, self._below = breakdown, below
        self._members: dict[Family | None, list[int]] = {}
        for place, each in enumerate(breakdown.counted):
            self._members.setdefault(each.family, []).append(place)
        self._place_of = {each.reason.id: place for place, each in enumerate(breakdown.counted)}
        self._lender = None if breakdown.lender is None else self._place_of.get(breakdown.lender)
        self._tables: dict[tuple[Family | None, frozenset[int], bool, int], _Table] = {}
        self._steps = 0

    def sets(self) -> list[tuple[str, ...]]:
        """The first sets in order, by the ids of their signals.

        Every set that is not listed yet lacks a reason of each listed one. So the next one is the first of all that are
        listed without one reason of each; those searches wait in order, and are refined when their set is listed.
        """
        first = self._solve(frozenset(), len(self._breakdown.counted))
        waiting = [] if first is None else [(first, 0, frozenset[int]())]
        listed: list[tuple[int, ...]] = []
        seen = set[frozenset[int]]()
        while waiting:
            key, _, without = heapq.heappop(waiting)
            if key[3] not in listed:
                listed.append(key[3])
            refined = [without | {place} for place in key[3] if without | {place} not in seen]
            if len(listed) == MOST_SETS or len(key[3]) > MOST_IN_ALTERNATIVES:
                break
            seen.update(refined)
            for number, fewer in enumerate(refined):
                if self._steps > MOST_STEPS:
                    waiting = []  # the next set is not known
                    break
                solved = self._solve(fewer, MOST_IN_ALTERNATIVES)
                if solved is not None:
                    heapq.heappush(waiting, (solved, len(seen) + number, fewer))
        ids = [each.reason.id for each in self._breakdown.counted]
        return [tuple(ids[place] for place in places) for places in listed]

    def _solve(self, without: frozenset[int], most: int) -> _Key | None:
        """The first set of at most ``most`` reasons, without those of ``without``; None if there is no such set.

        Small sets are tried first, for their tables are small.
        """
        for tried in sorted({min(_FIRST_TRY, most), most}):
            keys = [key for lends in (True, False) if (key := self._best(without, tried, lends=lends)) is not None]
            if keys:
                return min(keys)
        return None

    def _best(self, without: frozenset[int], most: int, *, lends: bool) -> _Key | None:
        """``lends`` keeps the signal that lends points to families; else it is in the set, unless it may not be."""
        lender = self._lender
        forced: tuple[int, ...] = ()
        if lender is None:
            if not lends:
                return None
        elif lends:
            without |= {lender}
        elif lender in without:
            return None
        else:
            forced = (lender,)
        ids = [self._breakdown.counted[place].reason.id for place in forced]
        need = self._breakdown.total(ids) - self._below + 1
        if need <= 0:
            return self._key(_Entry(0, ()), forced, need)
        left_out = without | set(forced)
        table = _NOTHING
        for family in self._members:
            table = self._sum(table, self._table(family, left_out, most, shares=not forced), most - len(forced))
        keys = [self._key(entry, forced, need) for entry in table.values() if entry.points >= need]
        return min(keys, default=None)

    def _key(self, entry: _Entry, forced: tuple[int, ...], need: int) -> _Key:
        places = tuple(sorted((*entry.places, *forced)))
        fixed = sum(self._breakdown.counted[place].reason.id in FIXED for place in places)
        return len(places), fixed, need - entry.points, places

    def _table(self, family: Family | None, left_out: frozenset[int], most: int, *, shares: bool) -> _Table:
        members = self._members[family]
        key = family, left_out.intersection(members), shares, most
        if key not in self._tables:
            self._tables[key] = self._of_family(family, left_out, most, shares=shares)
        return self._tables[key]

    def _of_family(self, family: Family | None, left_out: frozenset[int], most: int, *, shares: bool) -> _Table:
        breakdown = self._breakdown
        forced = set() if shares else left_out & {self._lender}
        by_fact: dict[str | None, list[int]] = {}
        for place in self._members[family]:
            if place not in forced:
                by_fact.setdefault(breakdown.counted[place].fact, []).append(place)
        own, table = 0, _NOTHING
        for fact, places in by_fact.items():
            points = sum(breakdown.counted[place].counting for place in places)
            limit = points if fact is None else min(points, breakdown.fact_cap(fact))
            own += limit
            removable = [place for place in places if place not in left_out and breakdown.counted[place].counting > 0]
            gone = self._largest(removable, most)
            table = self._sum(
                table,
                {
                    numbers: _Entry(limit - min(limit, points - entry.points), entry.places)
                    for numbers, entry in gone.items()
                },
                most,
            )
        shared = breakdown.overlaps if shares else {}
        before = breakdown.capped(family, own, shared)
        return {
            numbers: _Entry(before - breakdown.capped(family, own - entry.points, shared), entry.places)
            for numbers, entry in table.items()
        }

    def _largest(self, places: list[int], most: int) -> _Table:
        """The largest of each kind, for every number of them."""
        counted = self._breakdown.counted
        kinds: tuple[list[int], list[int]] = ([], [])
        for place in sorted(places, key=lambda each: (-counted[each].counting, each)):
            kinds[counted[place].reason.id in FIXED].append(place)
        table: _Table = {}
        for can in range(min(len(kinds[0]), most) + 1):
            for cannot in range(min(len(kinds[1]), most - can) + 1):
                chosen = (*kinds[0][:can], *kinds[1][:cannot])
                table[can, cannot] = _Entry(sum(counted[place].counting for place in chosen), chosen)
        return table

    def _sum(self, one: _Table, other: _Table, most: int) -> _Table:
        """Both tables together, up to ``most`` reasons; of two ways to one entry the one with more points."""
        table: _Table = {}
        self._steps += len(one) * len(other)
        for (can, cannot), entry in one.items():
            for (more_can, more_cannot), more in other.items():
                numbers = can + more_can, cannot + more_cannot
                if numbers[0] + numbers[1] <= most:
                    points, known = entry.points + more.points, table.get(numbers)
                    if known is None or points > known.points:
                        table[numbers] = _Entry(points, entry.places + more.places)
        return table
