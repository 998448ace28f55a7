"""ACH: the debits an entity originated, what came back of them, pulled money that leaves fast, and tiny entries."""

from typing import Any, Final

from clearhold.features.bank.statuses import PROBING_RETURN_CODES, STOP_RETURN_CODES
from clearhold.features.core.instants import DAY_US
from tests.oracle.view import Other, Subject, cents_of, within

MICRO_BELOW_CENTS: Final = 100
FROZEN: Final = "R16"
FAST_RAILS: Final = frozenset({"realtime", "wire", "intl_wire", "card"})
BANKING_DAYS: Final = 5
THURSDAY: Final = 3  # the weekday of the epoch

Fields = dict[str, Any]


def entity_fields(subject: Subject, own: list[Other]) -> Fields:
    debits = [other for other in own if other.is_originated_debit]
    returned = [other for other in debits if other.code is not None]
    entries = [other for other in own if other.is_outgoing_ach]
    probing = {o.party for o in _returned_within(entries, subject, 30 * DAY_US) if o.code in PROBING_RETURN_CODES}
    unauthorized = [other for other in debits if other.is_unauthorized]
    day = within(own, subject, DAY_US)
    return {
        "entity.achDebits": len(debits),
        "entity.achDebits30d": len(within(debits, subject, 30 * DAY_US)),
        "entity.achDebits60d": len(within(debits, subject, 60 * DAY_US)),
        "entity.forwardDebits24h": sum(1 for o in day if o.is_originated_debit and (o.cents or 0) >= MICRO_BELOW_CENTS),
        "entity.microEntries24h": sum(_is_micro(o) for o in day) + (subject.counts and _is_micro(subject)),
        "entity.priorReturns": sum(1 for other in own if other.code is not None),
        "entity.returns30d": len(_returned_within(returned, subject, 30 * DAY_US)),
        "entity.unauthorizedReturns60d": len(_returned_within(unauthorized, subject, 60 * DAY_US)),
        "entity.probingReturns30d": len(probing - {None}),
        **_float_fields(subject, own),
    }


def _returned_within(others: list[Other], subject: Subject, window: int) -> list[Other]:
    """By the time at which a return was delivered."""
    return [other for other in others if other.code is not None and other.returned_at > subject.at - window]


def _is_micro(transfer: Other | Subject) -> bool:
    return transfer.rail == "ach" and transfer.cents is not None and transfer.cents < MICRO_BELOW_CENTS


def _float_fields(subject: Subject, own: list[Other]) -> Fields:
    recent = [other for other in own if other.own >= _two_banking_days_before(subject.at)]
    fast = cents_of([other for other in recent if _is_fast_out(other)])
    if subject.counts and _is_fast_out(subject):
        fast += subject.cents or 0
    return {
        "entity.pulled2bdCents": cents_of([other for other in recent if other.is_originated_debit]),
        "entity.fastOut2bdCents": fast,
    }


def _is_fast_out(transfer: Other | Subject) -> bool:
    return transfer.flow == "out" and transfer.rail in FAST_RAILS


def _two_banking_days_before(at: int) -> int:
    """The midnight of the second day from Monday to Friday before the day of an instant."""
    day, left = at // DAY_US, 2
    while left:
        day -= 1
        left -= (day + THURSDAY) % 7 < BANKING_DAYS
    return day * DAY_US


def counterparty_fields(subject: Subject, shared: list[Other]) -> Fields:
    """``shared`` are the program's other transfers with the same counterparty, whoever's they are."""
    unauthorized = [other for other in shared if other.is_unauthorized]
    stops = [o.returned_at for o in shared if o.is_originated_debit and o.code in STOP_RETURN_CODES]
    return {
        "counterparty.priorReturns": sum(1 for other in shared if other.code is not None),
        "counterparty.priorUnauthorizedReturns": len(unauthorized),
        "counterparty.unauthorizedReturns60d": len(_returned_within(unauthorized, subject, 60 * DAY_US)),
        "counterparty.stopReturnDays": (subject.at - max(stops)) // DAY_US if stops else None,
        "counterparty.frozenReturns": sum(1 for o in shared if o.is_outgoing_ach and o.code == FROZEN),
    }


def program_fields(subject: Subject, others: list[Other]) -> Fields:
    debits = [other for other in others if other.is_originated_debit]
    n = len(within(debits, subject, 60 * DAY_US))
    unauthorized = [other for other in debits if other.is_unauthorized]
    micro = sum(_is_micro(other) for other in within(others, subject, DAY_US))
    return {
        "program.unauthorizedReturnRate60d": len(_returned_within(unauthorized, subject, 60 * DAY_US)) / n
        if n
        else None,
        "program.microEntries24h": micro + (subject.moved and _is_micro(subject)),
    }
