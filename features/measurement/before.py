"""Readings of the windows that all measurements share, and the subject's contribution to them."""

from typing import Final

import msgspec

from clearhold.features.core.instants import DAY_US, DAYS_30
from clearhold.features.measurement.subject import Subject
from clearhold.features.state.program_series import ProgramSeries
from clearhold.features.windows.amount_series import AmountSeries

_NO_AMOUNTS: Final = AmountSeries()


class Before(msgspec.Struct, frozen=True, gc=False):
    """Counts that begin with ``own`` are to be subtracted: of the actor, the counterparty, the debits and the returns;
    ``own_return_of_actor`` is for a return of the subject that counts for the measured actor.
    """

    amounts: AmountSeries
    debits: AmountSeries | None  # the ACH debits that the actor sent
    own: int
    own_party: int
    own_debit: int
    own_return: int
    own_return_of_actor: int
    of_24h: tuple[int, int]  # count and cents of the actor's transfers, with ``own``
    of_30d: tuple[int, int]
    previous_at: int | None  # the actor's newest transfer
    program_first_at: int | None  # the program's oldest transfer


def before_of(subject: Subject, program: ProgramSeries, at: int) -> Before:
    """The windows of the subject's actor at ``at``."""
    own, actor, counterparty = subject.own, subject.actor, subject.counterparty
    amounts = actor.amounts if actor is not None else _NO_AMOUNTS
    its_own = actor is not None and own.actor is actor
    own_count = 1 if own.moved and its_own else 0
    own_return = 1 if own.returned_at is not None and own.returned_at <= at else 0
    return Before(
        amounts,
        None if actor is None else actor.ach_debits,
        own_count,
        1 if own.moved and counterparty is not None and own.counterparty is counterparty else 0,
        own_count if own.originated else 0,
        own_return,
        own_return if its_own else 0,
        amounts.measure(at - DAY_US, at),
        amounts.measure(at - DAYS_30, at),
        amounts.previous(at, skip=own_count),
        program.amounts.first(at),
    )
