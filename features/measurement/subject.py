"""The subject of a measurement: one transfer, landed or proposed, and its contribution to the windows.

The edges at both ends and the readings of the windows that all measurements share are looked up once.
"""

from typing import Final

import msgspec

from clearhold.features.bank.purchases import NOTHING_STATED, Purchase
from clearhold.features.core.instants import DAY_US, DAYS_30, DAYS_90
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program_series import ProgramSeries
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.edges import NOBODY, Edges, node_of_actor
from clearhold.features.windows.graph import Graph
from clearhold.features.windows.series import ALWAYS
from clearhold.features.windows.series_kinds import SeriesKind

STRANGER: Final = -2
"""Stands for a side that is named and has no node: different from every node."""
_NO_AMOUNTS: Final = AmountSeries()


class OwnContribution(msgspec.Struct, frozen=True, gc=False):
    """The contribution of a transfer that is measured again, so that it does not count itself."""

    actor: Actor | None = None
    counterparty: KnownCounterparty | None = None
    cents: int | None = 0
    moved: bool = False
    originated: bool = False  # an ACH debit that the program sent
    returned_at: int | None = None
    unauthorized: bool = False  # this and the next two: the kinds of its return
    stop: bool = False
    frozen: bool = False
    kinds: tuple[SeriesKind, ...] = ()
    card: int = NOBODY
    attempts: tuple[SeriesKind, ...] = ()
    category: str | None = None  # the merchant category that counted it
    row: int = NOBODY


NO_CONTRIBUTION: Final = OwnContribution()


class Subject(msgspec.Struct, frozen=True, gc=False):
    """The transfer to measure. ``counterparty`` is None for a stranger and when none was named."""

    rail: str
    direction: str
    type: str | None
    cents: int | None  # US cents
    status: str | None
    country: str | None
    card_reason: str | None
    sec_code: str | None
    actor: Actor | None
    counterparty: KnownCounterparty | None
    counterparty_named: bool
    account_changed: bool
    source: int  # nodes of the graph; -1 when the side is unknown or has no transfer yet
    target: int
    payer: int | None  # the same, but ``STRANGER`` for a named side without a node, and None for an unknown side
    payee: int | None
    kinds: tuple[SeriesKind, ...]  # the series that count it; an attempt is in no series
    card: int  # the key that a card attempt is counted under; -1 when unknown
    account: tuple[str | None, str | None] | None  # routing number and last four of the counterparty
    moved: bool  # False for an attempt, which counts itself in no window but those of card attempts
    rescreen_days: int | None  # the cadence of the actor's band; None when no duty to screen it was stated
    purchase: Purchase = NOTHING_STATED  # of a card transfer
    own: OwnContribution = NO_CONTRIBUTION


class Surroundings(msgspec.Struct, frozen=True, gc=False):
    """None for a side without edges or an unknown one; ``own`` is the actor, one of the two sides."""

    into_source: Edges | None
    out_of_source: Edges | None
    into_target: Edges | None
    into_own: Edges | None
    out_of_own: Edges | None


def surroundings_of(subject: Subject, graph: Graph) -> Surroundings:
    """The edges around the two sides of the subject."""
    source, target, actor = subject.source, subject.target, subject.actor
    into_source, out_of_source, into_target = graph.into.get(source), graph.out.get(source), graph.into.get(target)
    if actor is None:
        return Surroundings(into_source, out_of_source, into_target, None, None)
    if source == node_of_actor(actor.index):
        return Surroundings(into_source, out_of_source, into_target, into_source, out_of_source)
    return Surroundings(into_source, out_of_source, into_target, into_target, graph.out.get(target))


class Before(msgspec.Struct, frozen=True, gc=False):
    """Counts that begin with ``own`` are to be subtracted: of the actor, the counterparty, the debits and the returns;
    ``own_return_of_actor`` is for a return of the subject that counts for the measured actor.
    """

    debits: AmountSeries | None  # the ACH debits that the actor sent
    own: int
    own_party: int
    own_debit: int
    own_return: int
    own_return_of_actor: int
    of_24h: tuple[int, int]  # count and cents of the actor's transfers, with ``own``
    of_48h: tuple[int, int]
    of_30d: tuple[int, int]
    of_90d: tuple[int, int]
    ever: tuple[int, int]
    previous_at: int | None  # the actor's newest transfer
    program_first_at: int | None  # the program's oldest transfer


def before_of(subject: Subject, program: ProgramSeries, at: int) -> Before:
    """The windows of the subject's actor at ``at``."""
    own, actor, counterparty = subject.own, subject.actor, subject.counterparty
    amounts = actor.amounts if actor is not None else _NO_AMOUNTS
    its_own = actor is not None and own.actor is actor
    own_count = 1 if own.moved and its_own else 0
    own_return = 1 if own.returned_at is not None and own.returned_at <= at else 0
    of_24h, of_48h, of_30d, of_90d, ever = amounts.measure_each(
        (at - DAY_US, at - 2 * DAY_US, at - DAYS_30, at - DAYS_90, ALWAYS), at
    )
    return Before(
        None if actor is None else actor.ach_debits,
        own_count,
        1 if own.moved and counterparty is not None and own.counterparty is counterparty else 0,
        own_count if own.originated else 0,
        own_return,
        own_return if its_own else 0,
        of_24h,
        of_48h,
        of_30d,
        of_90d,
        ever,
        amounts.previous(at, skip=own_count),
        program.amounts.first(at),
    )
