"""The stages of one bank event in its program.

bank event ─▶ dedupe ─▶ apply ─▶ score ─▶ detect ─▶ route ─▶ match ─▶ rows

dedupe  an event changes nothing when it was applied before, or a different one took effect under its id
apply   the newest snapshot wins and the windows follow; the transfer itself is scored between the two, over the windows
                before it is counted (``features/landing/landing.py``)
score   the rows of the transfer and its features, then the scores of its entity and its counterparty
detect  every detector runs on the scored transfer (``features/alerts/opening.py``)
route   the policy in force sends each finding to a person or closes it (``features/policy/routing.py``)
match   match-back: the oldest open pre-flight on a new transfer is closed with it
"""

from typing import Any, Final
from zlib import crc32

import msgspec

from clearhold.features.alerts.labelling import apply_dispute_event, label_by_earlier_dispute, label_disputed_check
from clearhold.features.alerts.opening import open_for_band, open_for_late_money, open_for_outcomes, run_detectors
from clearhold.features.bank.envelope import repeated_key
from clearhold.features.bank.event_types import KNOWN_FAMILIES, BankEventType, event_type
from clearhold.features.bank.events import (
    ANY_DECODER,
    EVENT_DECODER,
    BankEvent,
    TransferSnapshot,
    TypedEvent,
    decode_event,
    decode_object,
)
from clearhold.features.bank.faults import CAMEL_CASE_ID, fault_of, reads_plainly
from clearhold.features.bank.transfers import EventKind, read_transfer
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.log_entry import (
    Emit,
    EntryKind,
    EntryPosition,
    EventFault,
    EventOutcome,
    EventResult,
    EventSubjectType,
    LogEntry,
    SubjectOfEvent,
    earlier_result,
    entry_of,
    event_time,
    no_rows,
)
from clearhold.features.core.money import USD
from clearhold.features.core.rows.events import EventRow, PreflightMatchRow, QuarantineRow
from clearhold.features.landing.landing import land
from clearhold.features.landing.stored_transfer import (
    LandingResult,
    RenamedTransfer,
    emit_shadow_score,
    known_result,
)
from clearhold.features.parties.actor_scores import add_transfer_score, score_parties, settle_clearings
from clearhold.features.parties.agents import wallet_object
from clearhold.features.parties.party_rows import (
    apply_account_event,
    apply_counterparty_event,
    apply_entity_event,
    counterparty_row,
    emit_introduced,
    features_row,
    newest_embedded,
)
from clearhold.features.shard.stated_subjects import outcome_again
from clearhold.features.shard.ticks import follow_history, snapshot_after_transfers
from clearhold.features.state.open_preflights import CounterpartyDetails
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.id_index import key_of

Event = TypedEvent | BankEvent
# Looked up once: see ``features/bank/transfers.py``.
_APPLIED, _DUPLICATE, _STALE = EventResult.APPLIED, EventResult.DUPLICATE, EventResult.STALE
_TRANSFER: Final = EventSubjectType.TRANSFER
_PARTY_EVENTS: Final = {
    "identity": apply_entity_event,
    "counterparty": apply_counterparty_event,
    "account": apply_account_event,
}


class Trial:
    """Events tried on a new program, which nothing stores. ``now`` is the time at which they arrive."""

    def __init__(self, *, now: int) -> None:
        self._now, self._offset, self._program = now, 0, ProgramState("trial")
        self._program.runs_detectors = False

    def row_of(self, body: bytes) -> EventRow:
        """The row of the next event, whose envelope is valid."""
        self._offset += 1
        rows: list[Any] = []
        entry = LogEntry(0, self._offset, EntryKind.BANK, self._program.id, self._now, body)
        process_bank_event(self._program, decode_event(body), entry, rows.append)
        (row,) = [row for row in rows if isinstance(row, EventRow)]
        return row


def process_bank_event(program: ProgramState, event: Event, entry: LogEntry, emit: Emit) -> None:
    """Take one bank event through the pipeline; its own row, with the result, comes last."""
    created_at = parse_instant(event.created_at)
    if created_at is None:
        emit(quarantine_row(entry, "created_at is not a date-time"))
        return
    kind, checksum, key = event_type(event.type), crc32(entry.body), key_of(event.id)
    stored = program.events.get(key)
    earlier = earlier_result(stored, checksum)
    event_at = event_time(created_at, appended_at=entry.appended_at)
    is_tied = earlier is not _DUPLICATE and program.arrivals.note(event_at)
    position = EntryPosition(entry.shard, entry.offset, event_at, entry.appended_at)
    if earlier is not None:
        outcome = _again_or_failed(earlier, kind, entry, position, emit)
    else:
        follow_history(program, position, emit)
        outcome = _applied_or_failed(program, kind, event, entry, position, emit)
        keep = program.events.enter if stored is None else program.events.put
        keep(key, entry_of(checksum, outcome.result))
        program.arrivals.is_late |= is_tied and outcome.result is _STALE
    program.day_tallies.count_event(event_at, kind.family, outcome.result)
    if emit is no_rows:
        return
    fault, subject = None, outcome.subject
    is_plain = outcome.is_plain and isinstance(event, TypedEvent) and entry.body.find(CAMEL_CASE_ID) < 0
    if outcome.fault is not None:
        fault = outcome.fault
    elif not is_plain or created_at > entry.appended_at:
        fault = fault_of(event, entry.body, outcome.result, appended_at=entry.appended_at)
    emit(
        EventRow(  # by position, in the order of its fields: naming them costs several times as much
            program.tenant_id,
            program.id,
            entry.shard,
            entry.offset,
            event.id,
            event.type,
            kind.family,
            created_at,
            entry.appended_at,
            outcome.result,
            checksum,
            None if subject is None else subject.type,
            None if subject is None else subject.id,
            None if fault is None else fault.sentence,
            None if fault is None else fault.path,
            stored is not None and earlier is None,
        )
    )


def _applied_or_failed(
    program: ProgramState, kind: BankEventType, event: Event, entry: LogEntry, position: EntryPosition, emit: Emit
) -> EventOutcome:
    try:
        return _apply(program, kind, event, entry.body, position, emit)
    except Exception as error:  # noqa: BLE001 - any failure of one event: it is set aside, the others go on
        return _failed(entry, error, emit)


def _again_or_failed(
    earlier: EventResult, kind: BankEventType, entry: LogEntry, position: EntryPosition, emit: Emit
) -> EventOutcome:
    try:
        return outcome_again(earlier, kind, entry.body, position)
    except Exception as error:  # noqa: BLE001 - as above
        return _failed(entry, error, emit)


def _failed(entry: LogEntry, error: Exception, emit: Emit) -> EventOutcome:
    emit(quarantine_row(entry, f"{type(error).__name__}: {error}"))
    return EventOutcome(EventResult.FAILED)


def _apply(
    program: ProgramState, kind: BankEventType, event: Event, body: bytes, position: EntryPosition, emit: Emit
) -> EventOutcome:
    """Apply a new event: a transfer lands and ``after_landing`` follows; a party's details are merged."""
    if kind.family not in KNOWN_FAMILIES:
        return EventOutcome(EventResult.UNKNOWN)
    rail = None if kind.kind is None else kind.kind.rail
    repeated = repeated_key(body, rail)
    if repeated is not None:
        return EventOutcome(EventResult.UNUSABLE, fault=EventFault(f"{repeated} is named twice.", repeated))
    if kind.kind is not None and not kind.is_dispute:
        return _apply_transfer(program, kind, kind.kind, event, position, emit)
    return _apply_other(program, kind, body, position, emit)


def _apply_other(
    program: ProgramState, kind: BankEventType, body: bytes, position: EntryPosition, emit: Emit
) -> EventOutcome:
    """Apply an event on a party or a dispute."""
    try:
        raw = EVENT_DECODER.decode(body).data
        data: Any = ANY_DECODER.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return EventOutcome(EventResult.UNUSABLE)
    if not isinstance(data, dict):
        return EventOutcome(EventResult.UNUSABLE)
    apply_other = apply_dispute_event if kind.is_dispute else _PARTY_EVENTS.get(kind.family)
    if apply_other is None:
        return EventOutcome(EventResult.STORED)
    outcome = apply_other(program, kind.suffix, data, raw, position, emit)
    open_for_outcomes(program, position, emit)
    settle_clearings(program, position, emit)
    return outcome


def _apply_transfer(
    program: ProgramState, kind: BankEventType, rail: EventKind, event: Event, position: EntryPosition, emit: Emit
) -> EventOutcome:
    """Land the event's transfer, if it has one."""
    try:
        data = event.data if isinstance(event, TypedEvent) else decode_object(event.data)
    except (msgspec.DecodeError, RecursionError):
        return EventOutcome(EventResult.UNUSABLE)
    if not kind.has_transfer(data):
        return EventOutcome(EventResult.STORED)
    snapshot = read_transfer(rail, data, event_at=position.event_at, appended_at=position.appended_at)
    if snapshot is None:
        return EventOutcome(EventResult.UNUSABLE)
    landed = land(program, snapshot, position)
    after_landing(program, snapshot, landed, position, emit)
    is_plain = landed.result is _APPLIED and reads_plainly(kind, data, snapshot, appended_at=position.appended_at)
    subject = SubjectOfEvent(_TRANSFER, landed.transfer_id or snapshot.id)
    return EventOutcome(landed.result, subject, is_plain, landed.fault)


def emit_landed_rows(
    program: ProgramState, snapshot: TransferSnapshot, landed: LandingResult, position: EntryPosition, emit: Emit
) -> None:
    """The rows of the parties that the transfer introduced, of the transfer itself and of its features."""
    embedded = None if snapshot.embedded is None else newest_embedded(snapshot, landed, position)
    if program.to_scorings is not None:
        _emit_scorings(program, landed, position, program.to_scorings)
    if emit is no_rows:
        program.introduced.clear()
        program.accounts.introduced.clear()
        return
    if program.introduced or program.accounts.introduced:
        emit_introduced(program, position, emit)
    updated = landed.updated_counterparty if embedded is None else landed.parties[1]
    if updated is not None and not updated.unlisted:
        raw = wallet_object(program, updated) if program.holds_agents else embedded
        emit(counterparty_row(program, updated, raw, position))
    if landed.renamed is not None:
        renamed_id, renamed, _ = landed.renamed
        emit(renamed.row(renamed_id, position))
    if landed.transfer is not None:
        emit(landed.transfer.row(landed.transfer_id, position))
    _emit_scorings(program, landed, position, emit)


def _emit_scorings(program: ProgramState, landed: LandingResult, position: EntryPosition, emit: Emit) -> None:
    """The features of the transfer that was renamed, and of the transfer itself."""
    if landed.renamed is not None:
        renamed_id, renamed, assessment = landed.renamed
        emit(features_row(program, renamed_id, assessment, renamed.record.at, position, rescored=True))
    if landed.assessment is not None:
        emit(
            features_row(
                program,
                landed.transfer_id,
                landed.assessment,
                landed.taken_at,
                position,
                rescored=not landed.is_new,
            )
        )


def match_preflight(
    program: ProgramState, snapshot: TransferSnapshot, landed: LandingResult, position: EntryPosition, emit: Emit
) -> None:
    """Match-back: a new transfer closes the oldest open pre-flight on its counterparty, amount and currency."""
    if not landed.is_new or not len(program.preflights):
        return
    named = snapshot.counterparty_id
    known = program.counterparties.get(named) if named is not None else None
    details = CounterpartyDetails(
        id=named,
        routing=snapshot.counterparty_routing or (known.routing if known is not None else None),
        last4=snapshot.counterparty_last4 or (known.last4 if known is not None else None),
        name=snapshot.counterparty_name or (known.name if known is not None else None),
    )
    amount = f"{snapshot.currency or USD} {snapshot.amount_cents}"
    preflight_id = program.preflights.match(details, amount, landed.taken_at)
    if preflight_id is not None:
        emit(
            PreflightMatchRow(
                tenant_id=program.tenant_id,
                program_id=program.id,
                preflight_id=preflight_id,
                shard=position.shard,
                offset=position.offset,
                transfer_id=landed.transfer_id,
                matched_at=position.appended_at,
            )
        )


def _follow_renamed(program: ProgramState, renamed: RenamedTransfer, position: EntryPosition, emit: Emit) -> None:
    """The points of a refund that was scored again, and its alert where its new score is in review or hold."""
    renamed_id, transfer, assessment = renamed
    if transfer.actor is not None:
        place = (transfer.row_index, transfer.record.at)
        add_transfer_score(program, transfer.actor, place, assessment.score, again=True)
        program.scores.look_again(transfer.actor)
    if program.runs_detectors:
        open_for_band(program, known_result(renamed_id, transfer, assessment), position, emit)


def after_landing(
    program: ProgramState, snapshot: TransferSnapshot, landed: LandingResult, position: EntryPosition, emit: Emit
) -> None:
    """The stages after a landing, in order. A stage does nothing when the result does not concern it."""
    emit_landed_rows(program, snapshot, landed, position, emit)
    emit_shadow_score(program, landed, position, emit)
    if landed.renamed is not None:
        _follow_renamed(program, landed.renamed, position, emit)
    score_parties(program, landed, position, emit)
    if program.runs_detectors:
        run_detectors(program, landed, position, emit)
        open_for_late_money(program, landed, position, emit)
    label_disputed_check(program, snapshot, landed, position, emit)
    label_by_earlier_dispute(program, landed, position, emit)
    settle_clearings(program, position, emit)
    match_preflight(program, snapshot, landed, position, emit)
    snapshot_after_transfers(program, landed, position, emit)


def quarantine_row(entry: LogEntry, error: str) -> QuarantineRow:
    return QuarantineRow(
        program_id=entry.program_id,
        shard=entry.shard,
        offset=entry.offset,
        kind=entry.kind,
        appended_at=entry.appended_at,
        error=error,
    )
