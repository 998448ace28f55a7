"""Labels of transfers: by a person, by an unauthorized return, or by a dispute.

An unauthorized return, or a dispute that the holder won, labels its transfer bad.

A return counts until it is dishonoured. A dishonoured return, and a dispute that the holder lost, label the transfer ok
unless a person has labelled it bad, and so does a correction to another return code. An open dispute labels nothing; a
dispute that is decided before its transfer is known waits for it. Of several decisions the newest counts, in any order
of arrival.
"""

from typing import Any, Final

import msgspec

from clearhold.features.alerts.rows import derived_from, result_row
from clearhold.features.bank.events import TransferSnapshot
from clearhold.features.bank.statuses import UNAUTHORIZED_RETURN_CODES
from clearhold.features.bank.transfers import OUTCOME_OF_CHECK_STATUS, DisputeOutcome, read_dispute
from clearhold.features.core.entries.commands import EntryResult, LabelEntry, ResultKind
from clearhold.features.core.log_entry import (
    Emit,
    EntryPosition,
    EventOutcome,
    EventResult,
    EventSubjectType,
    SubjectOfEvent,
)
from clearhold.features.core.rows.alerts import LabelRow
from clearhold.features.core.vocabulary import LabelSource, LabelValue, Rail
from clearhold.features.landing.stored_transfer import LandingResult
from clearhold.features.parties.actor_scores import settle_clearings
from clearhold.features.state.alert_book import DecidedAt
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import ReturnState

_BANK: Final = "bank"
_CHECK: Final = Rail.CHECK.value


def label(program: ProgramState, entry: LabelEntry, position: EntryPosition, emit: Emit) -> None:
    """Record the label of a transfer, once for each entry's id."""
    row_index = program.transfers.row_of(entry.transfer_id)
    result = EntryResult.UNKNOWN if row_index is None else EntryResult.MADE
    if row_index is not None:
        if not program.alerts.add_command(entry.id):
            return
        program.alerts.labelled_by_person.add(row_index)
        program.clearings.label(row_index, entry.label)
        settle_clearings(program, position, emit)
        note_label(program, row_index, entry.label, position)
        created_at = min(entry.at, position.appended_at)
        signed = (entry.source, entry.reason, entry.recorded_by)
        emit(_label_row(program, entry.transfer_id, entry.label, position, entry.id, signed, created_at=created_at))
    emit(result_row(program, position, result, ResultKind.LABEL, entry.id, transfer_id=entry.transfer_id))


def note_label(program: ProgramState, row_index: int, label: LabelValue, position: EntryPosition) -> None:
    """Count the newest label of a transfer, also as evidence on the alerts that it is in."""
    record = program.transfers.read(row_index)
    program.closing_evidence.set_label(row_index, label, transfer_at=record.at, now=position.appended_at)
    program.day_tallies.set_label(row_index, label, record, program.returned.get(row_index))


def stands_unauthorized(returned: ReturnState) -> bool:
    return returned.code in UNAUTHORIZED_RETURN_CODES and returned.counts


def label_by_return(program: ProgramState, landed: LandingResult) -> LabelValue | None:
    """The label by this delivery: bad for a return, ok when it is lifted, or None. The book remembers it."""
    labelled, returned = program.alerts.labelled_by_return, program.returned.get(landed.row_index)
    if landed.row_index not in labelled:
        if returned is None or not stands_unauthorized(returned):
            return None
        labelled.add(landed.row_index)
        program.clearings.contradict(landed.row_index)
        return LabelValue.BAD
    if returned is None or stands_unauthorized(returned):
        return None
    labelled.remove(landed.row_index)
    return LabelValue.OK if _lift(program, landed.row_index) else None


def _lift(program: ProgramState, row_index: int) -> bool:
    """Lift the bank's label bad; whether that makes the transfer ok: a person's label before it counts again."""
    is_ok_again = program.clearings.withdraw(row_index)
    return is_ok_again or row_index not in program.alerts.labelled_by_person


def return_label_row(
    program: ProgramState, landed: LandingResult, label: LabelValue, position: EntryPosition
) -> LabelRow:
    """The label as a row, with the return code that gave or lifted it."""
    returned = program.returned[landed.row_index]
    lifted = "The return as {} was dishonoured." if returned.undone else "The return was corrected to {}."
    reason = ("Returned as {}." if label is LabelValue.BAD else lifted).format(returned.code)
    row_id = derived_from(landed.transfer_id, f"{program.id}/{position.offset}")
    return _label_row(program, landed.transfer_id, label, position, row_id, (LabelSource.RETURN, reason, _BANK))


def apply_dispute_event(
    program: ProgramState, suffix: str, data: dict[str, Any], _raw: msgspec.Raw, position: EntryPosition, emit: Emit
) -> EventOutcome:
    """Apply a ``card.dispute.*`` event."""
    dispute = read_dispute(suffix, data)
    if dispute is None:
        return EventOutcome(EventResult.STORED)
    subject = SubjectOfEvent(EventSubjectType.TRANSFER, dispute.transfer_id)
    decided, alerts = DecidedAt(position.event_at, dispute.outcome is DisputeOutcome.WON), program.alerts
    row_index = program.transfers.row_of(dispute.transfer_id)
    waiting = alerts.disputes_waiting.get(dispute.transfer_id)
    known = (
        alerts.disputes.get(row_index, decided) if row_index is not None else waiting.decided if waiting else decided
    )
    if decided.at < known.at:
        return EventOutcome(EventResult.STALE, subject)
    if row_index is None:
        alerts.wait_for_transfer(dispute.transfer_id, decided, position.appended_at)
        return EventOutcome(EventResult.WAITING, subject)
    _label_by_dispute(program, row_index, dispute.transfer_id, decided, position, emit)
    return EventOutcome(EventResult.APPLIED, subject)


def label_by_earlier_dispute(program: ProgramState, landed: LandingResult, position: EntryPosition, emit: Emit) -> None:
    """Label a new transfer whose dispute was decided before it was known, unless its status has just labelled it."""
    alerts, row_index = program.alerts, landed.row_index
    if not alerts.disputes_waiting or not landed.is_new:
        return
    waiting = alerts.disputes_waiting.pop(landed.transfer_id, None)
    if waiting is not None and row_index not in alerts.disputes:
        _label_by_dispute(program, row_index, landed.transfer_id, waiting.decided, position, emit)


def label_disputed_check(
    program: ProgramState, snapshot: TransferSnapshot, landed: LandingResult, position: EntryPosition, emit: Emit
) -> None:
    """Label a check whose payer's dispute is decided by the status just delivered."""
    if snapshot.rail != _CHECK or landed.result is not EventResult.APPLIED:
        return
    outcome = OUTCOME_OF_CHECK_STATUS.get(snapshot.status or "")
    if outcome is not None:
        decided = DecidedAt(position.event_at, outcome is DisputeOutcome.WON)
        _label_by_dispute(program, landed.row_index, snapshot.id, decided, position, emit)


def _label_by_dispute(
    program: ProgramState,
    row_index: int,
    transfer_id: str,
    decided: DecidedAt,
    position: EntryPosition,
    emit: Emit,
) -> None:
    """Label the transfer, once for each turn that its disputes take."""
    known, is_won = program.alerts.disputes.get(row_index), decided.is_won
    program.alerts.disputes[row_index] = decided
    if known is not None and known.is_won == is_won:
        return
    if is_won:
        program.clearings.contradict(row_index)
    elif not _lift(program, row_index):
        return
    label = LabelValue.BAD if is_won else LabelValue.OK
    reason = f"The holder {DisputeOutcome.WON if is_won else DisputeOutcome.LOST} the dispute of it."
    note_label(program, row_index, label, position)
    row_id = derived_from(transfer_id, f"{program.id}/{position.offset}/{LabelSource.DISPUTE.value}")
    emit(_label_row(program, transfer_id, label, position, row_id, (LabelSource.DISPUTE, reason, _BANK)))


def _label_row(
    program: ProgramState,
    transfer_id: str,
    label: LabelValue,
    position: EntryPosition,
    row_id: str,
    signed: tuple[LabelSource, str, str],
    *,
    created_at: int | None = None,
) -> LabelRow:
    """The row of a label; ``signed`` are its source, its reason and who recorded it."""
    source, reason, recorded_by = signed
    return LabelRow(
        *position.first_columns(program.tenant_id, program.id, row_id),
        transfer_id=transfer_id,
        label=label.value,
        reason=reason,
        source=source.value,
        recorded_by=recorded_by,
        created_at=position.event_at if created_at is None else created_at,
    )
