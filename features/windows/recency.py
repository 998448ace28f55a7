"""Indexes over the edges of a busy node, built when first needed and never dumped: newest instants, and usual weeks.

The newest instant of each other side gives the distinct parties of a window without reading its edges. That index is
built from the edges of one window, and updated as edges enter. Sides outside the window are dropped when they are as
many as those inside, so it is never much larger than its window.

The usual week of one side is the median of its distinct parties a week, the mean of the middle two rounded up, over the
completed weeks before the one of the instant, Monday 00:00 UTC to Monday 00:00 UTC, at most the newest 12.
"""

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from typing import Final

from clearhold.features.core.instants import DAY_US, DAYS_7
from clearhold.features.windows.edge_places import OTHER, Previous, newest_place, oldest_place
from clearhold.features.windows.series import ALWAYS

_LEAST_PRUNED: Final = 64
USUAL_WEEKS: Final = 12
_MONDAY_US: Final = 3 * DAY_US  # 1970-01-01 was a Thursday, three days after a Monday


class Recency:
    """Other sides by their newest instant after ``since``.

    >>> recency = Recency([(10, 7), (20, 9), (30, 7)], since=0)
    >>> recency.count(5), recency.count(20), recency.newest(9)
    (2, 1, 20)
    >>> recency.add(40, 9)
    >>> recency.count(20), recency.count(30)
    (2, 1)
    """

    __slots__ = ("_instants", "_newest", "since")

    def __init__(self, edges: Iterable[tuple[int, int]], *, since: int) -> None:
        self._newest = {other: at for at, other in edges}  # oldest first, so the newest stays
        self._instants = array("q", sorted(self._newest.values()))
        self.since = since

    def count(self, after: int) -> int:
        """The sides with an edge after ``after``, which is not before ``since``."""
        return len(self._instants) - bisect_right(self._instants, after)

    def newest(self, other: int) -> int | None:
        """The newest instant of a side; one before ``since`` may be forgotten."""
        return self._newest.get(other)

    def add(self, at: int, other: int) -> None:
        if at <= self.since:
            return
        instants, before = self._instants, self._newest.get(other)
        if before is not None and before > self.since:
            if at <= before:
                return
            del instants[bisect_left(instants, before)]
        self._newest[other] = at
        if not instants or at >= instants[-1]:
            instants.append(at)
        else:
            insort(instants, at)

    def remove(self, at: int, other: int, before: int | None) -> None:
        """The newest edge of a side went; ``before`` is the instant of the one before it, after ``since``."""
        del self._instants[bisect_left(self._instants, at)], self._newest[other]
        if before is not None:
            self._newest[other] = before
            insort(self._instants, before)

    def prune(self, since: int) -> None:
        """Forget the sides at or before ``since``, when that is worth the work."""
        gone = bisect_right(self._instants, since)
        if gone > _LEAST_PRUNED and 2 * gone > len(self._instants):
            del self._instants[:gone]
            self._newest = {other: at for other, at in self._newest.items() if at > since}
            self.since = since


def week_of(at: int) -> int:
    """The number of the week that holds an instant.

    >>> week_of(4 * DAY_US), week_of(4 * DAY_US - 1)
    (1, 0)
    """
    return (at + _MONDAY_US) // DAYS_7


def start_of(week: int) -> int:
    """The Monday on which a week begins.

    >>> week_of(start_of(2_900)), week_of(start_of(2_900) - 1)
    (2900, 2899)
    """
    return week * DAYS_7 - _MONDAY_US


def usual_weeks(first_at: int, at: int) -> range:
    """The completed weeks before the week of ``at`` that define a usual week, where ``first_at`` was the first edge."""
    week = week_of(at)
    return range(max(week_of(first_at), week - USUAL_WEEKS), week)


def median_of(counts: Iterable[int]) -> int | None:
    """The median, of an even number the mean of the middle two, rounded up; None of nothing.

    >>> median_of([3, 1, 2]), median_of([1, 4]), median_of([])
    (2, 3, None)
    """
    ordered = sorted(counts)
    if not ordered:
        return None
    return -(-(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) // 2)


def usual_of_few(times: "array[int]", parties: "array[int]", weeks: range) -> int | None:
    """The median over these weeks of meetings in them with parties, oldest first.

    >>> usual_of_few(array("q", [start_of(1), start_of(2) - 1, start_of(3)]), array("i", [4, 5, 4]), range(1, 4))
    1
    """
    counts, seen, week_end = list[int](), set[int](), start_of(weeks.start + 1)
    for at, party in zip(times, parties, strict=True):
        while at >= week_end:
            counts.append(len(seen))
            seen.clear()
            week_end += DAYS_7
        seen.add(party)
    counts.append(len(seen))
    counts.extend([0] * (len(weeks) - len(counts)))
    return median_of(counts)


class EdgeLookups:
    __slots__ = ("firsts", "previous", "recency", "usual", "usual_since", "week_counts")

    def __init__(self) -> None:
        self.recency: Recency | None = None
        self.previous: Previous | None = None  # since the first transfer of a busy node that was late
        self.firsts: dict[int, int] | None = None  # of each other side the first instant
        self.usual: int | None = None  # of the week that begins at ``usual_since``
        self.usual_since = ALWAYS
        self.week_counts: dict[int, int] | None = None  # distinct parties of the completed weeks of a busy node

    def add(self, times: "array[int]", ends: "array[int]", index: int) -> None:
        """An edge came, at that index of the columns."""
        at, other = times[index], ends[2 * index + 1]
        if self.previous is not None:
            self.previous.add(times, ends, index)
        if self.recency is not None:
            self.recency.add(at, other)
        if self.firsts is not None and at < self.firsts.get(other, at + 1):
            self.firsts[other] = at
        self._count_week(times, ends, at, other, change=1)

    def remove(self, times: "array[int]", ends: "array[int]", index: int, *, at: int, other: int) -> None:
        """An edge went, from that index of the columns."""
        if self.previous is not None:
            self.previous.remove(times, ends, index, at, other)
        if self.recency is not None and self.recency.newest(other) == at:
            first = bisect_right(times, self.recency.since)
            before = newest_place(ends, OTHER, other, first, bisect_right(times, at))
            self.recency.remove(at, other, None if before is None else times[before])
        if self.firsts is not None and self.firsts.get(other) == at:
            after = oldest_place(ends, OTHER, other, bisect_left(times, at), len(times))
            if after is None:
                del self.firsts[other]
            else:
                self.firsts[other] = times[after]
        self._count_week(times, ends, at, other, change=-1)

    def _count_week(self, times: "array[int]", ends: "array[int]", at: int, other: int, *, change: int) -> None:
        """An edge of a completed week was added or removed: the only one of its side is a party more or less."""
        if at < self.usual_since:
            self.usual_since = ALWAYS
        week = week_of(at)
        if self.week_counts is not None and week in self.week_counts:
            first, last = bisect_left(times, start_of(week)), bisect_left(times, start_of(week + 1))
            newest = newest_place(ends, OTHER, other, first, last)
            if newest is None or (change > 0 and oldest_place(ends, OTHER, other, first, newest) is None):
                self.week_counts[week] += change
