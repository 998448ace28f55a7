"""Transfers as edges between the nodes of a program: who paid whom and when, kept for good in time order.

A node is an actor or a counterparty. A counterparty that is an account or an entity of the program at its first
transfer is the same node as that actor, so that money can be followed through it.

Window  a caller's own; of a node's edges in it the newest ``EDGES_A_NODE`` are looked at, so a hub costs no more
Errors  none
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from features.windows.series import EventTimes
from features.windows.slices import Slice, in_slices

EDGES_A_NODE: Final = 64
NOBODY: Final = -1

Note = tuple[int, int, int, int, int]  # known at, instant, row, other side, +1 or -1


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

    __slots__ = ("_notes", "others", "rows")

    def __init__(self) -> None:
        super().__init__()
        self.rows = array("I")
        self.others = array("i")
        self._notes: list[Note] | None = None

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
        if known_at is not None:
            self._note(known_at, at, row, other, 1)

    def remove_edge(self, at: int, row: int, *, known_at: int) -> None:
        """Remove the edge of that transfer, from ``known_at`` on."""
        index = bisect_left(self.times, at)
        while index < len(self.times) and self.times[index] == at:
            if self.rows[index] == row:
                other = self.others[index]
                del self.times[index], self.rows[index], self.others[index]
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
        changes = Counter[tuple[int, int, int, int]]()
        for *edge, change in (*(self._notes or ()), *(other._notes or ())):  # noqa: SLF001 - its own kind
            changes[edge[0], edge[1], edge[2], edge[3]] += change
        self._notes = [(*edge, change) for edge, change in sorted(changes.items()) if change] or None

    def others_ever(self) -> set[int]:
        """The nodes at the other side of the edges, those of edges that were removed included."""
        return {*self.others, *(note[3] for note in self._notes or ())}

    def rename(self, old: int, new: int, *, at_rows: Iterable[tuple[int, int]] | None = None) -> None:
        """Replace a node at the other side, of the edges at these instants and rows, or of all."""
        others = self.others
        if at_rows is None:
            self.others = array("i", [new if other == old else other for other in others])
        for at, row in at_rows or ():
            index = bisect_left(self.times, at)
            while self.rows[index] != row:
                index += 1
            others[index] = new
        if self._notes is not None:
            self._notes = [(*note[:3], new if note[3] == old else note[3], note[4]) for note in self._notes]

    def holds(self, at: int, row: int) -> bool:
        """True when the transfer has an edge at that instant."""
        index = bisect_left(self.times, at)
        while index < len(self.times) and self.times[index] == at:
            if self.rows[index] == row:
                return True
            index += 1
        return False

    def near(self, after: int, upto: int, *, but: int, as_of: int) -> Near:
        """The newest edges in (after, upto], as known at ``as_of`` and without the transfer ``but``."""
        if self.revised_at > as_of:
            return self._near_then(after, upto, but, as_of)
        times = self.times
        last = len(times)
        if last and times[-1] > upto:
            last = bisect_right(times, upto)
        first = bisect_right(times, after, 0, last)
        if but == NOBODY:
            newest = slice(max(first, last - EDGES_A_NODE), last)
            return Near(times[newest], self.rows[newest], self.others[newest])
        kept = [index for index in range(max(first, last - EDGES_A_NODE - 1), last) if self.rows[index] != but]
        kept = kept[-EDGES_A_NODE:]
        return Near(
            array("q", [times[index] for index in kept]),
            array("I", [self.rows[index] for index in kept]),
            array("i", [self.others[index] for index in kept]),
        )

    def distinct(self, spans: tuple[int, ...], upto: int, *, but: int, also: int | None) -> list[int]:
        """How many different nodes the edges of each (upto - span, upto] lead to, shortest span first, with ``also``.

        The same as ``near`` of the longest span counted for each, at a third of its cost.
        """
        times = self.times
        if but != NOBODY or self.revised_at > upto or (times and times[-1] > upto):
            near = self.near(upto - spans[-1], upto, but=but, as_of=upto)
            return [near.distinct(upto - span, also) for span in spans]
        nodes: set[int] = set() if also is None else {also}
        least, last = max(0, len(times) - EDGES_A_NODE), len(times)
        counts = []
        for span in spans:
            if last > least and times[last - 1] > upto - span:
                first = bisect_right(times, upto - span, least, last)
                nodes.update(self.others[first:last])
                last = first
            counts.append(len(nodes))
        return counts

    def _near_then(self, after: int, upto: int, but: int, as_of: int) -> Near:
        first, last = bisect_right(self.times, after), bisect_right(self.times, upto)
        edges = {
            (self.times[index], self.rows[index], self.others[index])
            for index in range(first, last)
            if self.rows[index] != but
        }
        for known_at, at, row, other, change in reversed(self._notes or ()):
            if known_at > as_of and after < at <= upto and row != but:
                (edges.discard if change > 0 else edges.add)((at, row, other))
        newest = sorted(edges)[-EDGES_A_NODE:]
        return Near(
            array("q", [edge[0] for edge in newest]),
            array("I", [edge[1] for edge in newest]),
            array("i", [edge[2] for edge in newest]),
        )

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


class Graph:
    """All edges of one program, by node and direction. Even nodes are actors, odd ones counterparties.

    >>> graph = Graph()
    >>> graph.add(node_of_actor(0), node_of_counterparty(3), at=10, row=0, known_at=None)
    >>> list(graph.out[0].others), list(graph.into[7].others)
    ([7], [0])
    """

    __slots__ = ("into", "out")

    def __init__(self) -> None:
        self.into: dict[int, Edges] = {}
        self.out: dict[int, Edges] = {}

    def add(self, source: int, target: int, at: int, row: int, *, known_at: int | None) -> None:
        if NOBODY in (source, target):
            return
        edges = self.out.get(source)
        if edges is None:
            edges = self.out[source] = Edges()
        edges.add_edge(at, row, target, known_at=known_at)
        edges = self.into.get(target)
        if edges is None:
            edges = self.into[target] = Edges()
        edges.add_edge(at, row, source, known_at=known_at)

    def remove(self, source: int, target: int, at: int, row: int, *, known_at: int) -> None:
        if NOBODY in (source, target):
            return
        self.out[source].remove_edge(at, row, known_at=known_at)
        self.into[target].remove_edge(at, row, known_at=known_at)

    def neighbours(self, node: int) -> tuple[set[int], set[int]]:
        """The nodes that it ever paid, and those that ever paid it."""
        paid, payers = self.out.get(node), self.into.get(node)
        return (set() if paid is None else paid.others_ever(), set() if payers is None else payers.others_ever())

    def merge_node(self, old: int, new: int) -> None:
        """Give all edges of one node to another, at both of their ends; it costs the edges of the old node, once."""
        former = [(side.pop(old, None), side, opposite) for side, opposite in self._sides()]
        for edges, _, opposite in former:
            if edges is None:
                continue
            at_rows: dict[int, list[tuple[int, int]]] = {other: [] for other in edges.others_ever() if other != old}
            for at, row, other in zip(edges.times, edges.rows, edges.others, strict=True):
                if other != old:
                    at_rows[other].append((at, row))
            for other, places in at_rows.items():
                opposite[other].rename(old, new, at_rows=places)
        for edges, side, _ in former:
            if edges is None:
                continue
            edges.rename(old, new)
            if new in side:
                side[new].absorb(edges)
            else:
                side[new] = edges

    def _sides(self) -> tuple[tuple[dict[int, Edges], dict[int, Edges]], ...]:
        return (self.out, self.into), (self.into, self.out)

    def dump(self) -> Iterator[Slice]:
        yield from in_slices("into", ((node, edges.dump()) for node, edges in self.into.items()))
        yield from in_slices("out", ((node, edges.dump()) for node, edges in self.out.items()))

    def load(self, dumped: Slice) -> None:
        """Restore one slice of a dump."""
        which, items = dumped
        side = self.into if which == "into" else self.out
        for node, part in items:
            side[node] = edges = Edges()
            edges.load(part)


def node_of_actor(index: int) -> int:
    return 2 * index


def node_of_counterparty(index: int) -> int:
    return 2 * index + 1
