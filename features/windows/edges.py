"""Transfers as edges between the nodes of a program, kept for good in time order.

A node is an actor or a counterparty. A counterparty that is an account or an entity of the program at its first
transfer is the same node as that actor, so that money can be followed through it.

Window  the caller's. A search reads the newest ``EDGES_A_NODE`` edges of a node in it, so a hub costs no more; the
        number of distinct parties of a node is exact, from an index where the node has more edges
Errors  none
"""

from array import array
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from clearhold.features.core.instants import DAY_US, DAYS_7
from clearhold.features.windows.edge_places import OTHER, Previous, newest_place, place_of
from clearhold.features.windows.edges_then import Edge, EdgesThen, Note
from clearhold.features.windows.recency import (
    EdgeLookups,
    Recency,
    median_of,
    start_of,
    usual_of_few,
    usual_weeks,
    week_of,
)
from clearhold.features.windows.series import ALWAYS, NONE_NEAR, EventTimes, Near

EDGES_A_NODE: Final = 64
KEPT_WEEKS_FROM: Final = 512
FEW_EDGES: Final = 16
MARGIN_US: Final = DAY_US
NOBODY: Final = -1


class Edges(EventTimes):
    """The edges of one node in one direction, by instant and, within one instant, by the transfer's row.

    A change that becomes known later leaves a note, so that an earlier instant still sees the facts known then.

    >>> edges = Edges()
    >>> edges.add_edge(10, row=0, other=7)
    >>> edges.add_edge(20, row=1, other=9)
    >>> list(edges.near(0, 20, but=-1, as_of=20).others)
    [7, 9]
    >>> edges.remove_edge(10, row=0, known_at=30)
    >>> edges.distinct((20,), 20, but=-1, also=None), edges.distinct((30,), 30, but=-1, also=None)
    ([2], [1])
    """

    # Row and other side of each edge by turns: most nodes have few, so the size of the arrays matters.
    _ends: "array[int]" = msgspec.field(default_factory=lambda: array("i"))
    _notes: list[Note] | None = None
    _derived: EdgeLookups | None = None

    @property
    def rows(self) -> "array[int]":
        return self._ends[::2]

    @property
    def others(self) -> "array[int]":
        return self._ends[1::2]

    def add_edge(self, at: int, row: int, other: int, *, known_at: int | None = None) -> None:
        times, ends = self.times, self._ends
        index = len(times)
        if not index or at > times[-1]:
            times.append(at)
            ends.append(row)
            ends.append(other)
        else:
            index = place_of(times, ends, at, row)
            times.insert(index, at)
            ends.insert(2 * index, row)
            ends.insert(2 * index + 1, other)
        if self._derived is not None:
            self._derived.add(times, ends, index)
        if known_at is not None:
            self._note(known_at, at, row, other, 1)

    def remove_edge(self, at: int, row: int, *, known_at: int) -> None:
        """Remove the edge of that transfer, from ``known_at`` on."""
        index = self.place_of(at, row)
        if index is None:
            return
        other = self._ends[2 * index + 1]
        del self.times[index], self._ends[2 * index : 2 * index + 2]
        if self._derived is not None:
            self._derived.remove(self.times, self._ends, index, at=at, other=other)
        self._note(known_at, at, row, other, -1)

    def absorb(self, other: EventTimes) -> None:
        """Take over every edge of another node, with the changes that became known later.

        A transfer that went from one of the nodes to the other at an instant did not change for both together.
        """
        assert isinstance(other, Edges)
        columns = (zip(each.times, each.rows, each.others, strict=True) for each in (self, other))
        edges = sorted(edge for each in columns for edge in each)
        self.times = array("q", [at for at, _, _ in edges])
        self._ends = array("i", [end for _, *ends in edges for end in ends])
        self._absorb_revisions(other)
        self._derived = None
        changes = Counter[tuple[int, int, int, int]]()
        for *edge, change in (*(self._notes or ()), *(other._notes or ())):  # noqa: SLF001 - its own kind
            changes[edge[0], edge[1], edge[2], edge[3]] += change
        self._notes = [(*edge, change) for edge, change in sorted(changes.items()) if change] or None

    def others_ever(self) -> set[int]:
        """The nodes at the other side of the edges, including removed edges."""
        return {*self.others, *(note[3] for note in self._notes or ())}

    def rename(self, old: int, new: int, *, at_rows: Iterable[tuple[int, int]] | None = None) -> None:
        """Replace a node at the other side, of the edges at these instants and rows, or of all."""
        self._derived = None
        if at_rows is None:
            self._ends[1::2] = array("i", [new if other == old else other for other in self.others])
        for at, row in at_rows or ():
            index = self.place_of(at, row)
            assert index is not None
            self._ends[2 * index + 1] = new
        if self._notes is not None:
            self._notes = sorted((*note[:3], new if note[3] == old else note[3], note[4]) for note in self._notes)

    @property
    def revision_count(self) -> int:
        """It grows with each removed edge, and with each that was added later than its transfer was known."""
        return 0 if self._notes is None else len(self._notes)

    def newest_places(self, after: int, upto: int, most: int) -> tuple["array[int]", "array[int]"]:
        """Instants and rows of the newest edges in (after, upto] as of today, oldest first."""
        first, last = self.newest_between(after, upto, most)
        return self.times[first:last], self.rows_between(first, last)

    def newest_between(self, after: int, upto: int, most: int) -> tuple[int, int]:
        """The newest edges in (after, upto] as of today: the index of the first, and the index behind the last."""
        last = bisect_right(self.times, upto)
        return max(bisect_right(self.times, after, 0, last), last - most), last

    def rows_between(self, first: int, last: int) -> "array[int]":
        """The rows of edges by index, without ``last``."""
        return self._ends[2 * first : 2 * last : 2]

    def place_of(self, at: int, row: int) -> int | None:
        """The index of the transfer's edge at that instant; None without one."""
        times, ends = self.times, self._ends
        index = bisect_left(times, at)
        if index == len(times) or times[index] != at:
            return None
        if ends[2 * index] != row:
            index = place_of(times, ends, at, row)
        return index if index < len(times) and times[index] == at and ends[2 * index] == row else None

    def near(self, after: int, upto: int, *, but: int, as_of: int, most: int = EDGES_A_NODE) -> Near:
        """The newest ``most`` edges in (after, upto], as known at ``as_of`` and without the transfer ``but``."""
        if self.revised_at > as_of:
            return _near(self._then(after, upto, but, as_of).newest(most))
        times, ends = self.times, self._ends
        last = len(times)
        if last and times[-1] > upto:
            last = bisect_right(times, upto)
        if not last or times[last - 1] <= after:
            return NONE_NEAR
        first = bisect_right(times, after, 0, last)
        if but != NOBODY:
            least = max(first, last - most - 1)
            rows = ends[2 * least : 2 * last : 2]
            left_out = rows.count(but)
            if left_out == 1 and rows[-1] == but:
                last -= 1
            elif left_out:
                kept = [index for index in range(least, last) if ends[2 * index] != but]
                return _near([(times[index], ends[2 * index], ends[2 * index + 1]) for index in kept[-most:]])
        first = max(first, last - most)
        return Near(times[first:last], ends[2 * first : 2 * last : 2], ends[2 * first + 1 : 2 * last : 2])

    def distinct(self, spans: tuple[int, ...], upto: int, *, but: int, also: int | None) -> list[int]:
        """The number of different nodes of the edges in each (upto - span, upto], shortest span first, with ``also``.

        Exact, as known at ``upto`` and without the transfer ``but``.
        """
        times = self.times
        last = len(times)
        if but != NOBODY or self.revised_at > upto:
            return self._then(upto - spans[-1], upto, but, upto).distinct(spans, also)
        if last and times[-1] > upto:
            last = bisect_right(times, upto)
        if last > EDGES_A_NODE and times[last - EDGES_A_NODE - 1] > upto - spans[-1]:
            if last < len(times):
                return self._distinct_of_late(spans, upto, last, also)
            return self._distinct_of_many(spans, upto, also)
        if self._derived is not None and last == len(times):
            self._derived.recency = self._derived.previous = None
        nodes: set[int] = set() if also is None else {also}
        least = max(0, last - EDGES_A_NODE)
        counts = []
        for span in spans:
            if last > least and times[last - 1] > upto - span:
                first = bisect_right(times, upto - span, least, last)
                nodes.update(self._ends[2 * first + 1 : 2 * last : 2])
                last = first
            counts.append(len(nodes))
        return counts

    def usual_week(self, at: int) -> int | None:
        """The median of distinct nodes a week over the completed weeks before ``at``, as known at ``at``.

        None until a week is completed. The result is kept until the week is over, except for few edges.
        """
        if self.revised_at > at:
            return self._usual_week_then(at)
        if self._derived is not None and 0 <= at - self._derived.usual_since < DAYS_7:
            return self._derived.usual
        if not self.times or not (weeks := usual_weeks(self.times[0], at)):
            return None
        since = start_of(weeks.stop)
        first = bisect_left(self.times, start_of(weeks.start))
        last = bisect_left(self.times, since, first)
        if 2 * (last - first) < len(weeks):
            return 0  # most weeks have no edge
        if last - first <= FEW_EDGES:
            return usual_of_few(self.times[first:last], self._ends[2 * first + 1 : 2 * last : 2], weeks)
        derived = self._derived = self._derived or EdgeLookups()
        derived.usual, derived.usual_since = median_of(self._parties_of(weeks).values()), since
        return derived.usual

    def firsts_of(self, others: "set[int]", at: int, *, but: int) -> dict[int, int]:
        """The first instants of the edges to those nodes, as known at ``at``."""
        derived = self._derived = self._derived or EdgeLookups()
        firsts = derived.firsts
        if firsts is None:
            firsts = derived.firsts = dict(zip(reversed(self.others), reversed(self.times), strict=True))
        known = {other: firsts[other] for other in others if other in firsts}
        return self._then(ALWAYS, at, but, at).firsts(others, known) if self.revised_at > at else known

    def edges_between(self, after: int, upto: int, *, but: int, as_of: int | None = None) -> list[Edge]:
        """All edges in (after, upto] without the transfer ``but``, oldest first, as known at ``as_of`` or ``upto``."""
        then = self._then(after, upto, but, upto if as_of is None else as_of)
        return then.newest(len(self.times) + len(then.removed))

    def _then(self, after: int, upto: int, but: int, then: int) -> EdgesThen:
        return EdgesThen(self.times, self._ends, self._notes, after=after, upto=upto, but=but, then=then)

    def _distinct_of_many(self, spans: tuple[int, ...], upto: int, also: int | None) -> list[int]:
        """From the newest instant of each other side; no edge is after ``upto``."""
        since, times = upto - spans[-1], self.times
        derived = self._derived = self._derived or EdgeLookups()
        recency = derived.recency
        if recency is None:
            first = bisect_right(times, since - MARGIN_US)
            edges = zip(times[first:], self._ends[2 * first + 1 :: 2], strict=True)
            recency = derived.recency = Recency(edges, since=since - MARGIN_US)
        elif recency.since > since:
            return self._then(since, upto, NOBODY, upto).distinct(spans, also)
        recency.prune(since - MARGIN_US)
        if derived.previous is not None:
            derived.previous.prune(times, since - MARGIN_US)
        newest = ALWAYS if also is None else recency.newest(also) or ALWAYS
        return [recency.count(upto - span) + (also is not None and newest <= upto - span) for span in spans]

    def _distinct_of_late(self, spans: tuple[int, ...], upto: int, last: int, also: int | None) -> list[int]:
        """From the instant of each edge's previous one, of the edges of the newest window."""
        since, times, ends = upto - spans[-1], self.times, self._ends
        derived = self._derived = self._derived or EdgeLookups()
        covered = times[-1] - spans[-1] - MARGIN_US
        previous = derived.previous = derived.previous or Previous(times, ends, since=covered)
        previous.prune(times, covered)
        if previous.since > since:
            return self._then(since, upto, NOBODY, upto).distinct(spans, also)
        counts = [previous.count(times, upto - span, upto) for span in spans]
        if also is None:
            return counts
        place = newest_place(ends, OTHER, also, bisect_right(times, since), last)
        newest = ALWAYS if place is None else times[place]
        return [count + (newest <= upto - span) for span, count in zip(spans, counts, strict=True)]

    def _parties_of(self, weeks: range) -> dict[int, int]:
        """The number of different nodes in each of these weeks; a busy node keeps them."""
        times, ends, upto, counts = self.times, self._ends, start_of(weeks.start), dict[int, int]()
        kept = counts
        if len(times) >= KEPT_WEEKS_FROM:
            derived = self._derived = self._derived or EdgeLookups()
            kept = derived.week_counts = derived.week_counts or {}
        last = bisect_left(times, upto)
        for week in weeks:
            first, upto = last, upto + DAYS_7
            last = bisect_left(times, upto, first)
            if week not in kept:
                kept[week] = len(set(ends[2 * first + 1 : 2 * last : 2]))
            counts[week] = kept[week]
        return counts

    def _usual_week_then(self, at: int) -> int | None:
        first = self.first(at)
        if first is None:
            return None
        weeks = usual_weeks(first, at)
        changes = self._then(start_of(weeks.start) - 1, start_of(weeks.stop) - 1, NOBODY, at)
        counts = self._parties_of(weeks)
        for week in {week_of(edge[0]) for edge in changes.entered | changes.removed}:
            within = self._then(start_of(week) - 1, start_of(week + 1) - 1, NOBODY, at)
            [counts[week]] = within.distinct((DAYS_7,), None)
        return median_of(counts.values())

    def _note(self, known_at: int, at: int, row: int, other: int, change: int) -> None:
        if self._notes is None:
            self._notes = []
        insort(self._notes, (known_at, at, row, other, change))
        self.revise(known_at, at, change, 0)

    def dump(self) -> tuple[Any, ...]:
        return (self.times.tobytes(), self._revisions, self.revised_at, self._ends.tobytes(), self._notes)

    def load(self, dumped: Any) -> None:
        EventTimes.load(self, dumped)
        self._ends.frombytes(dumped[3])
        if dumped[4]:
            self._notes = sorted((note[0], note[1], note[2], note[3], note[4]) for note in dumped[4])


def _near(edges: list[Edge]) -> Near:
    return Near(
        array("q", [at for at, _, _ in edges]),
        array("i", [row for _, row, _ in edges]),
        array("i", [other for _, _, other in edges]),
    )


def node_of_actor(index: int) -> int:
    return 2 * index


def node_of_counterparty(index: int) -> int:
    return 2 * index + 1


def near_of(edges: Edges | None, after: int, upto: int) -> Near:
    """The newest edges in (after, upto], as known at ``upto``."""
    return NONE_NEAR if edges is None else edges.near(after, upto, but=NOBODY, as_of=upto)
