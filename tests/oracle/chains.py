"""Chains of payments that end in the transfer, value that came back, and the middlemen of a common third.

The searches are bounded as decision 0015 says, and the bounds are part of the definitions: the newest 64 edges of a
node inside the window, 256 looks a search, 6 hops. A payment whose US cents are not known takes a look and is no hop.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from clearhold.features.core.instants import HOUR_US
from tests.oracle.facts import Key
from tests.oracle.graph import UNUSUAL, WEEK_US, Edge, sides_of, usual_week
from tests.oracle.view import NEWEST, Subject

SEARCH_EDGES: Final = 256
MOST_HOPS: Final = 6
MOST_TRIP_HOPS: Final = 5
HOP_US: Final = 72 * HOUR_US
LEAST_MIDDLES: Final = 3

Fields = dict[str, Any]


class Hop(NamedTuple):
    payer: Key | None
    payee: Key | None
    own: int
    cents: int


def chain_fields(subject: Subject, edges: list[Edge]) -> Fields:
    names = ("typology.layeringHops", "typology.roundTrip", "typology.layeringLeastCents")
    if subject.actor is None or subject.cents is None:
        return dict.fromkeys(names)
    last = Hop(*sides_of(subject), subject.at, subject.cents)
    longest: tuple[Hop, ...] = ()
    is_trip = False
    if last.payer != last.payee:
        for chain in _ChainSearch(edges, MOST_HOPS, hop_us=HOP_US).chains_before((last,)):
            if chain[-1].payer != last.payee and len(chain) > len(longest):
                longest = chain
        for chain in _ChainSearch(edges, MOST_TRIP_HOPS, since=last.own - WEEK_US + 1).chains_before((last,)):
            is_trip = is_trip or _came_back(last, chain[-1])
    return dict(zip(names, (len(longest), is_trip, min((hop.cents for hop in longest), default=None)), strict=True))


def _came_back(last: Hop, first: Hop) -> bool:
    """To an actor of the program, and at least four fifths of what had left it."""
    is_actor = last.payee is not None and last.payee[0] in ("entity", "account")
    return is_actor and first.payer == last.payee and last.cents * 100 >= first.cents * 80


def _newest(edges: list[Edge], since: int, until: int) -> list[Edge]:
    """The newest 64 from one instant to another, both within, newest first; of one instant the last heard of first."""
    return sorted((e for e in edges if since <= e.own <= until), key=lambda e: e.own)[::-1][:NEWEST]


def _into(edges: list[Edge], node: Key | None) -> list[Edge]:
    return [edge for edge in edges if edge.payee == node]


class _ChainSearch:
    """Walks back from one transfer, newest edges first; all edges of a node are looked at before the walk goes on.

    No node comes twice. Only the first of a chain may be the last transfer's payee, and then it has come to its end.
    """

    def __init__(self, edges: list[Edge], most: int, *, hop_us: int | None = None, since: int = 0) -> None:
        self.edges = edges
        self.most = most
        self.hop_us = hop_us
        self.since = since
        self.left = SEARCH_EDGES

    def chains_before(self, chain: tuple[Hop, ...]) -> Iterator[tuple[Hop, ...]]:
        """Chains are told from their last transfer to their first."""
        hop, last = chain[-1], chain[0]
        since = self.since if self.hop_us is None else hop.own - self.hop_us
        looked_at = _newest(_into(self.edges, hop.payer), since, hop.own)[: self.left]
        self.left -= len(looked_at)
        for edge in looked_at:
            if edge.cents is None or not edge.cents * 80 <= hop.cents * 100 <= edge.cents * 105:
                continue
            if edge.payer in {each.payer for each in chain}:
                continue
            longer = (*chain, Hop(edge.payer, edge.payee, edge.own, edge.cents))
            yield longer
            if len(longer) < self.most and edge.payer != last.payee:
                yield from self.chains_before(longer)


def middles_field(subject: Subject, edges: list[Edge]) -> Fields:
    """Of those who paid the receiving side, how many one third had paid before, who also had paid this one's payer."""
    return {"typology.scatterGatherMiddles": _middles(subject, edges)}


def _middles(subject: Subject, edges: list[Edge]) -> int:
    payer, payee = sides_of(subject)
    if payer is None or payee is None:
        return 0
    since = subject.at - WEEK_US + 1
    received = _newest(_into(edges, payee), since, subject.at)
    paid_on_at: dict[Key, int] = {payer: subject.at}
    for edge in received:
        paid_on_at.setdefault(edge.payer, edge.own)
    if len(paid_on_at) < LEAST_MIDDLES:
        return 0
    left = SEARCH_EDGES - len(received)
    thirds_of: dict[Key, set[Key]] = {}
    for middle, paid_on in paid_on_at.items():
        looked_at = _newest(_into(edges, middle), since, subject.at)[:left]
        left -= len(looked_at)
        thirds_of[middle] = {edge.payer for edge in looked_at if edge.own <= paid_on} - {payer, payee, middle}
    thirds = [third for third in thirds_of[payer] if not _pays_as_usual(third, subject.at, edges)]
    return max((sum(third in some for some in thirds_of.values()) for third in thirds), default=0)


def _pays_as_usual(third: Key, at: int, edges: list[Edge]) -> bool:
    """Cash, a payroll: in the last seven days fewer payees than three of its usual weeks have."""
    paid = [(edge.own, edge.payee) for edge in edges if edge.payer == third]
    usual = usual_week(paid, at)
    return usual is not None and len({payee for own, payee in paid if own > at - WEEK_US}) < UNUSUAL * usual
