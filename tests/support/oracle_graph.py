"""The oracle's graph: every moved transfer is an edge from the side that pays to the side that receives.

An actor of the program that is another actor's counterparty is one node. A transfer that knows only one of its sides
has that node and is no edge. The bounds on what is looked at are part of the definitions.
"""

from typing import Any, Final, NamedTuple

from features.instants import DAY_US, HOUR_US
from tests.support.oracle_facts import Key, Known
from tests.support.oracle_others import NEWEST, Other

SEARCH_EDGES: Final = 256
MOST_HOPS: Final = 6
ROUND_TRIP_HOPS_BEFORE: Final = 4
HOP_US: Final = 72 * HOUR_US
LEAST_SOURCES: Final = 3

Fields = dict[str, Any]


class Edge(NamedTuple):
    source: Key | None
    target: Key | None
    own: int
    amount: int


class Middle(NamedTuple):
    """A node that paid the receiving side, and when it last did."""

    node: Key
    paid_on_at: int


def graph_fields(subject: Known, others: list[Other], at: int) -> Fields:
    """Every field of the graph; without an actor the transfer has no place in it."""
    if subject.actor.last is None:
        edges: list[Edge] = []
        edge = Edge(None, None, at, subject.said.amount)
    else:
        edges = [
            edge
            for other in others
            if None not in (edge := _edge(other.said.direction, other.actor, other.node, other.own, other.amount))
        ]
        edge = _edge(subject.said.direction, subject.actor.last, subject.node.last, at, subject.said.amount)
    return (
        _fan_fields(edge, edges)
        | _chain_fields(subject, edge, edges)
        | {"scatter_gather_middles": _middles(edge, edges)}
    )


def _edge(direction: str, actor: Key | None, party: Key | None, own: int, amount: int) -> Edge:
    if direction == "outgoing":
        return Edge(actor, party, own, amount)
    return Edge(party, actor, own, amount)


def _newest(edges: list[Edge], since: int, until: int) -> list[Edge]:
    """The newest 64 from one instant to another, both within, newest first."""
    return sorted((e for e in edges if since <= e.own <= until), key=lambda e: e.own)[::-1][:NEWEST]


def _after(edges: list[Edge], at: int, window: int) -> list[Edge]:
    return _newest(edges, at - window + 1, at)


def _into(edges: list[Edge], node: Key | None) -> list[Edge]:
    return [] if node is None else [edge for edge in edges if edge.target == node]


def _out_of(edges: list[Edge], node: Key | None) -> list[Edge]:
    return [] if node is None else [edge for edge in edges if edge.source == node]


def _fan_fields(edge: Edge, edges: list[Edge]) -> Fields:
    at, to_target = edge.own, _into(edges, edge.target)
    of_source, to_source = _out_of(edges, edge.source), _into(edges, edge.source)

    def fan_in(window: int) -> int:
        own = {edge.source} if edge.target is not None else set()
        return len(({e.source for e in _after(to_target, at, window)} | own) - {None})

    def fan_out(window: int) -> int:
        own = {edge.target} if edge.source is not None else set()
        return len(({e.target for e in _after(of_source, at, window)} | own) - {None})

    def gathered(window: int) -> int:
        return len({e.source for e in _after(to_source, at, window)})

    def in_90d(some: list[Edge]) -> int:
        return sum(1 for e in some if e.own > at - 90 * DAY_US)

    return {
        "fan_in_24h": fan_in(DAY_US),
        "fan_in_7d": fan_in(7 * DAY_US),
        "fan_in_n_90d": in_90d(to_target),
        "fan_out_8h": fan_out(8 * HOUR_US),
        "fan_out_24h": fan_out(DAY_US),
        "fan_out_7d": fan_out(7 * DAY_US),
        "fan_out_n_90d": in_90d(of_source),
        "gathered_24h": gathered(DAY_US),
        "gathered_7d": gathered(7 * DAY_US),
        "gathered_n_90d": in_90d(to_source),
    }


def _middles(edge: Edge, edges: list[Edge]) -> int:
    """Of those who paid the receiving side, how many one third node had paid before they paid on."""
    if edge.source is None or edge.target is None:
        return 0
    received = _after(_into(edges, edge.target), edge.own, 7 * DAY_US)
    middles: list[Middle] = []
    for each in [edge, *received]:
        if each.source not in (edge.target, *(middle.node for middle in middles)):
            assert each.source is not None
            middles.append(Middle(each.source, each.own))
    if len(middles) < LEAST_SOURCES:
        return 0
    left = SEARCH_EDGES - len(received)
    paid_by: dict[Key | None, set[Key]] = {}
    for middle in middles:
        looked_at = _after(_into(edges, middle.node), edge.own, 7 * DAY_US)[:left]
        left -= len(looked_at)
        for each in looked_at:
            if each.own <= middle.paid_on_at and each.source not in (middle.node, edge.target):
                paid_by.setdefault(each.source, set()).add(middle.node)
    return max((len(nodes) for nodes in paid_by.values()), default=0)


def _chain_fields(subject: Known, edge: Edge, edges: list[Edge]) -> Fields:
    if subject.actor.last is None:
        return {"typology_layering_hops": None, "typology_round_trip": None, "layering_least_cents": None}
    search = _ChainSearch(edge, edges)
    if edge.source != edge.target:
        search.look_before(edge, (edge,))
    chain = search.longest
    return {
        "typology_layering_hops": len(chain),
        "typology_round_trip": search.came_back,
        "layering_least_cents": min((each.amount for each in chain), default=None),
    }


class _ChainSearch:
    """Walks back from one transfer, newest edges first, each chain to its end before the next."""

    def __init__(self, last: Edge, edges: list[Edge]) -> None:
        self.last = last
        self.edges = edges
        self.left = SEARCH_EDGES
        self.longest: tuple[Edge, ...] = ()
        self.came_back = False

    def look_before(self, edge: Edge, chain: tuple[Edge, ...]) -> None:
        for before in _newest(_into(self.edges, edge.source), edge.own - HOP_US, edge.own):
            if self.left == 0:
                return
            self.left -= 1
            if not before.amount * 80 <= edge.amount * 100 <= before.amount * 105:
                continue
            if before.source == self.last.target:
                self.came_back = self.came_back or self._is_round_trip(before, len(chain))
            elif before.source not in {each.source for each in chain}:
                longer = (*chain, before)
                if len(longer) > len(self.longest):
                    self.longest = longer
                if len(longer) < MOST_HOPS:
                    self.look_before(before, longer)

    def _is_round_trip(self, first: Edge, hops_before: int) -> bool:
        """``hops_before`` counts the first hop and not the last transfer, which is what came back."""
        return (
            self.last.target is not None
            and self.last.target[0] in ("entity", "account")
            and hops_before <= ROUND_TRIP_HOPS_BEFORE
            and first.own > self.last.own - 7 * DAY_US
            and self.last.amount * 100 >= first.amount * 80
        )
