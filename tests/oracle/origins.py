"""Where the money of a payment came from: the last receipt, a month of money, first payments in a row, middlemen."""

from typing import Any, Final

from clearhold.features.core.instants import DAY_US, HOUR_US
from tests.oracle.facts import Key, Program
from tests.oracle.graph import Edge, sides_of
from tests.oracle.pairs import met
from tests.oracle.view import Other, Subject, within

NAMES: Final = (
    "payer.lastReceiptHours",
    "payer.lastReceiptCents",
    "payer.received30dCents",
    "payer.sent30dCents",
    "first.chain14dHops",
    "first.middles30d",
)
MOST_HOPS: Final = 5

Fields = dict[str, Any]


def origin_fields(
    program: Program, subject: Subject, own: list[Other], edges: list[Edge], others: list[Other]
) -> Fields:
    payer, payee = sides_of(subject)
    fields: Fields = dict.fromkeys(NAMES)
    if payer is None or payee is None or subject.rail == "card":
        return fields
    received = [edge for edge in edges if edge.payee == payer and subject.at - 72 * HOUR_US < edge.own < subject.at]
    if received:
        last = max(reversed(received), key=lambda edge: edge.own)  # of one instant the last heard of
        fields["payer.lastReceiptHours"] = (subject.at - last.own) // HOUR_US
        fields["payer.lastReceiptCents"] = last.cents
    meeting = met(program).get((payer, payee))
    if meeting is not None and meeting.own <= subject.at and meeting.transfer_id != subject.id:
        return fields
    if subject.flow == "out" and subject.cents is not None:
        month = [other for other in within(own, subject, 30 * DAY_US) if other.rail != "card"]
        fields["payer.received30dCents"] = sum(other.cents or 0 for other in month if other.flow == "in")
        sent = sum(other.cents or 0 for other in month if other.flow == "out")
        fields["payer.sent30dCents"] = sent + subject.moved * subject.cents
    if subject.at - min((other.own for other in others), default=subject.at) >= 7 * DAY_US:
        fields["first.chain14dHops"] = _chain(program, edges, payer, payee, subject.at)
    fields["first.middles30d"] = _middles(edges, payer, payee, subject.at)
    return fields


def _chain(program: Program, edges: list[Edge], payer: Key, payee: Key, at: int) -> int:
    """Back from first payment to first payment, each alone at its instant, until a party comes twice."""
    chain, before = [payee, payer], at
    while len(chain) < 2 + MOST_HOPS:
        firsts = [each.own for (_, paid), each in met(program).items() if paid == chain[-1]]
        firsts = [own for own in firsts if at - 14 * DAY_US < own < before]
        if not firsts:
            break
        before = max(firsts)
        payers = [edge.payer for edge in edges if edge.payee == chain[-1] and edge.own == before]
        if len(payers) != 1 or payers[0] in chain:
            break
        chain.append(payers[0])
    return len(chain) - 2


def _middles(edges: list[Edge], payer: Key, payee: Key, at: int) -> int:
    month = sorted((edge for edge in edges if edge.own > at - 30 * DAY_US), key=lambda edge: edge.own)
    thirds = {edge.payer for edge in [each for each in month if each.payee == payer][-32:]} - {payer, payee}
    middles = {edge.payer for edge in [each for each in month if each.payee == payee][-64:]} | {payer}
    most = 0
    for third in thirds:
        payees = {edge.payee for edge in [each for each in month if each.payer == third][-64:]}
        count = len(payees & middles)
        if count >= 2 and len(payees) <= 3 * count:
            most = max(most, count)
    return most
