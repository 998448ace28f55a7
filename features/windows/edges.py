"""Transfers as edges between the nodes of a program: who paid whom and when, kept for good in time order.

A node is an actor or a counterparty. A counterparty that is an account or an entity of the program at its first
transfer is the same node as that actor, so that money can be followed through it.

Window  a caller's own. A search looks at the newest ``EDGES_A_NODE`` edges of a node in it, so a hub costs no more; how
        many distinct parties a node has is exact, from an index where the edges are more than those
Errors  none
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from features.core.instants import DAY_US
from features.windows.recency import Recency
from features.windows.series import ALWAYS, EventTimes
from features.windows.usual_weeks import median_of, start_of, week_of, weeks_before

EDGES_A_NODE: Final = 64
LATER_EDGES: Final = 16
KEPT_WEEKS_FROM: Final = 512
MARGIN_US: Final = DAY_US
NOBODY: Final = -1

Note = tuple[int, int, int, int, int]  # known at, instant, row, other side, +1 or -1
Edge = tuple[int, int, int]  # instant, row, other side


class Near(NamedTuple):
    """Edges of one node in a window, oldest first, as three columns."""

    times: "array[int]"
    rows: "array[int]"
    others: "array[int]"

    def distinct(self, after: int, also: int | None = None) -> int:
        """How many different nodes the edges after ``after`` lead to; ``also`` counts as one of them."""
        others = set(self.others[bisect_right(self.times, after) :])
        if also is not None:
            others.add(also)
        return len(others)


NONE_NEAR: Final = Near(array("q"), array("I"), array("i"))


class Edges(EventTimes):
    """The edges of one node in one direction, by instant and, within one instant, by the transfer's row.

    A change that becomes known later leaves a note behind, so that an earlier instant still sees what was known then.

    >>> edges = Edges()
    >>> edges.add_edge(10, row=0, other=7)
    >>> edges.add_edge(20, row=1, other=9)
    >>> list(edges.near(0, 20, but=NOBODY, as_of=20).others)
    [7, 9]
    >>> edges.remove_edge(10, row=0, known_at=30)
    >>> edges.distinct((20,), 20, but=NOBODY, also=None), edges.distinct((30,), 30, but=NOBODY, also=None)
    ([2], [1])
    """

    __slots__ = ("_firsts", "_notes", "_recency", "_usual", "_usual_since", "_week_counts", "others", "rows")

    def __init__(self) -> None:
        super().__init__()
        self.rows = array("I")
        self.others = array("i")
        self._notes: list[Note] | None = None
        # What follows is derived from the edges when it is first asked for, and is in no dump.
        self._recency: Recency | None = None
        self._firsts: dict[int, int] | None = None  # of each other side the first instant
        self._usual: int | None = None  # of the week that begins at ``_usual_since``
        self._usual_since = ALWAYS
        self._week_counts: dict[int, int] | None = None  # distinct parties of the completed weeks of a busy node

    def add_edge(self, at: int, row: int, other: int, *, known_at: int | None = None) -> None:
        times, rows = self.times, self.rows
        if not times or at > times[-1]:
            index = len(times)
        else:
            index = bisect_right(times, at)
            while index and times[index - 1] == at and rows[index - 1] > row:
                index -= 1
        times.insert(index, at)
        rows.insert(index, row)
        self.others.insert(index, other)
        if self._recency is not None:
            self._recency.add(at, other)
        if self._firsts is not None and at < self._firsts.get(other, at + 1):
            self._firsts[other] = at
        self._forget_week(at)
        if known_at is not None:
            self._note(known_at, at, row, other, 1)

    def remove_edge(self, at: int, row: int, *, known_at: int) -> None:
        """Remove the edge of that transfer, from ``known_at`` on."""
        index = bisect_left(self.times, at)
        while index < len(self.times) and self.times[index] == at:
            if self.rows[index] == row:
                other = self.others[index]
                del self.times[index], self.rows[index], self.others[index]
                if self._firsts is not None and self._firsts.get(other) == at:
                    self._firsts = None
                if self._recency is not None and self._recency.newest(other) == at:
                    self._recency = None
                self._forget_week(at)
                self._note(known_at, at, row, other, -1)
                return
            index += 1

    def absorb(self, other: EventTimes) -> None:
        """Take over every edge of another node, with what became known of it later.

        A transfer that went from one of the nodes to the other at an instant did not change for both together.
        """
        assert isinstance(other, Edges)
        columns = (zip(each.times, each.rows, each.others, strict=True) for each in (self, other))
        edges = sorted(edge for each in columns for edge in each)
        self.times = array("q", [at for at, _, _ in edges])
        self.rows = array("I", [row for _, row, _ in edges])
        self.others = array("i", [side for _, _, side in edges])
        self._absorb_revisions(other)
        self._forget_derived()
        changes = Counter[tuple[int, int, int, int]]()
        for *edge, change in (*(self._notes or ()), *(other._notes or ())):  # noqa: SLF001 - its own kind
            changes[edge[0], edge[1], edge[2], edge[3]] += change
        self._notes = [(*edge, change) for edge, change in sorted(changes.items()) if change] or None

    def _forget_derived(self) -> None:
        self._recency, self._firsts, self._week_counts = None, None, None
        self._usual, self._usual_since = None, ALWAYS

    def others_ever(self) -> set[int]:
        """The nodes at the other side of the edges, those of edges that were removed included."""
        return {*self.others, *(note[3] for note in self._notes or ())}

    def rename(self, old: int, new: int, *, at_rows: Iterable[tuple[int, int]] | None = None) -> None:
        """Replace a node at the other side, of the edges at these instants and rows, or of all."""
        others = self.others
        self._forget_derived()
        if at_rows is None:
            self.others = array("i", [new if other == old else other for other in others])
        for at, row in at_rows or ():
            index = bisect_left(self.times, at)
            while self.rows[index] != row:
                index += 1
            others[index] = new
        if self._notes is not None:
            self._notes = [(*note[:3], new if note[3] == old else note[3], note[4]) for note in self._notes]

    def newest_places(self, after: int, upto: int, most: int) -> Iterator[tuple[int, int]]:
        """Instant and row of the newest edges in (after, upto] as they stand today, oldest first."""
        last = bisect_right(self.times, upto)
        first = max(bisect_right(self.times, after, 0, last), last - most)
        return zip(self.times[first:last], self.rows[first:last], strict=True)

    def holds(self, at: int, row: int) -> bool:
        """True when the transfer has an edge at that instant."""
        index = bisect_left(self.times, at)
        while index < len(self.times) and self.times[index] == at:
            if self.rows[index] == row:
                return True
            index += 1
        return False

    def near(self, after: int, upto: int, *, but: int, as_of: int, most: int = EDGES_A_NODE) -> Near:
        """The newest ``most`` edges in (after, upto], as known at ``as_of`` and without the transfer ``but``."""
        if self.revised_at > as_of:
            return self._near_then(after, upto, but, as_of, most)
        times = self.times
        last = len(times)
        if last and times[-1] > upto:
            last = bisect_right(times, upto)
        first = bisect_right(times, after, 0, last)
        if but == NOBODY:
            newest = slice(max(first, last - most), last)
            return Near(times[newest], self.rows[newest], self.others[newest])
        kept = [index for index in range(max(first, last - most - 1), last) if self.rows[index] != but]
        kept = kept[-most:]
        return Near(
            array("q", [times[index] for index in kept]),
            array("I", [self.rows[index] for index in kept]),
            array("i", [self.others[index] for index in kept]),
        )

    def distinct(self, spans: tuple[int, ...], upto: int, *, but: int, also: int | None) -> list[int]:
        """How many different nodes the edges of each (upto - span, upto] lead to, shortest span first, with ``also``.

        Exact, as known at ``upto`` and without the transfer ``but``.
        """
        times = self.times
        last = len(times)
        if but != NOBODY or self.revised_at > upto:
            return self._distinct_then(spans, upto, but, also)
        if last and times[-1] > upto:
            last = bisect_right(times, upto)
            if len(times) - last > LATER_EDGES:
                return self._distinct_then(spans, upto, but, also)
        if last > EDGES_A_NODE and times[last - EDGES_A_NODE - 1] > upto - spans[-1]:
            return self._distinct_of_many(spans, upto, also)
        self._recency = None
        nodes: set[int] = set() if also is None else {also}
        least = max(0, last - EDGES_A_NODE)
        counts = []
        for span in spans:
            if last > least and times[last - 1] > upto - span:
                first = bisect_right(times, upto - span, least, last)
                nodes.update(self.others[first:last])
                last = first
            counts.append(len(nodes))
        return counts

    def usual_week(self, at: int) -> int | None:
        """The median of distinct nodes a week over the completed weeks before ``at``, as known at ``at``.

        None until a week is completed. The result is kept until the week is over.
        """
        if self.revised_at > at:
            return self._usual_week_then(at)
        week = week_of(at)
        since = start_of(week)
        if self._usual_since == since:
            return self._usual
        if not self.times or self.times[0] >= since:
            return None
        weeks = weeks_before(week_of(self.times[0]), week)
        kept = self._week_counts or {}
        counts = {each: kept[each] if each in kept else self._parties_of(each) for each in weeks}
        self._usual, self._usual_since = median_of(counts.values()), since
        if len(self.times) >= KEPT_WEEKS_FROM:
            later = {each: count for each, count in kept.items() if each >= week}
            self._week_counts = counts | later
        return self._usual

    def firsts_of(self, others: "set[int]", at: int, *, but: int) -> dict[int, int]:
        """The first instants of the edges that lead to those nodes, as known at ``at``."""
        if self.revised_at > at:
            then = reversed(self._edges_then(ALWAYS, at, but))
            return {other: instant for instant, _, other in then if other in others}
        if self._firsts is None:
            self._firsts = dict(zip(reversed(self.others), reversed(self.times), strict=True))
        return {other: self._firsts[other] for other in others if other in self._firsts}

    def edges_between(self, after: int, upto: int, *, but: int) -> list[Edge]:
        """All edges in (after, upto], oldest first, as known at ``upto`` and without the transfer ``but``."""
        return self._edges_then(after, upto, but)

    def _distinct_of_many(self, spans: tuple[int, ...], upto: int, also: int | None) -> list[int]:
        """From the index; what lies after ``upto``, a few edges that arrived out of order, is taken out again."""
        since, times, others = upto - spans[-1], self.times, self.others
        recency = self._recency
        if recency is None:
            first = bisect_right(times, since - MARGIN_US)
            edges = zip(times[first:], others[first:], strict=True)
            recency = self._recency = Recency(edges, since=since - MARGIN_US)
        elif recency.since > since:
            return self._distinct_then(spans, upto, NOBODY, also)
        recency.prune(since - MARGIN_US)
        last = bisect_right(times, upto)
        later = set(others[last:])
        newest = None if also is None else recency.newest(also)
        counts = []
        for span in spans:
            count, is_counted = recency.count(upto - span), newest is not None and newest > upto - span
            if later:
                near = np.frombuffer(others, dtype=np.int32)[bisect_right(times, upto - span, 0, last) : last]
                count -= sum(1 for other in later if other not in near)
                is_counted = is_counted and (also not in later or also in near)
            counts.append(count + (also is not None and not is_counted))
        return counts

    def _distinct_then(self, spans: tuple[int, ...], upto: int, but: int, also: int | None) -> list[int]:
        """By looking at all edges of the longest span."""
        edges = self.edges_between(upto - spans[-1], upto, but=but)
        return [len({other for at, _, other in edges if at > upto - span} | {also}) - (also is None) for span in spans]

    def _parties_of(self, week: int) -> int:
        """Different nodes of one week."""
        first = bisect_left(self.times, start_of(week))
        return len(set(self.others[first : bisect_left(self.times, start_of(week + 1), first)]))

    def _usual_week_then(self, at: int) -> int | None:
        first = self.first(at)
        if first is None:
            return None
        week = week_of(at)
        parties: dict[int, set[int]] = {each: set() for each in weeks_before(week_of(first), week)}
        if parties:
            for instant, _, other in self._edges_then(start_of(min(parties)) - 1, at, NOBODY):
                if week_of(instant) in parties:
                    parties[week_of(instant)].add(other)
        return median_of(len(each) for each in parties.values())

    def _forget_week(self, at: int) -> None:
        """An edge of a completed week came or went."""
        if at < self._usual_since:
            self._usual_since = ALWAYS
        if self._week_counts is not None:
            self._week_counts.pop(week_of(at), None)

    def _near_then(self, after: int, upto: int, but: int, as_of: int, most: int) -> Near:
        newest = self._edges_then(after, upto, but, as_of=as_of)[-most:]
        return Near(
            array("q", [edge[0] for edge in newest]),
            array("I", [edge[1] for edge in newest]),
            array("i", [edge[2] for edge in newest]),
        )

    def _edges_then(self, after: int, upto: int, but: int, *, as_of: int | None = None) -> list[Edge]:
        """All edges in (after, upto], as known at ``as_of``, else at ``upto``."""
        then = upto if as_of is None else as_of
        first, last = bisect_right(self.times, after), bisect_right(self.times, upto)
        columns = zip(self.times[first:last], self.rows[first:last], self.others[first:last], strict=True)
        edges = [edge for edge in columns if edge[1] != but]
        if self.revised_at <= then:
            return edges
        revised = set(edges)
        for known_at, at, row, other, change in reversed(self._notes or ()):
            if known_at > then and after < at <= upto and row != but:
                (revised.discard if change > 0 else revised.add)((at, row, other))
        return sorted(revised)

    def _note(self, known_at: int, at: int, row: int, other: int, change: int) -> None:
        if self._notes is None:
            self._notes = []
        self._notes.append((known_at, at, row, other, change))
        self.revise(known_at, at, change, 0)

    def dump(self) -> tuple[Any, ...]:
        return (*super().dump(), self.rows.tobytes(), self.others.tobytes(), self._notes)

    def load(self, dumped: Any) -> None:
        super().load(dumped)
        self.rows.frombytes(dumped[3])
        self.others.frombytes(dumped[4])
        self._notes = [(note[0], note[1], note[2], note[3], note[4]) for note in dumped[5]] if dumped[5] else None


def node_of_actor(index: int) -> int:
    return 2 * index


def node_of_counterparty(index: int) -> int:
    return 2 * index + 1
