"""The oracle's graph: every moved transfer is an edge from the side that pays to the side that receives.

An actor of the program that is another actor's counterparty is one node. A transfer that knows only one of its sides
has that node and is no edge. The bounds on what is looked at are part of the definitions.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from features.core.instants import DAY_US, HOUR_US
from tests.oracle.flow import flow_of
from tests.oracle.graph import usual_week
from tests.support.oracle_facts import Key, Known
from tests.support.oracle_others import NEWEST, Other
from tests.support.oracle_reading import Reading

SEARCH_EDGES: Final = 256
MOST_HOPS: Final = 6
MOST_TRIP_HOPS: Final = 5
WEEK_US: Final = 7 * DAY_US
HOP_US: Final = 72 * HOUR_US
LEAST_SOURCES: Final = 3
NOBODY: Final = ("", "")

Fields = dict[str, Any]


class Edge(NamedTuple):
    source: Key | None
    target: Key | None
    own: int
    amount: int


def graph_fields(subject: Known, others: list[Other], at: int) -> Fields:
    """Every field of the graph; without an actor the transfer has no place in it."""
    edges = edges_of(others) if subject.actor.last is not None else []
    edge = edge_of(subject, at)
    return (
        _fan_fields(edge, edges, moved=subject.moved.last)
        | _chain_fields(subject, edge, edges)
        | {"scatter_gather_middles": _middles(edge, edges)}
    )


def edges_of(others: list[Other]) -> list[Edge]:
    """The payments of which both sides are known."""
    return [
        edge
        for other in others
        if None not in (edge := _edge(other.reading, other.actor, other.node, other.own, other.amount))
    ]


def edge_of(subject: Known, at: int) -> Edge:
    if subject.actor.last is None:
        return Edge(None, None, at, subject.reading.amount)
    return _edge(subject.reading, subject.actor.last, subject.node.last, at, subject.reading.amount)


def _edge(reading: Reading, actor: Key | None, party: Key | None, own: int, amount: int) -> Edge:
    if flow_of(reading.rail, reading.direction, reading.type) == "out":
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


def _fan_fields(edge: Edge, edges: list[Edge], *, moved: bool) -> Fields:
    at, to_target = edge.own, _into(edges, edge.target)
    of_source, to_source = _out_of(edges, edge.source), _into(edges, edge.source)

    def fan_in(window: int) -> int:
        own = {edge.source} if moved and edge.target is not None else set()
        return len(({e.source for e in to_target if e.own > at - window} | own) - {None})

    def fan_out(window: int) -> int:
        own = {edge.target} if moved and edge.source is not None else set()
        return len(({e.target for e in of_source if e.own > at - window} | own) - {None})

    def gathered(window: int) -> int:
        return len({e.source for e in to_source if e.own > at - window})

    return {
        "fan_in_count_24h": fan_in(DAY_US),
        "fan_in_count_7d": fan_in(WEEK_US),
        "fan_in_usual_week": usual_week([(e.own, e.source or NOBODY) for e in to_target], at),
        "fan_out_count_8h": fan_out(8 * HOUR_US),
        "fan_out_count_24h": fan_out(DAY_US),
        "fan_out_count_7d": fan_out(WEEK_US),
        "fan_out_usual_week": usual_week([(e.own, e.target or NOBODY) for e in of_source], at),
        "gathered_count_24h": gathered(DAY_US),
        "gathered_count_7d": gathered(WEEK_US),
        "gathered_usual_week": usual_week([(e.own, e.source or NOBODY) for e in to_source], at),
    }


def _middles(edge: Edge, edges: list[Edge]) -> int:
    """Of those who paid the receiving side, how many one third had paid before, who also had paid this one's payer."""
    if edge.source is None or edge.target is None:
        return 0
    received = _after(_into(edges, edge.target), edge.own, WEEK_US)
    paid_on_at: dict[Key | None, int] = {}
    for each in [edge, *received]:
        paid_on_at.setdefault(each.source, each.own)
    if len(paid_on_at) < LEAST_SOURCES:
        return 0
    left = SEARCH_EDGES - len(received)
    payers: dict[Key | None, set[Key | None]] = {}
    for middle, paid_on in paid_on_at.items():
        looked_at = _after(_into(edges, middle), edge.own, WEEK_US)[:left]
        left -= len(looked_at)
        payers[middle] = {each.source for each in looked_at if each.own <= paid_on} - {edge.source, edge.target, middle}
    thirds = [third for third in payers[edge.source] if not _pays_as_usual(_out_of(edges, third), edge.own)]
    return max((sum(1 for some in payers.values() if third in some) for third in thirds), default=0)


def _pays_as_usual(edges: list[Edge], at: int) -> bool:
    """Fewer payees in the last seven days than three of its usual weeks have."""
    usual = usual_week([(edge.own, edge.target or NOBODY) for edge in edges], at)
    return usual is not None and len({edge.target for edge in edges if edge.own > at - WEEK_US}) < 3 * usual


def _chain_fields(subject: Known, edge: Edge, edges: list[Edge]) -> Fields:
    if subject.actor.last is None:
        return {"typology_layering_hops": None, "typology_round_trip": None, "layering_least_cents": None}
    longest: tuple[Edge, ...] = ()
    came_back = False
    if edge.source != edge.target:
        for chain in _ChainSearch(edges, MOST_HOPS, hop_us=HOP_US).chains_before((edge,)):
            if chain[-1].source != edge.target and len(chain) > len(longest):
                longest = chain
        for chain in _ChainSearch(edges, MOST_TRIP_HOPS, since=edge.own - WEEK_US + 1).chains_before((edge,)):
            came_back = came_back or _came_back(edge, chain[-1])
    return {
        "typology_layering_hops": len(longest),
        "typology_round_trip": came_back,
        "layering_least_cents": min((each.amount for each in longest), default=None),
    }


def _came_back(last: Edge, first: Edge) -> bool:
    return (
        last.target is not None
        and last.target[0] in ("entity", "account")
        and first.source == last.target
        and last.amount * 100 >= first.amount * 80
    )


class _ChainSearch:
    """Walks back from one transfer, newest edges first; all edges of a node are looked at before the walk goes on.

    No node comes twice. Only the first of a chain may be the last transfer's target, and then it has come to its end.
    """

    def __init__(
        self, edges: list[Edge], most_hops: int, *, hop_us: int | None = None, since: int | None = None
    ) -> None:
        self.edges = edges
        self.most_hops = most_hops
        self.hop_us = hop_us
        self.since = since
        self.left = SEARCH_EDGES

    def chains_before(self, chain: tuple[Edge, ...]) -> Iterator[tuple[Edge, ...]]:
        """Chains are listed from their last transfer to their first."""
        edge, last = chain[-1], chain[0]
        since = edge.own - self.hop_us if self.hop_us is not None else self.since
        assert since is not None
        looked_at = _newest(_into(self.edges, edge.source), since, edge.own)[: self.left]
        self.left -= len(looked_at)
        for before in looked_at:
            is_alike = before.amount * 80 <= edge.amount * 100 <= before.amount * 105
            if not is_alike or before.source in {each.source for each in chain}:
                continue
            longer = (*chain, before)
            yield longer
            if len(longer) < self.most_hops and before.source != last.target:
                yield from self.chains_before(longer)
