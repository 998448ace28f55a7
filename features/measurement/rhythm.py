"""The part of the vector on an actor's pace and hours, and on money that passes through it.

The busiest day, and the money that passes through within two days, are measured only where a rule could fire on them,
so that an ordinary transfer costs nothing more.

Window  1, 2, 6 and 24 hours before the transfer; 90 days for usual figures. Windows of hours leave out other transfers
        of the same instant: they were booked together, in an unknown order. The busiest day is of the 34 days before
        the last 24 hours; the balance of 48 hours leaves out cards
Bounds  the newest 64 transfers, and the newest 64 payments to the actor and of it; a search has those of
        ``features/windows/graph.py``
"""

from collections import Counter
from typing import Final

import numpy as np
from msgspec.structs import replace

from clearhold.features.catalogue.amounts import Activity, Amounts, Passing
from clearhold.features.catalogue.flows import Rhythm
from clearhold.features.core.instants import DAY_US, DAYS_60, DAYS_90, HOUR_US, HOURS_48
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.measurement.subject import Subject, Surroundings
from clearhold.features.state.parties import Actor
from clearhold.features.state.program_series import ProgramSeries
from clearhold.features.windows.acquaintances import Novelty
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.edges import NOBODY, Edges, node_of_actor
from clearhold.features.windows.graph import quick_hops
from clearhold.features.windows.series import NONE_NEAR, Near
from clearhold.features.windows.series_kinds import SeriesByKind, SeriesKind, kinds_of

NEWEST: Final = 64
HOURS_FROM: Final = 20
_HOURS_2: Final = 2 * HOUR_US
_HOURS_6: Final = 6 * HOUR_US
_AROUND_US: Final = 3 * HOUR_US // 2
_NOBODYS: Final = Rhythm(None, None, None, None, None, None, None, None, None, None)
BUSY_COUNT: Final = 5
BUSY_CENTS: Final = 250_000
BUSIEST_DAYS: Final = 34
BUSIEST_PERCENT: Final = 150
BUSIEST_NEWEST: Final = 64
PASSED_ON_FROM_CENTS: Final = 100_000
PASSED_ON_PERCENT: Final = 80
_CARD: Final = Rail.CARD.value
_INCOMING: Final = Direction.INCOMING.value
_NOT_ASKED: Final = Passing(None, None, None, None, None)


def rhythm_of(
    subject: Subject,
    program: ProgramSeries,
    around: Surroundings,
    novelty: Novelty,
    at: int,
    most_cents: int | None,
) -> Rhythm:
    """``most_cents`` is the 90th percentile of the actor's amounts."""
    actor, own = subject.actor, subject.own
    if actor is None:
        return _NOBODYS
    node, amounts, payer, payee = node_of_actor(actor.index), actor.amounts, subject.payer, subject.payee
    is_edge = subject.moved and payer is not None and payee is not None
    its_own = own.moved and own.actor is actor
    received, paid = _lately(around.into_own, at, own.row), _lately(around.out_of_own, at, own.row)
    new = program.acquaintances.met_between(node, at - _HOURS_6, at - 1)
    return Rhythm(
        entity_p90_cents_90d=most_cents,
        velocity_count_1h=amounts.count_between(at - HOUR_US, at - 1, as_of=at) + subject.moved,
        velocity_count_6h=amounts.count_between(at - _HOURS_6, at - 1, as_of=at) + subject.moved,
        entity_received_count_6h=len(received.rows) + (is_edge and payee == node),
        entity_paid_count_6h=len(paid.rows) + (is_edge and payer == node),
        entity_received_cents_2h=_cents_since(received, program, at - _HOURS_2, at) if received.rows else 0,
        entity_new_parties_6h=new + (is_edge and (novelty.met_at is None or novelty.met_at >= at)),
        entity_usual_hour_percent=_usual_hour(actor, at, its_own=its_own),
        pair_other_way_cents_24h=_other_way(subject, program, around, node, at),
        quick_hops_2h=0
        if around.into_source is None
        else quick_hops(program.graph, subject.source, subject.target, at, but=own.row),
    )


def _lately(edges: Edges | None, at: int, but: int) -> Near:
    return NONE_NEAR if edges is None else edges.near(at - _HOURS_6, at - 1, but=but, as_of=at)


def _cents_since(received: Near, program: ProgramSeries, since: int, at: int) -> int:
    rows = (row for instant, row in zip(received.times, received.rows, strict=True) if instant > since)
    return sum(program.cents_of(row, at) or 0 for row in rows)


def _usual_hour(actor: Actor, at: int, *, its_own: bool) -> int | None:
    """How many of the actor's transfers were at about this time of day."""
    instants = actor.amounts.newest_instants(at - DAYS_90, at, most=NEWEST + its_own)
    if its_own and instants and instants[-1] == at:
        instants.pop()
    others = instants[-NEWEST:]
    n = len(others)
    if n < HOURS_FROM:
        return None
    since = (np.frombuffer(others, np.int64) - (at - _AROUND_US)) % DAY_US
    return 100 * int(np.count_nonzero(since <= 2 * _AROUND_US)) // n


def _other_way(subject: Subject, program: ProgramSeries, around: Surroundings, node: int, at: int) -> int | None:
    """The last payment the other way between the two, in cents."""
    is_paid = subject.target == node
    edges, other = (around.out_of_own, subject.source) if is_paid else (around.into_own, subject.target)
    if edges is None or other == NOBODY or subject.source == subject.target:
        return None
    near = edges.near(at - DAY_US, at - 1, but=subject.own.row, as_of=at)
    for row, party in zip(reversed(near.rows), reversed(near.others), strict=True):
        if party == other:
            return program.cents_of(row, at)
    return None


def passing_of(subject: Subject, program: ProgramSeries, at: int, activity: Activity, amounts: Amounts) -> Passing:
    """The busiest day for a busy day; balance and new money for money that is sent on."""
    actor = subject.actor
    if actor is None:
        return _NOT_ASKED
    passing = _NOT_ASKED
    if activity.velocity_24h_count >= BUSY_COUNT or activity.velocity_24h_sum_cents >= BUSY_CENTS:
        count, cents = _busiest(actor, at, activity)
        passing = replace(passing, entity_busiest_day_count_35d=count, entity_busiest_day_cents_35d=cents)
    came, left = amounts.entity_in_cents_48h, amounts.entity_out_cents_48h
    if came < PASSED_ON_FROM_CENTS or left * 100 < PASSED_ON_PERCENT * came or not _sends(subject, actor):
        return passing
    return replace(
        passing,
        entity_peak_cents_48h=_peak(subject, actor, at),
        entity_left_cents_48h=came - left,
        entity_new_money_cents_48h=came - known_money(actor, program, at, at - DAYS_60, but=subject.own.row),
    )


def _busiest(actor: Actor, at: int, activity: Activity) -> tuple[int, int]:
    """Most transfers and cents in a day of five weeks: of the days counted back from now, and of the full days.

    The full days do not matter where a day is at most 1.5 times a day counted back.
    """
    count, cents = actor.amounts.busiest(DAY_US, BUSIEST_DAYS, at)
    of_day = activity.velocity_24h_count
    is_more = of_day * 100 >= BUSIEST_PERCENT * count
    if not count or not (is_more or activity.velocity_24h_sum_cents * 100 >= BUSIEST_PERCENT * cents):
        return count, cents
    before = actor.amounts.newest_facts(at - (BUSIEST_DAYS + 1) * DAY_US, at, most=BUSIEST_NEWEST + of_day)
    first, sum_cents = 0, 0
    full = [fact for fact in before if fact[0] <= at - DAY_US][-BUSIEST_NEWEST:]
    for place, (instant, amount) in enumerate(full):
        sum_cents += amount
        while full[first][0] <= instant - DAY_US:
            sum_cents -= full[first][1]
            first += 1
        count, cents = max(count, place + 1 - first), max(cents, sum_cents)
    return count, cents


def _sends(subject: Subject, actor: Actor) -> bool:
    """True when the money leaves the actor; for a transfer to itself the kind decides."""
    node = node_of_actor(actor.index)
    if subject.source != node or subject.target != node:
        return subject.source == node
    is_refund = subject.rail == _CARD and subject.direction == _INCOMING
    return not is_refund and SeriesKind.RECEIVED not in kinds_of(
        subject.rail, subject.direction, subject.type, subject.cents
    )


def _peak(subject: Subject, actor: Actor, at: int) -> int:
    """The highest balance; at one instant, incoming money is first."""
    after, own = at - HOURS_48, subject.own
    received = Counter(_facts(actor.series_by_kind, SeriesKind.RECEIVED, after, at))
    sent = Counter(actor.amounts.facts(after, at))
    sent.subtract(received)
    sent.subtract(_facts(actor.series_by_kind, SeriesKind.CARD, after, at))
    if own.moved and own.actor is actor and SeriesKind.RECEIVED in own.kinds:
        received[at, own.cents or 0] -= 1
    elif own.moved and own.actor is actor and SeriesKind.CARD not in own.kinds:
        sent[at, own.cents or 0] -= 1
    if subject.rail != _CARD:
        sent[at, subject.cents or 0] += 1
    flows = [(instant, cents * count) for (instant, cents), count in received.items()]
    flows += [(instant, -cents * count) for (instant, cents), count in sent.items()]
    balance = peak = 0
    for _, cents in sorted(flows, key=lambda flow: (flow[0], -flow[1])):
        balance += cents
        peak = max(peak, balance)
    return peak


def _facts(by_kind: SeriesByKind | None, kind: SeriesKind, after: int, upto: int) -> list[tuple[int, int]]:
    series = None if by_kind is None else by_kind.get(kind)
    return series.facts(after, upto) if isinstance(series, AmountSeries) else []


def known_money(actor: Actor, program: ProgramSeries, at: int, since: int, *, but: int) -> int:
    """Money received within 48 hours from payers whose first payment to the actor was at ``since`` or before."""
    edges = program.graph.into.get(node_of_actor(actor.index))
    if edges is None:
        return 0
    received = edges.edges_between(at - HOURS_48, at, but=but)
    firsts = edges.firsts_of({payer for _, _, payer in received}, at, but=but)
    return sum(program.received_cents(row, actor.index, at) for _, row, payer in received if firsts[payer] <= since)
