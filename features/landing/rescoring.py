"""A known transfer scored again at its own time, over what was known at that time and without counting itself.

A change counts for others from the moment it was delivered; until then the windows show the transfer as it was
before. So what must not be counted is what the transfer had put into the windows by its own time, not what it puts
there now.
"""

from features.bank.event_families import STOP_RETURN_CODES, UNAUTHORIZED_RETURN_CODES
from features.core.rail_classes import ACH_TYPES, RAIL_CLASSES
from features.landing.stored_transfer import (
    attempt_of,
    baseline_of,
    card_of,
    is_ach_debit,
    is_originated,
    nodes_of,
    parties_of,
)
from features.measurement.assess import Assessment, assess
from features.measurement.subject import OwnContribution, Subject
from features.state.parties import Counterparty
from features.state.program import ProgramState
from features.state.transfer_table import Counted, ReturnState, TransferRecord
from features.windows.edges import NOBODY
from features.windows.series import ALWAYS
from features.windows.series_kinds import kinds_of


def known_from(program: ProgramState, row: int, event_at: int) -> int:
    """When a change counts from: the event's time, but never before the change that it follows."""
    history = program.counted.get(row)
    return max(event_at, history[-1].known_at) if history else event_at


def remember_change(
    program: ProgramState,
    row: int,
    before: tuple[TransferRecord, ReturnState | None],
    after: tuple[TransferRecord, ReturnState | None],
    *,
    known_at: int,
) -> None:
    """Keep what the windows held of the transfer before a change, and what they hold since."""
    history = program.counted.setdefault(row, [_counted(program, *before, ALWAYS)])
    history.append(_counted(program, *after, known_at))


def score_again(program: ProgramState, row: int, record: TransferRecord) -> Assessment:
    """The program's baseline is the one of the first sight; everything else is measured again."""
    actor, counterparty = parties_of(program, record)
    rail, direction = RAIL_CLASSES[record.class_id]
    own = _own_at(program, row, record)
    word = program.words.word
    subject = Subject(
        rail,
        direction,
        ACH_TYPES[record.ach_type],
        record.cents,
        word(record.status),
        word(record.country),
        word(record.card_reason),
        word(record.sec_code),
        actor,
        counterparty,
        counterparty is not None,
        account_changed(program, counterparty, record.at, own),
        *nodes_of(program, direction, actor, counterparty),
        card_of(record.account, record.actor),
        None if counterparty is None else (counterparty.routing, counterparty.last4),
        own,
    )
    declared = program.declared_at(record.at)
    return assess(subject, program.series, declared, baseline_of(record), at=record.at)


def account_changed(program: ProgramState, counterparty: Counterparty | None, at: int, own: OwnContribution) -> bool:
    """True for a first transfer to a name that was dealt with before under another account."""
    if counterparty is None:
        return False
    counts = own.counterparty if own.moved else None
    if counterparty.times.count_upto(at) > (1 if counts is counterparty else 0):
        return False
    return program.counterparties.account_changed(
        counterparty.name, counterparty.routing, counterparty.last4, at=at, but=counts
    )


def _counted(program: ProgramState, record: TransferRecord, returned: ReturnState | None, known_at: int) -> Counted:
    tried = attempt_of(program, record)
    card, attempts = (NOBODY, ()) if tried is None else (tried.card, tried.kinds)
    parties = (record.actor, record.counterparty)
    return Counted(known_at, record.cents, *parties, record.ach_type, record.moved, card, attempts, returned)


def _own_at(program: ProgramState, row: int, record: TransferRecord) -> OwnContribution:
    history = program.counted.get(row) or [_counted(program, record, program.returned.get(row), ALWAYS)]
    counted = next(held for held in reversed(history) if held.known_at <= record.at)
    then = record._replace(actor=counted.actor, counterparty=counted.counterparty, ach_type=counted.ach_type)
    actor, counterparty = parties_of(program, then)
    returned = counted.returned
    return OwnContribution(
        actor=actor,
        counterparty=counterparty,
        cents=counted.cents,
        moved=counted.moved,
        ach_debit=is_ach_debit(then),
        originated=is_originated(then),
        returned_at=returned.at if returned is not None and counted.moved and returned.counts else None,
        unauthorized=returned is not None and returned.code in UNAUTHORIZED_RETURN_CODES,
        stop=returned is not None and returned.code in STOP_RETURN_CODES,
        kinds=kinds_of(*RAIL_CLASSES[record.class_id], ACH_TYPES[counted.ach_type], counted.cents)
        if counted.moved
        else (),
        card=counted.card,
        attempts=counted.attempts,
        row=row,
    )
