"""Who has met whom: an acquaintance is for good, made by the first transfer in the log that moved when first seen.

Two acquaintances become one when an account turns out to be an entity's: the earlier one.
"""

from fractions import Fraction
from math import floor
from typing import Any, Final

from clearhold.features.core.instants import DAY_US
from tests.oracle.facts import Key, Meeting, Program
from tests.oracle.graph import Edge, sides_of
from tests.oracle.view import NEWEST, Other, Subject

WINDOW_US: Final = 90 * DAY_US
RARE_AT_MOST: Final = 3
TRANSFERS_FROM: Final = 60
WITH_IT_FROM: Final = 5

Fields = dict[str, Any]


def met(program: Program) -> dict[tuple[Key | None, Key | None], Meeting]:
    """The earliest meeting of every pair, of one instant the first in the log."""
    found: dict[tuple[Key | None, Key | None], Meeting] = {}
    for meeting in program.meetings:
        pair = (program.same(meeting.payer), program.same(meeting.payee))
        if pair not in found or meeting.own < found[pair].own:
            found[pair] = meeting
    return found


def pair_fields(program: Program, subject: Subject, others: list[Other]) -> Fields:
    at = subject.at
    rare = [transfer_id for own, transfer_id in program.rare_meetings if at - WINDOW_US < own <= at]
    fields: Fields = {
        "program.transfers90d": sum(1 for other in others if other.own > at - WINDOW_US),
        "program.pairedCount90d": _paired_count(at, others),
        "program.rarePairs90d": sum(1 for transfer_id in rare if transfer_id != subject.id),
        "pair.firstTime": None,
        "payer.newPayees90d": None,
        "payee.newPayers90d": None,
    }
    payer, payee = sides_of(subject)
    if payer is None or payee is None:
        return fields
    before = {pair: meeting for pair, meeting in met(program).items() if meeting.own <= at}
    mine = before.get((payer, payee))
    fields["pair.firstTime"] = mine is None or mine.transfer_id == subject.id
    if min((other.own for other in others), default=at) <= at - WINDOW_US:
        lately = [pair for pair, meeting in before.items() if meeting.own > at - WINDOW_US]
        new = mine is None and subject.moved
        fields["payer.newPayees90d"] = sum(1 for each, _ in lately if each == payer) + new
        fields["payee.newPayers90d"] = sum(1 for _, each in lately if each == payee) + new
    return fields


def week_fields(program: Program, subject: Subject, others: list[Other]) -> Fields:
    """Parties that were new to one side of the transfer in 7 and 30 days, and those over its own usual 30 days."""
    sides, at = sides_of(subject), subject.at
    age = at - min((other.own for other in others), default=at)
    before = {pair: at - meeting.own for pair, meeting in met(program).items() if meeting.own <= at}
    is_new = subject.moved and sides not in before
    mine = met(program).get(sides)
    is_first = mine is None or mine.own > at or mine.transfer_id == subject.id
    fields: Fields = {}
    for name, side, own_side in (("payer.newPayees", 0, 0), ("payee.newPayers", 1, 1), ("payer.newPayers", 1, 0)):
        ages = [age_of for pair, age_of in before.items() if pair[side] == sides[own_side]]
        ages += [0] if is_new and side == own_side else []
        of_7d, of_30d = (sum(1 for each in ages if each < days * DAY_US) for days in (7, 30))
        earlier = sum(1 for each in ages if 30 * DAY_US <= each < WINDOW_US)
        is_known = is_first and None not in sides and age >= 7 * DAY_US
        fields[f"{name}7d"] = of_7d if is_known else None
        fields[f"{name}30d"] = of_30d if is_known else None
        fields[f"{name}OverUsualPercent"] = None
        if is_known and age >= 44 * DAY_US:
            usual = Fraction(30 * DAY_US * earlier, min(age, WINDOW_US) - 30 * DAY_US)
            fields[f"{name}OverUsualPercent"] = floor(100 * of_30d / (1 + usual))
    del fields["payer.newPayers7d"]
    return fields


def past_field(subject: Subject, edges: list[Edge], fields: Fields) -> Fields:
    """Of the actor's newest transfers the same way, those with the same party."""
    asked = fields["entity.priorTransfers"] >= TRANSFERS_FROM and fields["counterparty.n"] >= WITH_IT_FROM
    if subject.actor is None or not asked:
        return {"pair.countOfNewest64": None}
    payer, payee = sides_of(subject)
    before = sorted((edge for edge in edges if edge.own < subject.at), key=lambda edge: edge.own)
    same_way = [e for e in before if (e.payer if payer == subject.actor else e.payee) == subject.actor]
    return {"pair.countOfNewest64": sum((e.payer, e.payee) == (payer, payee) for e in same_way[-NEWEST:])}


def _paired_count(at: int, others: list[Other]) -> int:
    """Those of 90 days that came on the program's 90th day or later, when counts of new parties were first told."""
    begins = min((other.own for other in others), default=at) + WINDOW_US
    return sum(1 for other in others if other.own > at - WINDOW_US and other.own >= begins)


def take_note(program: Program, subject: Subject, fields: Fields) -> None:
    """What a transfer that moved when it was first seen leaves behind."""
    payer, payee = sides_of(subject)
    if subject.id is None or not subject.moved or payer is None or payee is None:
        return
    counts = [fields["payer.newPayees90d"], fields["payee.newPayers90d"]]
    if fields["pair.firstTime"] and None not in counts and max(counts) <= RARE_AT_MOST:
        program.rare_meetings.append((subject.at, subject.id))
    if (payer, payee) not in met(program):
        program.meetings.append(Meeting(payer, payee, subject.at, subject.id))
