"""The part of the vector on familiar payees: the new ones of a fan, and a regular payment.

Both are measured only where a rule could fire on them, so that an ordinary transfer costs nothing more.

Unit    payees; a payment is alike within 10 % of the amount
Window  24 hours; 5 days without another payment of the pair, after one alike from 90 to 14 days before
Bounds  the newest 64 payments of the paying side, and of the receiving side in each of the two windows
"""

from typing import Final

from clearhold.features.catalogue.thresholds import USUAL_WEEK_FACTOR
from clearhold.features.core.instants import DAY_US, DAYS_90
from clearhold.features.measurement.subject import Subject
from clearhold.features.state.program_series import ProgramSeries
from clearhold.features.windows.edges import EDGES_A_NODE, NOBODY, Edges

KNOWN_AFTER_US: Final = 14 * DAY_US
ALONE_US: Final = 5 * DAY_US  # wages of a week, with a weekend in the way
FAN_OUT_FROM: Final = 5
STRUCTURING_24H_FROM: Final = 3
STRUCTURING_7D_FROM: Final = 4
REPEATED_FROM: Final = 5
_WITHIN_PARTS: Final = 10


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
