"""All edges of one program, by node and direction, and the paths of money through them.

Paths are chains of hops, middlemen between two ends, and quick hops.

Bounds   a node's newest 64 edges in the window, ``LOOKS`` edges in one search, chains of ``MOST_HOPS`` hops. Of quick
         hops ``MOST_QUICK_HOPS``; a node that was paid more than ``HUB_FROM`` times in the two hours is a hub, whose
         payers are not followed, so such a search reads at most 73 nodes, and nearly always one
Source   FFIEC BSA/AML manual, appendix F (movement from one bank to another and back; funds that pass through several
         accounts quickly); shapes as in IBM AMLSim; the tolerance of 80-105 % a hop and the figures of quick hops are
         proposed here
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from clearhold.features.catalogue.thresholds import SCATTER_GATHER_MIDDLES, USUAL_WEEK_FACTOR
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.windows.edges import NOBODY, Edges
from clearhold.features.windows.id_index import Slice, in_slices

LOOKS: Final = 256
MOST_HOPS: Final = 6
ROUND_TRIP_HOPS: Final = 5
HOP_WITHIN_US: Final = 3 * DAY_US
WITHIN_US: Final = 7 * DAY_US
_FROM_PERCENT: Final = 80
_TO_PERCENT: Final = 105
CentsOf = Callable[[int], int | None]
"""The US cents of the transfer in a row, as known at the instant in question; without them it is no hop."""
QUICK_HOP_US: Final = 2 * HOUR_US
MOST_QUICK_HOPS: Final = 3
HUB_FROM: Final = 8


class EdgesByNode:
    """The edges of each node in one direction. Nodes are numbered from 0, so a list takes less memory than a dict."""

    __slots__ = ("_edges",)

    def __init__(self) -> None:
        self._edges: list[Edges | None] = []

    def get(self, node: int) -> Edges | None:
        return self._edges[node] if 0 <= node < len(self._edges) else None

    def __contains__(self, node: int) -> bool:
        return self.get(node) is not None

    def __getitem__(self, node: int) -> Edges:
        edges = self.get(node)
        if edges is None:
            raise KeyError(node)
        return edges

    def __setitem__(self, node: int, edges: Edges | None) -> None:
        if node >= len(self._edges):
            self._edges.extend([None] * (node + 1 - len(self._edges)))
        self._edges[node] = edges

    def pop(self, node: int) -> Edges | None:
        edges = self.get(node)
        if edges is not None:
            self._edges[node] = None
        return edges

    def items(self) -> Iterator[tuple[int, Edges]]:
        """The nodes that have edges, by number."""
        return ((node, edges) for node, edges in enumerate(self._edges) if edges is not None)


class Graph:
    """Even nodes are actors, odd ones counterparties.

    ``alone`` has the transfers with an unknown other side: no window counts them, evidence names them.

    >>> from clearhold.features.windows.edges import node_of_actor, node_of_counterparty
    >>> graph = Graph()
    >>> graph.add(node_of_actor(0), node_of_counterparty(3), at=10, row=0, known_at=None)
    >>> list(graph.out[0].others), list(graph.into[7].others)
    ([7], [0])
    """

    __slots__ = ("alone", "into", "out")

    def __init__(self) -> None:
        self.into = EdgesByNode()
        self.out = EdgesByNode()
        self.alone = EdgesByNode()

    def add(self, source: int, target: int, at: int, row: int, *, known_at: int | None) -> None:
        if NOBODY in (source, target):
            self._add_alone(max(source, target), at, row, known_at)
            return
        edges = self.out.get(source)
        if edges is None:
            edges = self.out[source] = Edges()
        edges.add_edge(at, row, target, known_at=known_at)
        edges = self.into.get(target)
        if edges is None:
            edges = self.into[target] = Edges()
        edges.add_edge(at, row, source, known_at=known_at)

    def _add_alone(self, node: int, at: int, row: int, known_at: int | None) -> None:
        if node == NOBODY:
            return
        edges = self.alone.get(node)
        if edges is None:
            edges = self.alone[node] = Edges()
        edges.add_edge(at, row, NOBODY, known_at=known_at)

    def remove(self, source: int, target: int, at: int, row: int, *, known_at: int) -> None:
        if NOBODY in (source, target):
            known = max(source, target)
            if known != NOBODY:
                self.alone[known].remove_edge(at, row, known_at=known_at)
            return
        self.out[source].remove_edge(at, row, known_at=known_at)
        self.into[target].remove_edge(at, row, known_at=known_at)

    def neighbours(self, node: int) -> tuple[set[int], set[int]]:
        """The nodes that it ever paid, and the nodes that ever paid it."""
        paid, payers = self.out.get(node), self.into.get(node)
        return (set() if paid is None else paid.others_ever(), set() if payers is None else payers.others_ever())

    def merge_node(self, old: int, new: int) -> None:
        """Give all edges of one node to another, at both of their ends; it costs the edges of the old node, once."""
        former = [(side.pop(old), side, opposite) for side, opposite in self._sides()]
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
        self._merge_alone(old, new)

    def _merge_alone(self, old: int, new: int) -> None:
        edges = self.alone.pop(old)
        if edges is not None and new in self.alone:
            self.alone[new].absorb(edges)
        elif edges is not None:
            self.alone[new] = edges

    def _sides(self) -> tuple[tuple[EdgesByNode, EdgesByNode], ...]:
        return (self.out, self.into), (self.into, self.out)

    def dump(self) -> Iterator[Slice]:
        yield from in_slices("into", ((node, edges.dump()) for node, edges in self.into.items()))
        yield from in_slices("out", ((node, edges.dump()) for node, edges in self.out.items()))
        yield from in_slices("alone", ((node, edges.dump()) for node, edges in self.alone.items()))

    def load(self, dumped: Any) -> None:
        """Restore one slice of a dump."""
        which, items = dumped
        side = {"into": self.into, "out": self.out, "alone": self.alone}[which]
        for node, part in items:
            edges = Edges()
            edges.load(part)
            side[node] = edges


class Ends(NamedTuple):
    """The transfer in question as an edge. A side without a node is ``NOBODY``."""

    source: int
    target: int
    at: int
    cents: int
    row: int  # its own, -1 when it is not in the graph


class GraphPath(NamedTuple):
    """Rows of the preceding transfers, oldest first, and the smallest amount, the transfer itself included."""

    rows: tuple[int, ...]
    least_cents: int

    @property
    def hops(self) -> int:
        """The number of transfers, itself included; 0 without preceding ones."""
        return len(self.rows) + 1 if self.rows else 0


class _Search:
    """A depth-first search from the transfer backwards, newest edges first, over at most ``LOOKS`` edges."""

    def __init__(self, graph: Graph, ends: Ends, cents_of: CentsOf) -> None:
        self.graph, self.ends, self.cents_of = graph, ends, cents_of
        self.looks = LOOKS
        self.longest = GraphPath((), ends.cents)
        self.back: tuple[int, ...] = ()

    def layers(self, node: int, at: int, cents: int, chain: GraphPath, seen: frozenset[int]) -> None:
        """Extend the chain by every hop that may come before; the longest one is kept."""
        for row, other, hop_at, hop_cents in self._hops(node, at - HOP_WITHIN_US - 1, at, cents):
            if other in seen:
                continue
            longer = GraphPath((row, *chain.rows), min(chain.least_cents, hop_cents))
            if longer.hops > self.longest.hops:
                self.longest = longer
            if longer.hops < MOST_HOPS:
                self.layers(other, hop_at, hop_cents, longer, seen | {other})

    def returns(self, node: int, at: int, cents: int, rows: tuple[int, ...], seen: frozenset[int]) -> bool:
        """True for a chain that began where the transfer ends."""
        ends = self.ends
        for row, other, hop_at, hop_cents in self._hops(node, ends.at - WITHIN_US, at, cents):
            if other == ends.target:
                if ends.cents * 100 >= hop_cents * _FROM_PERCENT:
                    self.back = (row, *rows)
                    return True
                continue
            if (
                other not in seen
                and len(rows) + 2 < ROUND_TRIP_HOPS
                and self.returns(other, hop_at, hop_cents, (row, *rows), seen | {other})
            ):
                return True
        return False

    def _hops(self, node: int, after: int, upto: int, cents: int) -> list[tuple[int, int, int, int]]:
        """Edges into the node that carry the money of the next hop: row, payer, instant, cents."""
        edges = self.graph.into.get(node)
        if edges is None or self.looks <= 0:
            return []
        near = edges.near(after, upto, but=self.ends.row, as_of=self.ends.at)
        hops: list[tuple[int, int, int, int]] = []
        for index in range(len(near.rows) - 1, -1, -1):
            if self.looks <= 0:
                break
            self.looks -= 1
            row = near.rows[index]
            hop_cents = self.cents_of(row)
            if hop_cents is not None and hop_cents * _FROM_PERCENT <= cents * 100 <= hop_cents * _TO_PERCENT:
                hops.append((row, near.others[index], near.times[index], hop_cents))
        return hops


def longest_chain(graph: Graph, ends: Ends, cents_of: CentsOf) -> GraphPath:
    """The longest chain that ends in the transfer: hops at most 72 h apart, no node twice."""
    search = _Search(graph, ends, cents_of)
    search.layers(ends.source, ends.at, ends.cents, search.longest, frozenset((ends.source, ends.target)))
    return search.longest


def way_back(graph: Graph, ends: Ends, cents_of: CentsOf) -> tuple[int, ...]:
    """Rows of a chain that began at the transfer's target within 7 days; empty without one."""
    if ends.target == NOBODY or ends.target not in graph.out:
        return ()
    search = _Search(graph, ends, cents_of)
    search.returns(ends.source, ends.at, ends.cents, (), frozenset((ends.source,)))
    return search.back


def middles(graph: Graph, ends: Ends) -> int:
    """How many payers of the target, the source included, one third party had paid before they paid on, in 7 days."""
    edges = graph.into.get(ends.target)
    if edges is None or ends.source not in graph.into:
        return 0
    after = ends.at - WITHIN_US
    near = edges.near(after, ends.at, but=ends.row, as_of=ends.at)
    paid_on = {ends.source: ends.at}
    for at, other in zip(reversed(near.times), reversed(near.others), strict=True):
        paid_on.setdefault(other, at)
    if len(paid_on) < SCATTER_GATHER_MIDDLES:
        return 0
    looks = LOOKS - len(near.rows)
    of_third: dict[int, int] = {}
    for middle, at in paid_on.items():
        paid = graph.into.get(middle)
        if paid is None:
            continue
        before = paid.near(after, ends.at, but=ends.row, as_of=ends.at)
        newest = range(max(0, len(before.rows) - looks), len(before.rows))
        looks -= len(newest)
        thirds = {before.others[index] for index in newest if before.times[index] <= at} - {middle, ends.target}
        if middle == ends.source:
            of_third = dict.fromkeys(thirds, 1)
            if not thirds:
                return 0
        else:
            for third in thirds.intersection(of_third):
                of_third[third] += 1
    return max((count for third, count in of_third.items() if not _pays_as_usual(graph, third, ends)), default=0)


def _pays_as_usual(graph: Graph, node: int, ends: Ends) -> bool:
    """A busy payer, such as payroll or cash, is no scatterer below the payees of three usual weeks."""
    edges = graph.out.get(node)
    usual = None if edges is None else edges.usual_week(ends.at)
    if edges is None or usual is None:
        return False
    return edges.distinct((WITHIN_US,), ends.at, but=NOBODY, also=None)[0] < USUAL_WEEK_FACTOR * usual


def quick_hops(graph: Graph, source: int, target: int, at: int, *, but: int) -> int:
    """The hops before a payment from ``source`` to ``target`` that is the transfer ``but``."""
    return 0 if source == NOBODY else _behind(graph, source, at, at, but, (source, target))


def _behind(graph: Graph, node: int, at: int, as_of: int, but: int, seen: tuple[int, ...]) -> int:
    edges = graph.into.get(node)
    if edges is None:
        return 0
    near = edges.near(at - QUICK_HOP_US, at - 1, but=but, as_of=as_of, most=HUB_FROM + 1)
    if not near.rows or len(near.rows) > HUB_FROM:
        return 0
    most = 0
    for index, payer in enumerate(near.others):
        if payer not in seen:
            further = seen if len(seen) > MOST_QUICK_HOPS else (*seen, payer)
            hops = 1 if further is seen else 1 + _behind(graph, payer, near.times[index], as_of, but, further)
            most = max(most, hops)
    return most
