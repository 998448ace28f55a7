"""All edges of one program, by node and direction."""

from collections.abc import Iterator
from typing import Any

from clearhold.features.windows.edges import NOBODY, Edges
from clearhold.features.windows.id_index import Slice, in_slices


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
