"""A transfer event applied to its program: newest snapshot wins, windows follow, and the score is given or kept.

A transfer is scored when first seen, and again when an event changes its amount, counterparty, entity, country or
return. Its own time stays the one it was first seen with. A change counts for others from the event's time on.
"""

import msgspec

from features.bank.event_families import UNMOVED_STATUSES
from features.bank.events import TransferSnapshot
from features.catalogue.vector import is_rare_pair
from features.core.rail_classes import ACH_TYPES, class_of
from features.core.rows.transfers import TransferRow
from features.landing.movement import attempt, move
from features.landing.rescoring import account_changed, known_from, remember_change, score_again
from features.landing.returns import ReturnedTransfer, first_return, lift_return, merged_return, settle_return
from features.landing.stored_transfer import (
    UNMEASURED,
    EntryPosition,
    attempt_of,
    card_of,
    movement_of,
    nodes_of,
    parties_of,
    pinned,
    returner_of,
    scored,
    version_row,
)
from features.measurement.assess import Assessment, assess
from features.measurement.subject import NO_CONTRIBUTION, Subject
from features.state.parties import Actor, Counterparty
from features.state.program import ProgramState
from features.state.transfer_table import NO_INSTANT, ReturnState, TransferRecord
from features.windows.baseline import BaselineValues


class LandingResult(msgspec.Struct, frozen=True, gc=False):
    """What one event led to; ``result`` says why there may be no row."""

    result: str
    row: TransferRow | None = None
    assessment: Assessment | None = None
    taken_at: int = 0
    is_new: bool = False
    learnt: Counterparty | None = None  # the counterparty, when something new was said of it
    place: int = -1  # its row in the table of transfers
    parties: tuple[Actor | None, Counterparty | None] = (None, None)
    left: tuple[Actor | Counterparty, ...] = ()  # whose it was until this event


class Known(msgspec.Struct, frozen=True, gc=False):
    """What a first sight has settled before the record is made."""

    cents: int
    at: int
    actor: Actor | None
    counterparty: Counterparty | None
    country: str | None
    baseline: BaselineValues


class Newer(msgspec.Struct, frozen=True, gc=False):
    """What a newer snapshot has settled before the record is made."""

    updated_at: int
    actor: Actor | None
    counterparty: Counterparty | None


def land(program: ProgramState, said: TransferSnapshot, when: EntryPosition) -> LandingResult:
    """Apply one snapshot."""
    row = program.transfers.row_of(said.id)
    if row is not None:
        return _revisit(program, row, said, when)
    if said.amount_cents is None:
        return LandingResult("unusable")
    return _first_sight(program, said, when, said.amount_cents)


def _first_sight(program: ProgramState, said: TransferSnapshot, when: EntryPosition, cents: int) -> LandingResult:
    at = min(said.created_at if said.created_at is not None else when.event_at, when.appended_at)
    actor = program.actor_of(said.entity_id, said.account_id)
    counterparty, learnt = _counterparty(program, said)
    if counterparty is not None and counterparty.first_seen_at is None:
        counterparty.first_seen_at, learnt = at, True
    country = said.country or (counterparty.country if counterparty is not None else None)
    account = program.account_number(said.account_id)  # before the nodes: a transfer may pay its own account
    subject = Subject(
        said.rail,
        said.direction,
        said.type,
        cents,
        said.status,
        country,
        said.card_decision_reason,
        said.sec_code,
        actor,
        counterparty,
        counterparty is not None,
        account_changed(program, counterparty, at, NO_CONTRIBUTION),
        *nodes_of(program, said.direction, actor, counterparty),
        card_of(account, actor.index if actor is not None else -1),
        None if counterparty is None else (counterparty.routing, counterparty.last4),
        NO_CONTRIBUTION,
    )
    program.baseline.advance(at)
    baseline = program.baseline.measure(at, class_of(said.rail, said.direction))
    assessment = assess(subject, program.series, program.declared_at(at), baseline, at=at)
    record = _first_record(program, said, when, assessment, Known(cents, at, actor, counterparty, country, baseline))
    row = program.transfers.add(said.id, record)
    move(program, None, movement_of(program, row, record, actor, counterparty), known_at=None)
    attempt(program, None, attempt_of(program, record), known_at=None)
    if record.moved:
        program.acquaintances.meet(subject.source, subject.target, at, row, is_rare=is_rare_pair(assessment.vector))
    state = first_return(said, own_at=at, event_at=when.event_at)
    if state is not None:
        program.returned[row] = state
        settle_return(program, returner_of(row, record, actor, counterparty), state, known_at=None)
    version = version_row(program, row, record, said.id, when)
    news, parties = counterparty if learnt else None, (actor, counterparty)
    return LandingResult("applied", version, assessment, at, is_new=True, learnt=news, place=row, parties=parties)


def _first_record(
    program: ProgramState, said: TransferSnapshot, when: EntryPosition, assessment: Assessment, known: Known
) -> TransferRecord:
    number = program.words.number
    score = assessment.score
    return TransferRecord(
        known.cents,
        known.at,
        said.updated_at if said.updated_at is not None else when.event_at,
        when.event_at,
        when.appended_at,
        when.offset,
        when.offset,
        NO_INSTANT if said.effective_at is None else said.effective_at,
        known.actor.index if known.actor is not None else -1,
        known.counterparty.index if known.counterparty is not None else -1,
        program.account_number(said.account_id),
        score.n,
        *pinned(known.baseline),
        number(said.status or "UNKNOWN"),
        number(known.country),
        number(said.sec_code),
        number(said.currency),
        number(said.card_decision_reason),
        class_of(said.rail, said.direction),
        ACH_TYPES.index(said.type),
        UNMEASURED if score.value is None else score.value,
        0 if score.confidence is None else round(score.confidence * 1_000),
        said.status not in UNMOVED_STATUSES,
    )


def _revisit(program: ProgramState, row: int, said: TransferSnapshot, when: EntryPosition) -> LandingResult:
    held = program.transfers.read(row)
    updated_at = said.updated_at if said.updated_at is not None else when.event_at
    if (updated_at, when.event_at) < (held.updated_at, held.event_at):
        return _older(program, row, held, said, when)
    actor, counterparty, learnt = _parties_said(program, held, said)
    record = _newer_record(program, held, said, when, Newer(updated_at, actor, counterparty))
    old_actor, old_counterparty = parties_of(program, held)
    known_at = known_from(program, row, when.event_at)
    moved_otherwise = _moved_as(held) != _moved_as(record)
    if moved_otherwise:
        before = movement_of(program, row, held, old_actor, old_counterparty)
        after = movement_of(program, row, record, actor, counterparty)
        moved_otherwise = before != after
        if moved_otherwise:
            move(program, before, after, known_at=known_at)
    tried, tries = attempt_of(program, held), attempt_of(program, record)
    if tried != tries:
        attempt(program, tried, tries, known_at=known_at)
    old_return = program.returned.get(row)
    new_return = merged_return(old_return, said, own_at=held.at, event_at=known_at)
    if old_return is not None or new_return is not None:
        old_returner = returner_of(row, held, old_actor, old_counterparty)
        returner = returner_of(row, record, actor, counterparty)
        _exchange_return(program, row, (old_returner, old_return), (returner, new_return), known_at=known_at)
    if moved_otherwise or tried != tries or old_return != new_return:
        remember_change(program, row, (held, old_return), (record, new_return), known_at=known_at)
    assessment = None
    if old_return != new_return or _scored_on(held) != _scored_on(record):
        assessment = score_again(program, row, record)
        record = scored(record, assessment, when)
    program.transfers.write(row, record)
    version = version_row(program, row, record, said.id, when)
    news, parties = counterparty if learnt else None, (actor, counterparty)
    left = _left((old_actor, old_counterparty), parties)
    return LandingResult("applied", version, assessment, record.at, learnt=news, place=row, parties=parties, left=left)


def _left(
    before: tuple[Actor | None, Counterparty | None], after: tuple[Actor | None, Counterparty | None]
) -> tuple[Actor | Counterparty, ...]:
    return tuple(old for old, new in zip(before, after, strict=True) if old is not None and old is not new)


def _newer_record(
    program: ProgramState, held: TransferRecord, said: TransferSnapshot, when: EntryPosition, newer: Newer
) -> TransferRecord:
    """What was held, with what the snapshot says; by position, because replacing by name costs three times as much."""
    number = program.words.number
    actor, counterparty = newer.actor, newer.counterparty
    return TransferRecord(
        held.cents if said.amount_cents is None else said.amount_cents,
        held.at,
        newer.updated_at,
        when.event_at,
        held.scored_at,
        held.scored_offset,
        when.offset,
        held.effective_at if said.effective_at is None else said.effective_at,
        actor.index if actor is not None else -1,
        counterparty.index if counterparty is not None else -1,
        held.account if said.account_id is None else program.account_number(said.account_id),
        held.score_n,
        held.baseline_n,
        held.baseline_median,
        held.baseline_p95,
        held.status if said.status is None else number(said.status),
        _country_said(program, held, said, counterparty),
        held.sec_code if said.sec_code is None else number(said.sec_code),
        held.currency if said.currency is None else number(said.currency),
        held.card_reason if said.card_decision_reason is None else number(said.card_decision_reason),
        held.class_id,
        held.ach_type if said.type is None else ACH_TYPES.index(said.type),
        held.score,
        held.confidence_permille,
        held.moved if said.status is None else said.status not in UNMOVED_STATUSES,
    )


def _exchange_return(
    program: ProgramState,
    row: int,
    before: tuple[ReturnedTransfer, ReturnState | None],
    after: tuple[ReturnedTransfer, ReturnState | None],
    *,
    known_at: int,
) -> None:
    """Take the return that was known out of the windows and put the one that is known now in, unless they are equal."""
    if before == after:
        return
    if before[1] is not None:
        lift_return(program, before[0], before[1], known_at=known_at)
    if after[1] is not None:
        program.returned[row] = after[1]
        settle_return(program, after[0], after[1], known_at=known_at)


def _older(
    program: ProgramState, row: int, held: TransferRecord, said: TransferSnapshot, when: EntryPosition
) -> LandingResult:
    """An older snapshot overwrites nothing; a return that the newer one does not mention is carried forward."""
    known_at = known_from(program, row, when.event_at)
    state = first_return(said, own_at=held.at, event_at=known_at)
    if state is None or row in program.returned:
        return LandingResult("stale")
    program.returned[row] = state
    settle_return(program, returner_of(row, held, *parties_of(program, held)), state, known_at=known_at)
    remember_change(program, row, (held, None), (held, state), known_at=known_at)
    assessment = score_again(program, row, held)
    record = scored(held, assessment, when)
    program.transfers.write(row, record)
    version, parties = version_row(program, row, record, said.id, when), parties_of(program, record)
    return LandingResult("stale", version, assessment, record.at, place=row, parties=parties)


def _moved_as(record: TransferRecord) -> tuple[int, ...]:
    """All that can change of what a transfer puts into the windows."""
    return (record.moved, record.cents, record.actor, record.counterparty, record.ach_type)


def _scored_on(record: TransferRecord) -> tuple[int, ...]:
    """What a transfer is scored again for, beside its return."""
    return (record.cents, record.actor, record.counterparty, record.country)


def _parties_said(
    program: ProgramState, held: TransferRecord, said: TransferSnapshot
) -> tuple[Actor | None, Counterparty | None, bool]:
    """The parties a newer snapshot names, else the ones held; True when the counterparty's details changed."""
    actor, counterparty = parties_of(program, held)
    if said.entity_id is not None or (actor is None and said.account_id is not None):
        actor = program.actor_of(said.entity_id, said.account_id)
    if said.counterparty_id is None and counterparty is not None and not counterparty.unlisted:
        return actor, counterparty, False
    named, learnt = _counterparty(program, said)
    return actor, counterparty if named is None else named, learnt


def _country_said(
    program: ProgramState, held: TransferRecord, said: TransferSnapshot, counterparty: Counterparty | None
) -> int:
    """The number of the country a newer snapshot names; another counterparty brings the one that is known of it."""
    if said.country is None and counterparty is not None and counterparty.index != held.counterparty:
        return program.words.number(counterparty.country)
    return held.country if said.country is None else program.words.number(said.country)


def _counterparty(program: ProgramState, said: TransferSnapshot) -> tuple[Counterparty | None, bool]:
    """The other side with what the snapshot says of it; True when that was new."""
    if said.counterparty_id is not None:
        party = program.counterparties.get_or_add(said.counterparty_id)
    elif said.counterparty_name is not None:
        details = (said.counterparty_name, said.counterparty_routing, said.counterparty_last4)
        on_file = program.counterparties.match(*details)
        if on_file is not None and not on_file.unlisted:
            return on_file, False
        party = on_file or program.counterparties.unlisted(*details)
    else:
        return None, False
    learnt = program.counterparties.learn(
        party,
        name=said.counterparty_name,
        routing=said.counterparty_routing,
        last4=said.counterparty_last4,
        country=said.country,
    )
    return party, learnt
