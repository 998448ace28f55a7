"""Payments as edges from payer to payee, the distinct parties around a side, and its own usual week.

An actor of the program that is another actor's counterparty is one node. A transfer that knows only one of its sides
has that node and is no edge. Fans are exact: no bound on how many edges are looked at.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from clearhold.features.core.instants import DAY_US, HOUR_US
from tests.oracle.facts import Key
from tests.oracle.view import NEWEST, Other, Subject

WEEK_US: Final = 7 * DAY_US
MONDAY_US: Final = 3 * DAY_US  # the epoch was a Thursday, three days after a Monday
USUAL_WEEKS: Final = 12
KNOWN_US: Final = 14 * DAY_US
FAN: Final = 5
UNUSUAL: Final = 3

Fields = dict[str, Any]


class Edge(NamedTuple):
    payer: Key
    payee: Key
    own: int
    cents: int | None


class Sides(NamedTuple):
    """Who pays and who is paid; None where that is not known."""

    payer: Key | None
    payee: Key | None


def sides_of(transfer: Other | Subject) -> Sides:
    """Nobody, when nobody acts."""
    if transfer.actor is None:
        return Sides(None, None)
    if transfer.flow == "out":
        return Sides(transfer.actor, transfer.node)
    return Sides(transfer.node, transfer.actor)


def edges_of(others: list[Other]) -> list[Edge]:
    """In the order in which the transfers were first heard of."""
    edges = []
    for other in others:
        payer, payee = sides_of(other)
        if payer is not None and payee is not None:
            edges.append(Edge(payer, payee, other.own, other.cents))
    return edges


def fan_fields(subject: Subject, edges: list[Edge]) -> Fields:
    payer, payee = sides_of(subject)
    to_payee = [(edge.own, edge.payer) for edge in edges if edge.payee == payee]
    of_payer = [(edge.own, edge.payee) for edge in edges if edge.payer == payer]
    to_payer = [(edge.own, edge.payer) for edge in edges if edge.payee == payer]
    is_edge = subject.moved and payer is not None and payee is not None
    payers = {payer} if is_edge else set()
    payees = {payee} if is_edge else set()
    at = subject.at

    def distinct(parties: list[tuple[int, Key]], window: int) -> set[Key]:
        return {party for own, party in parties if own > at - window}

    return {
        "fanIn24hCount": len(distinct(to_payee, DAY_US) | payers),
        "fanIn7dCount": len(distinct(to_payee, WEEK_US) | payers),
        "fanInUsualWeek": usual_week(to_payee, at),
        "fanOut8hCount": len(distinct(of_payer, 8 * HOUR_US) | payees),
        "fanOut24hCount": len(distinct(of_payer, DAY_US) | payees),
        "fanOut7dCount": len(distinct(of_payer, WEEK_US) | payees),
        "fanOutUsualWeek": usual_week(of_payer, at),
        "fanOutNew24hCount": _new_payees(of_payer, payees, at),
        "gathered24hCount": len(distinct(to_payer, DAY_US)),
        "gathered7dCount": len(distinct(to_payer, WEEK_US)),
        "gatheredUsualWeek": usual_week(to_payer, at),
    }


def _new_payees(paid: list[tuple[int, Key]], payees: set[Key | None], at: int) -> int | None:
    """Of a fan of a day, those whom the payer did not pay 14 days ago or before; None where it is no fan for it."""
    of_day = [(own, party) for own, party in paid if own > at - DAY_US]
    fan, usual = {party for _, party in of_day} | payees, usual_week(paid, at)
    if len(fan) < FAN or (usual is not None and len(fan) < UNUSUAL * usual):
        return None
    newest = sorted(of_day, key=lambda each: each[0])[-NEWEST:]
    known = {party for own, party in paid if own <= at - KNOWN_US}
    return len(({party for _, party in newest} | payees) - known)


def regular_fields(subject: Subject, edges: list[Edge], fields: Fields) -> Fields:
    """Whether the payee gets about as much again as before, and nothing in between. ``fields`` are those that ask."""
    payer, payee = sides_of(subject)
    asked = fields["structuring24hCount"] >= 3 or fields["structuringWindowCount"] >= 4
    asked = asked or fields["repeatedAmount24hCount"] >= 5
    if not asked or payer is None or payee is None or subject.cents is None:
        return {"pair.regular": None}
    received = sorted((edge for edge in edges if edge.payee == payee), key=lambda edge: edge.own)
    lately = [edge for edge in received if edge.own > subject.at - 5 * DAY_US]
    before = [edge for edge in received if subject.at - 90 * DAY_US < edge.own <= subject.at - KNOWN_US][-NEWEST:]
    alike = [
        edge
        for edge in before
        if edge.payer == payer and edge.cents is not None and abs(edge.cents - subject.cents) * 10 <= subject.cents
    ]
    is_alone = len(lately) < NEWEST and all(edge.payer != payer for edge in lately)
    return {"pair.regular": is_alone and bool(alike)}


def week_of(at: int) -> int:
    """The number of the week, Monday 00:00 UTC to Monday 00:00 UTC, that holds an instant."""
    return (at + MONDAY_US) // WEEK_US


def usual_week(parties: Iterable[tuple[int, Key]], at: int) -> int | None:
    """The median of distinct parties over the completed weeks, at most twelve, since the first of them all."""
    weeks: dict[int, set[Key]] = {}
    for own, party in parties:
        weeks.setdefault(week_of(own), set()).add(party)
    this = week_of(at)
    completed = range(max(min(weeks, default=this), this - USUAL_WEEKS), this)
    counts = sorted(len(weeks.get(week, ())) for week in completed)
    if not counts:
        return None
    low, high = counts[(len(counts) - 1) // 2], counts[len(counts) // 2]
    return -(-(low + high) // 2)
