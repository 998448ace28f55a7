"""The part of the vector on where a payment's money came from, off cards, and mostly on first payments of a pair.

Unit    hours, US cents, payments and parties
Window  72 hours for the last receipt, 30 days for money received and sent and for middlemen, 14 days for a chain; other
        transfers of the same instant are left out of the first and of the chain
Errors  none: None on cards, without an actor or a side; of a chain also in the program's first 7 days
Bounds  one receipt; at most 5 hops of a chain, with one search each; of middlemen the payer's newest 32 receipts and
        the newest 64 payments of the payee and of each third party
Source  money passed on: FinCEN advisory FIN-2020-A003; chains of new relationships: FFIEC BSA/AML manual, appendix F;
        middlemen as in IBM AMLSim; figures are proposed here
"""

from typing import Final

from clearhold.features.catalogue.weeks import FundsOrigin
from clearhold.features.core.instants import DAY_US, DAYS_30, HOUR_US
from clearhold.features.core.money import money_leaves
from clearhold.features.core.vocabulary import Rail
from clearhold.features.measurement.subject import Before, Subject, Surroundings
from clearhold.features.state.program_series import ProgramSeries
from clearhold.features.windows.edges import EDGES_A_NODE, Edges
from clearhold.features.windows.series_kinds import SeriesKind, cents_in

MOST_HOPS: Final = 5
THIRDS: Final = 32
MIDDLES_FROM: Final = 2
OTHER_PAYEES: Final = 3
_HOURS_72: Final = 72 * HOUR_US
_DAYS_14: Final = 14 * DAY_US
_CARD: Final = Rail.CARD.value
_RECEIVED, _CARDS = SeriesKind.RECEIVED, SeriesKind.CARD
_NOT_MEASURED: Final = FundsOrigin(None, None, None, None, None, None)


def origins_of(
    subject: Subject,
    program: ProgramSeries,
    around: Surroundings,
    before: Before,
    at: int,
    *,
    is_first: bool | None,
    new_payers: int | None,
) -> FundsOrigin:
    """``is_first`` is of the pair; ``new_payers`` are the payer's of 30 days."""
    if subject.actor is None or subject.payer is None or subject.payee is None or subject.rail == _CARD:
        return _NOT_MEASURED
    received, hours, cents = around.into_source, None, None
    if received is not None:
        last = received.near(at - _HOURS_72, at - 1, but=subject.own.row, as_of=at, most=1)
        if last.rows:
            hours, cents = (at - last.times[0]) // HOUR_US, program.cents_of(last.rows[0], at)
    if not is_first:
        return FundsOrigin(hours, cents, None, None, None, None)
    of_30d = _month(subject, before, at)
    chain = _chain(subject, program, at) if new_payers else new_payers
    return FundsOrigin(hours, cents, *of_30d, chain, _middles(subject, program, around, at))


def _month(subject: Subject, before: Before, at: int) -> tuple[int | None, int | None]:
    """Cents that the actor received and sent in 30 days, if it pays."""
    actor, own = subject.actor, subject.own
    if actor is None or subject.cents is None or not money_leaves(subject.rail, subject.direction, subject.type):
        return None, None
    since = at - DAYS_30
    received = cents_in(actor.series_by_kind, _RECEIVED, since, at)
    sent = before.of_30d[1] - received - cents_in(actor.series_by_kind, _CARDS, since, at)
    if own.moved and own.actor is actor:
        if _RECEIVED in own.kinds:
            received -= own.cents or 0
        elif _CARDS not in own.kinds:
            sent -= own.cents or 0
    return received, sent + (subject.cents if subject.moved else 0)


def _chain(subject: Subject, program: ProgramSeries, at: int) -> int:
    """First payments in a row: of each party the newest before the one after it, if alone at its instant."""
    node, earlier, hops = subject.source, at, 0
    seen = {node, subject.target}
    while hops < MOST_HOPS:
        met_at = program.acquaintances.newest_payer_at(node, at - _DAYS_14, earlier - 1)
        edges = program.graph.into.get(node)
        if met_at is None or edges is None:
            break
        there = edges.near(met_at - 1, met_at, but=subject.own.row, as_of=at, most=2).others
        if len(there) != 1 or there[0] in seen:
            break
        node, earlier, hops = there[0], met_at, hops + 1
        seen.add(node)
    return hops


def _middles(subject: Subject, program: ProgramSeries, around: Surroundings, at: int) -> int:
    """Most payers of the payee that one party paid which pays few others."""
    if around.into_source is None or around.into_target is None:
        return 0
    ends = {subject.source, subject.target}
    thirds = _others(around.into_source, subject, at, THIRDS) - ends
    middles = _others(around.into_target, subject, at, EDGES_A_NODE) | {subject.source} if thirds else set()
    most = 0
    if len(middles) >= MIDDLES_FROM:
        for third in thirds:
            paid = program.graph.out.get(third)
            payees = set() if paid is None else _others(paid, subject, at, EDGES_A_NODE)
            count = len(payees & middles)
            if count >= MIDDLES_FROM and len(payees) <= OTHER_PAYEES * count:
                most = max(most, count)
    return most


def _others(edges: Edges, subject: Subject, at: int, most: int) -> set[int]:
    return set(edges.near(at - DAYS_30, at, but=subject.own.row, as_of=at, most=most).others)
