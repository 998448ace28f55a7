"""A transfer event applied to its program: the newest snapshot wins, the windows change, and the transfer is scored.

A transfer is scored when first seen, and again when an event changes its amount, counterparty, entity, country,
purchase or return. Its own time is the one of its first event. A change counts for other transfers from the
event's time on.
"""

from operator import attrgetter
from typing import Final

import msgspec

from clearhold.features.bank.events import TransferSnapshot
from clearhold.features.bank.statuses import RETURN_UNDONE_STATUSES
from clearhold.features.catalogue.vector import is_rare_pair
from clearhold.features.core.log_entry import EntryPosition, EventFault, EventResult
from clearhold.features.core.money import CARD_CLASSES, class_of
from clearhold.features.core.vocabulary import Rail
from clearhold.features.landing.card_use import replace_use, use_of
from clearhold.features.landing.movement import (
    ENTER,
    LEAVE,
    change_return,
    first_return,
    merged_return,
    replace_attempt,
    replace_movement,
)
from clearhold.features.landing.rescoring import (
    REFUND_CLASS,
    is_other_refund,
    known_from,
    note_created_ahead,
    record_change,
    rename_refund,
    score_again,
    under_own_id,
)
from clearhold.features.landing.stored_transfer import LandingResult, StoredTransfer
from clearhold.features.landing.subject_builder import (
    counterparty_of,
    country_of_transfer,
    note_account,
    parties_of,
    subject_of_snapshot,
)
from clearhold.features.landing.transfer_records import first_record, merged_record, priced_at, reprice
from clearhold.features.measurement.assessment import Assessment, assess
from clearhold.features.measurement.subject import Subject
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import ReturnState

# The fields that change a transfer's contribution to the windows; the fields that, beside its return, change its
# score; and both.
_MOVED_AS: Final = attrgetter("moved", "cents", "actor", "counterparty", "ach_type")
_SCORED_ON: Final = attrgetter("cents", "amount", "currency", "actor", "counterparty", "country", "purchase")
_COUNTED_ON: Final = attrgetter(
    "moved", "cents", "actor", "counterparty", "ach_type", "amount", "currency", "country", "card", "account"
)
_OTHER_TRANSFER: Final = EventFault(
    "data.id is the id of a transfer on another rail or in the other direction.", "data.id"
)
_CARD: Final = Rail.CARD.value
_APPLIED: Final = EventResult.APPLIED  # looked up once: see ``features/bank/transfers.py``


def land(program: ProgramState, snapshot: TransferSnapshot, position: EntryPosition) -> LandingResult:
    """Apply one snapshot of one transfer; the result has the id under which it is stored."""
    stored = StoredTransfer.find(program, snapshot.id)
    if stored is None:
        return _land_new(program, snapshot, position)
    class_id = class_of(snapshot.rail, snapshot.direction)
    if class_id != stored.record.class_id or (class_id == REFUND_CLASS and is_other_refund(stored, snapshot, position)):
        return _land_under_known_id(stored, snapshot, position, class_id)
    return _land_again(stored, snapshot, position)


def _land_under_known_id(
    stored: StoredTransfer, snapshot: TransferSnapshot, position: EntryPosition, class_id: int
) -> LandingResult:
    """A transfer that is not the stored one of its id: a card refund, the purchase of one that came first, or a mistake
    of the bank.
    """
    program = stored.program
    if not CARD_CLASSES.issuperset((class_id, stored.record.class_id)):
        return LandingResult(EventResult.UNUSABLE, fault=_OTHER_TRANSFER)
    if class_id == REFUND_CLASS:
        snapshot = under_own_id(snapshot, position)
        refund = StoredTransfer.find(program, snapshot.id)
        if refund is not None:
            return _land_again(refund, snapshot, position)
    elif snapshot.amount_cents is not None:
        renamed = rename_refund(stored, snapshot.id, position)
        return msgspec.structs.replace(_land_new(program, snapshot, position), renamed=renamed)
    return _land_new(program, snapshot, position)


def _land_again(stored: StoredTransfer, snapshot: TransferSnapshot, position: EntryPosition) -> LandingResult:
    """Apply a snapshot of a transfer that is known."""
    updated_at = snapshot.updated_at if snapshot.updated_at is not None else position.event_at
    order, stored_order = (updated_at, position.event_at), (stored.record.updated_at, stored.record.event_at)
    if order < stored_order or (order == stored_order and stored.is_past(snapshot)):
        return _land_older(stored, snapshot, position)
    return _land_newer(stored, snapshot, position, updated_at)


def _land_new(program: ProgramState, snapshot: TransferSnapshot, position: EntryPosition) -> LandingResult:
    amount = snapshot.amount_cents
    if amount is None:
        return LandingResult(EventResult.UNUSABLE)
    at = min(snapshot.created_at if snapshot.created_at is not None else position.event_at, position.appended_at)
    cents, rate = priced_at(
        program, amount, snapshot.currency, snapshot.stated_usd_cents, at=at, decided_at=position.appended_at
    )
    actor = program.actor_of(snapshot.entity_id, snapshot.account_id)
    counterparty, is_updated = counterparty_of(program, snapshot, at, at)
    country = country_of_transfer(snapshot.country, counterparty)
    subject = subject_of_snapshot(
        program, snapshot, cents=cents, at=at, actor=actor, counterparty=counterparty, country=country
    )
    program.baseline.advance(at)
    baseline = program.baseline.measure(at, class_of(snapshot.rail, snapshot.direction))
    assessment = assess(subject, program.series, program.declared_at(at), baseline, program.scorecards.champion, at=at)
    record = first_record(
        program,
        snapshot,
        position,
        assessment,
        cents=cents,
        at=at,
        actor=actor,
        counterparty=counterparty,
        country=country,
        baseline=baseline,
    )
    transfer = StoredTransfer(program, program.transfers.add(snapshot.id, record), record)
    if rate is not None:
        program.rates[transfer.row_index] = rate
    if record.class_id == REFUND_CLASS:
        note_created_ahead(transfer, snapshot)
    _enter_windows(transfer, subject, assessment, snapshot, position)
    note_account(program, counterparty, snapshot, at=at, row=transfer.row_index)
    program.day_tallies.add_transfer(record, transfer.returned())
    return LandingResult(
        _APPLIED,
        snapshot.id,
        transfer,
        assessment,
        at,
        is_new=True,
        updated_counterparty=counterparty if is_updated else None,
        row_index=transfer.row_index,
        parties=(actor, counterparty),
    )


def _enter_windows(
    transfer: StoredTransfer,
    subject: Subject,
    assessment: Assessment,
    snapshot: TransferSnapshot,
    position: EntryPosition,
) -> None:
    """Count a transfer that was just scored, for later transfers."""
    program, at, row_index = transfer.program, transfer.record.at, transfer.row_index
    program.kri_windows.add(row_index, transfer.record)
    if subject.moved:
        movement = transfer.movement_between(subject.source, subject.target, subject.kinds)
        replace_movement(program, None, movement, known_at=None)
        is_rare = is_rare_pair(assessment.vector)
        program.acquaintances.meet(movement.source, movement.target, at, row_index, is_rare=is_rare)
        program.prevalence.add(at, assessment.reached, is_card=subject.rail == _CARD)
    attempt = transfer.attempt()
    if attempt is not None:
        replace_attempt(program, None, attempt, known_at=None)
        replace_use(program, None, use_of(transfer), known_at=None)
    state = first_return(snapshot, own_at=at, event_at=position.event_at)
    if state is not None:
        program.returned[row_index] = state
        change_return(program, transfer.returned_transfer(), state, ENTER, known_at=None)


def _land_newer(
    stored: StoredTransfer, snapshot: TransferSnapshot, position: EntryPosition, updated_at: int
) -> LandingResult:
    program, row_index, record = stored.program, stored.row_index, stored.record
    actor, counterparty, is_updated = parties_of(stored, snapshot, position.event_at)
    merged = merged_record(
        program, record, snapshot, position, updated_at=updated_at, actor=actor, counterparty=counterparty
    )
    merged = reprice(program, row_index, record, merged, snapshot, decided_at=position.appended_at)
    transfer = StoredTransfer(program, row_index, merged)
    if snapshot.counterparty_routing is not None or snapshot.counterparty_last4 is not None:
        note_account(program, counterparty, snapshot, at=record.at, row=row_index)
    assessment = None
    if _may_count_otherwise(stored, transfer, snapshot):
        known_at = known_from(program, row_index, position.event_at)
        new_return = merged_return(stored.returned(), snapshot, own_at=record.at, event_at=known_at)
        assessment = _replace(stored, transfer, new_return, position, known_at=known_at)
    transfer.write(record)
    return LandingResult(
        _APPLIED,
        snapshot.id,
        transfer,
        assessment,
        record.at,
        updated_counterparty=counterparty if is_updated else None,
        row_index=row_index,
        parties=(actor, counterparty),
        former_parties=_former_parties(stored, transfer),
    )


def _may_count_otherwise(stored: StoredTransfer, transfer: StoredTransfer, snapshot: TransferSnapshot) -> bool:
    """False for most newer snapshots, which bring another status, without a return, to a transfer of no card."""
    return (
        _COUNTED_ON(stored.record) != _COUNTED_ON(transfer.record)
        or stored.row_index in stored.program.returned
        or snapshot.return_code is not None
        or snapshot.returned_at is not None
        or transfer.record.class_id in CARD_CLASSES  # declines are counted by status and reason
    )


def _land_older(stored: StoredTransfer, snapshot: TransferSnapshot, position: EntryPosition) -> LandingResult:
    """An older snapshot overwrites nothing; a return that the newer one does not mention is kept."""
    at, row_index = stored.record.at, stored.row_index
    known_at = known_from(stored.program, row_index, position.event_at)
    state = first_return(snapshot, own_at=at, event_at=known_at)
    if state is None or row_index in stored.program.returned:
        return LandingResult(EventResult.STALE, snapshot.id)
    if stored.status() in RETURN_UNDONE_STATUSES:
        state = state._replace(undone=True)
    assessment = _replace(stored, stored, state, position, known_at=known_at)
    stored.write()
    return LandingResult(
        EventResult.STALE,
        snapshot.id,
        stored,
        assessment,
        at,
        row_index=row_index,
        parties=stored.parties(),
    )


def _replace(
    before: StoredTransfer,
    after: StoredTransfer,
    new_return: ReturnState | None,
    position: EntryPosition,
    *,
    known_at: int,
) -> Assessment | None:
    """Replace the transfer's contribution to windows and tallies; its new score, if a scored field has changed."""
    old_return, former = before.returned(), before.day_contribution()
    is_scored_alike = old_return == new_return and _SCORED_ON(before.record) == _SCORED_ON(after.record)
    counts_otherwise = _replace_contribution(before, after, known_at=known_at)
    _replace_return((before, old_return), (after, new_return), known_at=known_at)
    if counts_otherwise or old_return != new_return:
        record_change((before, old_return), (after, new_return), known_at=known_at)
    assessment = None
    if not is_scored_alike:
        assessment = score_again(after)
        after.set_score(assessment, position)
    before.program.day_tallies.replace(former, after.day_contribution())
    return assessment


def _former_parties(before: StoredTransfer, after: StoredTransfer) -> tuple[Actor | KnownCounterparty, ...]:
    if before.actor is after.actor and before.counterparty is after.counterparty:
        return ()
    sides = zip(before.parties(), after.parties(), strict=True)
    return tuple(old for old, new in sides if old is not None and old is not new)


def _replace_contribution(before: StoredTransfer, after: StoredTransfer, *, known_at: int) -> bool:
    """Replace the transfer's contribution to the windows; True when it changed."""
    program, is_changed = before.program, False
    if _MOVED_AS(before.record) != _MOVED_AS(after.record):
        movement, newer_movement = before.movement(), after.movement()
        if movement != newer_movement:
            replace_movement(program, movement, newer_movement, known_at=known_at)
            for party in (*before.parties(), *after.parties()):
                program.scores.look_again(party)
            is_changed = True
    attempt, newer_attempt = before.attempt(), after.attempt()
    if attempt != newer_attempt:
        replace_attempt(program, attempt, newer_attempt, known_at=known_at)
        is_changed = True
    use, newer_use = use_of(before), use_of(after)
    if use != newer_use:
        replace_use(program, use, newer_use, known_at=known_at)
        is_changed = True
    return is_changed


def _replace_return(
    before: tuple[StoredTransfer, ReturnState | None],
    after: tuple[StoredTransfer, ReturnState | None],
    *,
    known_at: int,
) -> None:
    """Take the stored return out of the windows and enter the newer one, unless both count alike."""
    (stored, old_return), (transfer, new_return) = before, after
    if old_return is None and new_return is None:
        return
    old_transfer, new_transfer = stored.returned_transfer(), transfer.returned_transfer()
    if (old_transfer, old_return) == (new_transfer, new_return):
        return
    program = stored.program
    if old_return is not None:
        change_return(program, old_transfer, old_return, LEAVE, known_at=known_at)
    if new_return is not None:
        program.returned[stored.row_index] = new_return
        change_return(program, new_transfer, new_return, ENTER, known_at=known_at)
