"""The part of the vector on an actor's pace and hours, and on money that goes on or back within hours.

Window  1, 2, 6 and 24 hours before the transfer; 90 days for usual figures. Windows of hours leave out other transfers
        of the same instant: they were booked together, in an unknown order
Bounds  the newest 64 transfers, and the newest 64 payments to the actor and of it; a search has those of
        ``features/windows/quick_hops.py``
"""

from typing import Final

from clearhold.features.core.instants import DAY_US, DAYS_90, HOUR_US
from clearhold.features.measurement.groups import Rhythm
from clearhold.features.measurement.subject import Subject, Surroundings
from clearhold.features.state.parties import Actor
from clearhold.features.state.program_series import ProgramSeries
from clearhold.features.windows.acquaintances import Novelty
from clearhold.features.windows.edges import NOBODY, Edges, node_of_actor
from clearhold.features.windows.quick_hops import quick_hops
from clearhold.features.windows.series import NONE_NEAR, Near

NEWEST: Final = 64
HOURS_FROM: Final = 20
_HOURS_2: Final = 2 * HOUR_US
_HOURS_6: Final = 6 * HOUR_US
_AROUND_US: Final = 3 * HOUR_US // 2
_NOBODYS: Final = Rhythm(None, None, None, None, None, None, None, None, None, None)


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
    earliest = at - _AROUND_US
    around = sum([(instant - earliest) % DAY_US <= 2 * _AROUND_US for instant in others])
    return 100 * around // n


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
