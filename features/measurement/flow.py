"""The part of the vector that follows money through the graph: fans, chains, middlemen, shared and new counterparties.

New payees of a fan, and a regular payment, are measured only where a rule could fire on them, so that an ordinary
transfer costs nothing more.

Unit    payees; a payment is alike within 10 % of the amount
Window  each name's; regular: 5 days without another payment of the pair, after one alike from 90 to 14 days before
Bounds  fans are exact; other measures of a node read its newest 64 edges in the window; a search has the bounds of
        ``features/windows/graph.py``
"""

from functools import partial
from typing import Final

from msgspec.structs import replace

from clearhold.features.catalogue.flows import Flow
from clearhold.features.catalogue.thresholds import SCATTER_GATHER_MIDDLES, USUAL_WEEK_FACTOR
from clearhold.features.core.instants import DAY_US, DAYS_7, DAYS_30, DAYS_90
from clearhold.features.measurement.subject import Subject, Surroundings
from clearhold.features.state.parties import KnownCounterparty
from clearhold.features.state.program_series import ProgramSeries
from clearhold.features.windows.acquaintances import UNKNOWN, Novelty
from clearhold.features.windows.edges import EDGES_A_NODE, NOBODY, Edges, node_of_actor
from clearhold.features.windows.graph import WITHIN_US, Ends, GraphPath, longest_chain, middles, way_back
from clearhold.features.windows.series import Near

_FAN_IN: Final = (DAY_US, DAYS_7)
_FAN_OUT: Final = (DAY_US // 3, DAY_US, DAYS_7)
OWN_ACCOUNT_EDGES: Final = 1_024  # read where a counterparty is an account of the program
NOT_IN_THE_GRAPH: Final = Flow(0, 0, None, 0, 0, 0, None, None, 0, 0, None, 0, None, 0, 0)
KNOWN_AFTER_US: Final = 14 * DAY_US
ALONE_US: Final = 5 * DAY_US  # wages of a week, with a weekend in the way
FAN_OUT_FROM: Final = 5
STRUCTURING_24H_FROM: Final = 3
STRUCTURING_7D_FROM: Final = 4
REPEATED_FROM: Final = 5
_WITHIN_PARTS: Final = 10


def follow(
    subject: Subject, program: ProgramSeries, around: Surroundings, at: int
) -> tuple[GraphPath | None, tuple[int, ...]]:
    """The longest chain that ends in the subject, and the rows on which money came back with it.

    None without an actor, and without an amount to compare with that of another hop.
    """
    if subject.actor is None or subject.cents is None:
        return None, ()
    received_at = None if around.into_source is None else around.into_source.previous(at, skip=0)
    if subject.source == subject.target or received_at is None or received_at <= at - WITHIN_US:
        return GraphPath((), subject.cents), ()
    ends = Ends(subject.source, subject.target, at, subject.cents, subject.own.row)
    cents_of = partial(program.cents_of, as_of=at)
    back = way_back(program.graph, ends, cents_of) if subject.target % 2 == 0 else ()
    return longest_chain(program.graph, ends, cents_of), back


def flow_of(subject: Subject, program: ProgramSeries, around: Surroundings, at: int, chain: GraphPath | None) -> Flow:
    """Fans at both ends of the subject, payers of its payer, middlemen, new and shared counterparties."""
    new, shared = new_counterparties(subject, program, around, at), shared_entities(subject, program, at)
    if subject.actor is None:
        return replace(NOT_IN_THE_GRAPH, entity_new_counterparties_24h=new, counterparty_shared_entities_30d=shared)
    but, payer, payee = subject.own.row, subject.payer, subject.payee
    into_source, out_of_source, into_target = around.into_source, around.out_of_source, around.into_target
    own_payer, own_payee = (payer, payee) if subject.moved else (None, None)
    payers_24h, payers_7d = _distinct(into_target, _FAN_IN, at, but, own_payer) if payee is not None else (0, 0)
    payees_8h, payees_24h, payees_7d = (
        _distinct(out_of_source, _FAN_OUT, at, but, own_payee) if payer is not None else (0, 0, 0)
    )
    may_gather = payers_7d + (not subject.moved) >= SCATTER_GATHER_MIDDLES
    usual_payees = _usual_week(out_of_source, at)
    gathered_24h, gathered_7d = _distinct(into_source, _FAN_IN, at, but, None)
    return Flow(
        fan_in_count_24h=payers_24h,
        fan_in_count_7d=payers_7d,
        fan_in_usual_week=_usual_week(into_target, at),
        fan_out_count_8h=payees_8h,
        fan_out_count_24h=payees_24h,
        fan_out_count_7d=payees_7d,
        fan_out_usual_week=usual_payees,
        fan_out_new_count_24h=new_payees(
            out_of_source, at, count=payees_24h, usual_week=usual_payees, but=but, also=own_payee
        ),
        gathered_count_24h=gathered_24h,
        gathered_count_7d=gathered_7d,
        gathered_usual_week=_usual_week(into_source, at),
        scatter_gather_middles=middles(program.graph, Ends(subject.source, subject.target, at, subject.cents or 0, but))
        if may_gather
        else 0,
        layering_least_cents=chain.least_cents if chain is not None and chain.hops else None,
        entity_new_counterparties_24h=new,
        counterparty_shared_entities_30d=shared,
    )


def novelty_of(subject: Subject, program: ProgramSeries, at: int, *, known_since: int | None) -> Novelty:
    """Whether payer and payee are new to each other, and how often either has a new counterparty."""
    payer, payee = subject.payer, subject.payee
    if subject.actor is None or payer is None or payee is None:
        return UNKNOWN
    return program.acquaintances.novelty(
        payer, payee, at, but=subject.own.row, known_since=known_since, counts=subject.moved
    )


def new_counterparties(subject: Subject, program: ProgramSeries, around: Surroundings, at: int) -> int:
    """Counterparties among the actor's newest transfers of 24 h that were new to the program within those 24 h."""
    actor = subject.actor
    if actor is None:
        return 0
    since, but = at - DAY_US, subject.own.row
    own = [edges for edges in (around.into_own, around.out_of_own) if edges is not None]
    nears = [near for edges in own if (near := edges.near(since, at, but=but, as_of=at)).rows]
    recent = _recent_parties(nears, program, actor.index, at)
    if subject.counterparty is not None and subject.moved:
        recent.add(subject.counterparty.index)
    book = program.counterparties.all
    new = len([index for index in recent if book[index].times.begins_after(since, at)])
    return new + (1 if subject.counterparty is None and subject.counterparty_named else 0)


def shared_entities(subject: Subject, program: ProgramSeries, at: int) -> int:
    """Actors with a transfer to the counterparty's account in 30 days, under any name, the subject's included."""
    if subject.account is None or not all(subject.account):
        return 0
    nodes = dealing_with(program, subject.account, at, but=subject.own.row, also=subject.counterparty)
    if subject.actor is not None and subject.moved:
        nodes.add(node_of_actor(subject.actor.index))
    return len(nodes)


def dealing_with(
    program: ProgramSeries,
    account: tuple[str | None, str | None],
    at: int,
    *,
    but: int,
    also: KnownCounterparty | None = None,
) -> set[int]:
    """Nodes of the actors with a transfer of 30 days, other than ``but``, with any counterparty of that account.

    ``also`` is the counterparty that a pre-flight names as the account's.
    """
    nodes: set[int] = set()
    for party in program.counterparties.sharing(*account, also):
        for side in (program.graph.into, program.graph.out):
            edges = side.get(party.node)
            if edges is None:
                continue
            if party.node % 2:
                nodes.update(edges.near(at - DAYS_30, at, but=but, as_of=at).others)
            else:  # an own account, whose edges are mostly its own transfers
                near = edges.near(at - DAYS_30, at, but=but, as_of=at, most=OWN_ACCOUNT_EDGES)
                sides = (program.sides_of(row, at) for row in near.rows)
                nodes.update(node_of_actor(actor) for actor, counterparty in sides if counterparty == party.index)
    return nodes


def _distinct(edges: Edges | None, spans: tuple[int, ...], at: int, but: int, also: int | None) -> list[int]:
    if edges is None:
        return [int(also is not None)] * len(spans)
    return edges.distinct(spans, at, but=but, also=also)


def _usual_week(edges: Edges | None, at: int) -> int | None:
    return None if edges is None else edges.usual_week(at)


def _recent_parties(nears: list[Near], program: ProgramSeries, actor: int, at: int) -> set[int]:
    """The counterparties of the actor's newest own transfers."""
    if len(nears) == 1:
        others = {*nears[0].others}
        parties = {other // 2 for other in others if other % 2}
        if len(parties) == len(others):
            return parties
    return {index for _, index in _own_edges(nears, program, actor, at)[-EDGES_A_NODE:]}


def _own_edges(nears: list[Near], program: ProgramSeries, actor: int, at: int) -> list[tuple[tuple[int, int], int]]:
    """(instant and row, counterparty) of the edges that are the actor's own transfers, oldest first."""
    own_edges: list[tuple[tuple[int, int], int]] = []
    for near in nears:
        for time, row, other in zip(near.times, near.rows, near.others, strict=True):
            if other % 2:
                own_edges.append(((time, row), other // 2))
            else:
                own, counterparty = program.sides_of(row, at)
                if own == actor:
                    own_edges.append(((time, row), counterparty))
    return sorted(own_edges) if len(nears) > 1 else own_edges


def new_payees(
    paid: Edges | None, at: int, *, count: int, usual_week: int | None, but: int, also: int | None
) -> int | None:
    """Distinct payees of 24 h that the paying side first paid less than 14 days ago; None where there is no fan."""
    if count < FAN_OUT_FROM or (usual_week is not None and count < USUAL_WEEK_FACTOR * usual_week):
        return None
    if paid is None:
        return 0 if also is None else 1
    payees = set(paid.near(at - DAY_US, at, but=but, as_of=at).others)
    if also is not None:
        payees.add(also)
    firsts = paid.firsts_of(payees, at, but=but)
    return sum(1 for payee in payees if payee not in firsts or firsts[payee] > at - KNOWN_AFTER_US)


def is_asked(structuring_24h: int, structuring_7d: int, repeated_24h: int) -> bool:
    """Whether a rule depends on the payment being regular."""
    return (
        structuring_24h >= STRUCTURING_24H_FROM
        or structuring_7d >= STRUCTURING_7D_FROM
        or repeated_24h >= REPEATED_FROM
    )


def is_regular(subject: Subject, program: ProgramSeries, at: int) -> bool | None:
    """Whether this payee was paid as much before, and nothing else in the days since; None for an unknown side."""
    cents, payer = subject.cents, subject.source
    if cents is None or subject.actor is None or not subject.counterparty_named:
        return None
    if NOBODY in (payer, subject.target):
        return False  # a side without a transfer
    received = program.graph.into.get(subject.target)
    if received is None:
        return False
    lately = received.near(at - ALONE_US, at, but=subject.own.row, as_of=at)
    if len(lately.others) == EDGES_A_NODE or payer in lately.others:
        return False
    before = received.near(at - DAYS_90, at - KNOWN_AFTER_US, but=subject.own.row, as_of=at)
    rows = (row for row, other in zip(before.rows, before.others, strict=True) if other == payer)
    return any(_is_alike(program.cents_of(row, at), cents) for row in rows)


def _is_alike(earlier: int | None, cents: int) -> bool:
    return earlier is not None and abs(earlier - cents) * _WITHIN_PARTS <= cents
