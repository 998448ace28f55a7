"""An actor's pace, hours and usual amounts, and money that goes on or back within hours.

What was booked at the very instant of the transfer counts in no window of hours.
"""

from typing import Any

from clearhold.features.core.instants import DAY_US, HOUR_US
from tests.oracle.entity import MEDIAN_FLOOR
from tests.oracle.facts import Key, Program
from tests.oracle.graph import Edge, sides_of
from tests.oracle.pairs import met
from tests.oracle.view import NEWEST, Other, Subject, within

HUB = 8
MOST_HOPS = 3
AROUND_US = 90 * 60 * 1_000_000
LEAST_HOURS = 20
NAMES = (
    "entity.p90Cents90d",
    "velocity1hCount",
    "velocity6hCount",
    "entity.received6hCount",
    "entity.paid6hCount",
    "entity.received2hCents",
    "entity.newParties6h",
    "entity.usualHourPercent",
    "pair.otherWay24hCents",
    "typology.quickHops",
)

Fields = dict[str, Any]


def rhythm_fields(program: Program, subject: Subject, own: list[Other], edges: list[Edge]) -> Fields:
    if subject.actor is None:
        return dict.fromkeys(NAMES)
    payer, payee = sides_of(subject)
    is_edge = subject.moved and payer is not None and payee is not None
    six = [edge for edge in edges if subject.at - 6 * HOUR_US < edge.own < subject.at]
    before = [other for other in own if other.own < subject.at]
    received = _newest([edge for edge in six if edge.payee == subject.actor])
    paid = _newest([edge for edge in six if edge.payer == subject.actor])
    hops = 0 if payer is None else _hops(edges, payer, subject.at, {payer, payee}, MOST_HOPS)
    values = (
        _most_cents(subject, own),
        len(within(before, subject, HOUR_US)) + subject.moved,
        len(within(before, subject, 6 * HOUR_US)) + subject.moved,
        len(received) + (is_edge and payee == subject.actor),
        len(paid) + (is_edge and payer == subject.actor),
        sum(edge.cents or 0 for edge in received if edge.own > subject.at - 2 * HOUR_US),
        _new_parties(program, subject),
        _usual_hour(subject, own),
        _other_way(subject, edges),
        hops,
    )
    return dict(zip(NAMES, values, strict=True))


def _newest(edges: list[Edge]) -> list[Edge]:
    return sorted(edges, key=lambda edge: edge.own)[-NEWEST:]


def _most_cents(subject: Subject, own: list[Other]) -> int | None:
    """Of the newest amounts, the one that nine of ten are within."""
    known = sorted((o.own, o.cents) for o in within(own, subject, 90 * DAY_US) if o.cents is not None)[-NEWEST:]
    amounts = sorted(cents for _, cents in known)
    return amounts[(len(amounts) - 1) * 9 // 10] if len(amounts) >= MEDIAN_FLOOR else None


def _new_parties(program: Program, subject: Subject) -> int:
    since = subject.at - 6 * HOUR_US
    known = {pair: meeting.own for pair, meeting in met(program).items() if meeting.own < subject.at}
    lately = [pair for pair, own in known.items() if own > since]
    mine = sides_of(subject)
    count = sum((payer == subject.actor) + (payee == subject.actor) for payer, payee in lately)
    is_new = subject.moved and None not in mine and mine not in known
    return count + is_new


def _usual_hour(subject: Subject, own: list[Other]) -> int | None:
    newest = sorted(other.own for other in within(own, subject, 90 * DAY_US))[-NEWEST:]
    if len(newest) < LEAST_HOURS:
        return None
    apart = [abs(own_at % DAY_US - subject.at % DAY_US) for own_at in newest]
    return 100 * sum(min(each, DAY_US - each) <= AROUND_US for each in apart) // len(newest)


def _other_way(subject: Subject, edges: list[Edge]) -> int | None:
    payer, payee = sides_of(subject)
    if payer is None or payee is None or payer == payee:
        return None
    day = [edge for edge in edges if subject.at - DAY_US < edge.own < subject.at]
    mine = [e for e in day if (e.payer == subject.actor if payee == subject.actor else e.payee == subject.actor)]
    back = [edge for edge in _newest(mine) if (edge.payer, edge.payee) == (payee, payer)]
    return back[-1].cents if back else None


def _hops(edges: list[Edge], node: Key, at: int, seen: set[Key | None], most: int) -> int:
    """The longest way back, on which no party comes twice."""
    before = [edge for edge in edges if edge.payee == node and at - 2 * HOUR_US < edge.own < at]
    if not most or len(before) > HUB:
        return 0
    ways = [edge for edge in before if edge.payer not in seen]
    return max((1 + _hops(edges, way.payer, way.own, seen | {way.payer}, most - 1) for way in ways), default=0)
