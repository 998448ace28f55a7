"""Scores a stored transfer again at its own time, from the facts known at that time and without counting itself.

A change counts for other transfers from its delivery on; until then the windows show the transfer before the change. So
the contribution to leave out is the one that the transfer had made by its own time, not its present one.

A card refund that the bank sends under the id of its purchase gets an id of both, and is scored again under it. The
purchase keeps its id, its amount and its place in the windows. The refund is incoming; its id is the purchase's id,
``:refund:`` and the creation time that the bank states, so that a later snapshot of it is found and a second refund is
a second transfer. A refund that comes before its purchase has the purchase's id until the purchase comes.
"""

from typing import Final

import msgspec

from clearhold.features.bank.events import TransferSnapshot
from clearhold.features.bank.statuses import FROZEN_RETURN_CODE, STOP_RETURN_CODES, UNAUTHORIZED_RETURN_CODES
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.money import ACH_TYPES, ORIGINATED_CLASS, RAIL_CLASSES, class_of
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.landing.card_use import category_counted
from clearhold.features.landing.stored_transfer import RenamedTransfer, StoredTransfer
from clearhold.features.landing.subject_builder import build_subject
from clearhold.features.landing.transfer_records import baseline_of
from clearhold.features.measurement.assessment import Assessment, assess
from clearhold.features.measurement.subject import OwnContribution
from clearhold.features.state.counted import Counted
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import UNPRICED, ReturnState
from clearhold.features.windows.edges import NOBODY
from clearhold.features.windows.series import ALWAYS

_CARD: Final = Rail.CARD.value
REFUND_CLASS: Final = class_of(Rail.CARD.value, Direction.INCOMING.value)


def known_from(program: ProgramState, row_index: int, event_at: int) -> int:
    """The instant from which a change counts: the event's time, but never before the previous change."""
    history = program.counted.get(row_index)
    return max(event_at, history[-1].known_at) if history else event_at


def record_change(
    before: tuple[StoredTransfer, ReturnState | None],
    after: tuple[StoredTransfer, ReturnState | None],
    *,
    known_at: int,
) -> None:
    """Keep the transfer's contributions to the windows before and after a change."""
    transfer = before[0]
    counted, row_index = transfer.program.counted, transfer.row_index
    history = counted.get(row_index) or (_counted(*before, ALWAYS),)
    counted[row_index] = (*history, _counted(*after, known_at))


def score_again(transfer: StoredTransfer) -> Assessment:
    """The program's baseline is the one at first sight; everything else is measured again."""
    program, record, counterparty = transfer.program, transfer.record, transfer.counterparty
    rail, direction = RAIL_CLASSES[record.class_id]
    text = program.strings.text
    subject = build_subject(
        program,
        rail=rail,
        direction=direction,
        ach_type=ACH_TYPES[record.ach_type],
        cents=transfer.cents(),
        status=text(record.status),
        country=text(record.country),
        card_reason=text(record.card_reason),
        sec_code=text(record.sec_code),
        actor=transfer.actor,
        counterparty=counterparty,
        counterparty_node=NOBODY if counterparty is None else program.node_of(counterparty),
        card=transfer.card() if rail == _CARD else NOBODY,
        at=record.at,
        moved=record.moved,
        purchase=program.purchases.all[record.purchase],
        own=_own_contribution(transfer),
    )
    declared = program.declared_at(record.at)
    return assess(subject, program.series, declared, baseline_of(record), program.scorecards.champion, at=record.at)


def _counted(transfer: StoredTransfer, returned: ReturnState | None, known_at: int) -> Counted:
    record, attempt = transfer.record, transfer.attempt()
    return Counted(
        known_at=known_at,
        cents=transfer.cents(),
        actor=record.actor,
        counterparty=record.counterparty,
        ach_type=record.ach_type,
        moved=record.moved,
        card=NOBODY if attempt is None else attempt.card,
        country=0 if attempt is None else record.country,
        purchase=record.purchase,
        attempts=() if attempt is None else attempt.kinds,
        returned=returned,
    )


def _own_contribution(transfer: StoredTransfer) -> OwnContribution:
    """The contribution of the transfer to the windows by its own time."""
    program, record, row_index = transfer.program, transfer.record, transfer.row_index
    history = program.counted.get(row_index) or (_counted(transfer, transfer.returned(), ALWAYS),)
    counted = next(each for each in reversed(history) if each.known_at <= record.at)
    then = StoredTransfer(
        program,
        row_index,
        msgspec.structs.replace(
            record,
            actor=counted.actor,
            counterparty=counted.counterparty,
            ach_type=counted.ach_type,
            cents=UNPRICED if counted.cents is None else counted.cents,
        ),
    )
    returned, is_originated = counted.returned, then.is_originated()
    code = None if returned is None else returned.code
    return OwnContribution(
        actor=then.actor,
        counterparty=then.counterparty,
        cents=counted.cents,
        moved=counted.moved,
        originated=is_originated,
        returned_at=returned.at if returned is not None and counted.moved and returned.counts else None,
        unauthorized=is_originated and code in UNAUTHORIZED_RETURN_CODES,
        stop=is_originated and code in STOP_RETURN_CODES,
        frozen=record.class_id == ORIGINATED_CLASS and code == FROZEN_RETURN_CODE,
        kinds=then.kinds() if counted.moved else (),
        card=counted.card,
        attempts=counted.attempts,
        category=category_counted(program, counted.purchase, record.class_id, moved=counted.moved),
        row=row_index,
    )


def is_other_refund(stored: StoredTransfer, snapshot: TransferSnapshot, position: EntryPosition) -> bool:
    """Whether a second refund has come under the id of a purchase that is not known yet."""
    return _stated_at(stored) != _own_at(snapshot, position)


def note_created_ahead(refund: StoredTransfer, snapshot: TransferSnapshot) -> None:
    """Keep the creation time that the bank states of a refund, where it is after the arrival, the refund's own time."""
    created_at = snapshot.created_at
    if created_at is not None and created_at > refund.record.at:
        refund.program.refunds_ahead[refund.row_index] = created_at


def under_own_id(snapshot: TransferSnapshot, position: EntryPosition) -> TransferSnapshot:
    return msgspec.structs.replace(snapshot, id=_refund_id(snapshot.id, _own_at(snapshot, position)))


def rename_refund(stored: StoredTransfer, purchase_id: str, position: EntryPosition) -> RenamedTransfer:
    """Give the stored refund its id, so that its purchase can have the one that it has."""
    program, refund_id = stored.program, _refund_id(purchase_id, _stated_at(stored))
    program.transfers.rename(stored.row_index, refund_id)
    if program.clearings.has_waiting(stored.row_index):
        program.alerts.rename_transfer(purchase_id, refund_id)
    assessment, former = score_again(stored), stored.day_contribution()
    stored.set_score(assessment, position)
    stored.write()
    program.day_tallies.replace(former, stored.day_contribution())
    return RenamedTransfer(refund_id, stored, assessment)


def _stated_at(refund: StoredTransfer) -> int:
    return refund.program.refunds_ahead.get(refund.row_index, refund.record.at)


def _own_at(snapshot: TransferSnapshot, position: EntryPosition) -> int:
    return position.event_at if snapshot.created_at is None else snapshot.created_at


def _refund_id(purchase_id: str, at: int) -> str:
    return f"{purchase_id}:refund:{format_instant(at)}"
