"""Party events applied to the program, and the rows of parties and of transfers' features.

Ruling 8, the stored half: an entity known only from a transfer is stored as PERSON and ``UNVERIFIED``. It earns no
verification points: its empty profile is not measured (``features/measurement/actor_inputs.py``, ``identity_at``).
"""

from typing import Any, Final
from zlib import crc32

import msgspec

from clearhold.features.bank.events import TransferSnapshot
from clearhold.features.bank.masking import masked_text
from clearhold.features.bank.parties import read_account, read_counterparty, read_entity
from clearhold.features.bank.statuses import account_rank, counterparty_rank, entity_rank
from clearhold.features.catalogue.vector import FEATURE_VERSION, PathOffsets, TransferFeaturesRow
from clearhold.features.core.canonical import canonical, json_text
from clearhold.features.core.entries.commands import EntryResult, OwnerEntry, ResultKind
from clearhold.features.core.log_entry import (
    Emit,
    EntryPosition,
    EventOutcome,
    EventResult,
    EventSubjectType,
    SubjectOfEvent,
)
from clearhold.features.core.rows.alerts import EntryResultRow
from clearhold.features.core.rows.parties import AccountRow, CounterpartyRow, EarlierAccount, EntityRow
from clearhold.features.core.vocabulary import EntityType, PepStatus, VerificationStatus, band_word
from clearhold.features.landing.stored_transfer import LandingResult
from clearhold.features.measurement.actor_inputs import outcomes_of
from clearhold.features.measurement.assessment import Assessment
from clearhold.features.parties.actor_scores import emit_counterparty_score, emit_entity_score
from clearhold.features.scorers.trs_v1.identity import HIGH_RISK
from clearhold.features.state.owner_merge import OwnerLearnt, set_first_owner
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.party_details import UNKNOWN_PROFILE, EntityProfile, SnapshotOrder
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.series import ALWAYS

Data = dict[str, Any]

BANK: Final = "bank"
_FROZEN: Final = "frozen"
_OVERDRAFTED: Final = "overdrafted"
_DECISIONS: Final = frozenset({VerificationStatus.VERIFIED.value, VerificationStatus.DENIED.value})
_ENCODE_OBJECT: Final = msgspec.json.Encoder(decimal_format="number").encode  # as the bank wrote its numbers


def apply_entity_event(
    program: ProgramState, suffix: str, data: Data, raw: msgspec.Raw, position: EntryPosition, emit: Emit
) -> EventOutcome:
    snapshot = read_entity(suffix, data, appended_at=position.appended_at)
    if snapshot is None:
        return EventOutcome(EventResult.UNUSABLE)
    subject = SubjectOfEvent(EventSubjectType.ENTITY, snapshot.id)
    actor = program.entity_or_new(snapshot.id)
    if suffix == "created" and snapshot.verification_status is None and actor.profile is UNKNOWN_PROFILE:
        snapshot = msgspec.structs.replace(snapshot, verification_status=VerificationStatus.PENDING.value)
    program.introduced.clear()  # this row introduces it
    former, rank = actor.profile, entity_rank(snapshot.verification_status)
    is_older = SnapshotOrder.of(snapshot.updated_at, position.event_at, rank).is_before(former.order)
    profile = actor.merge(snapshot, known_at=position.event_at, rank=rank)
    if profile is None:
        return EventOutcome(EventResult.STALE, subject)
    program.kri_facts.screen(actor.index, profile)
    note_outcomes(program, actor, former)
    status = profile.words.verification_status
    if status in _DECISIONS and status != former.words.verification_status:
        is_denied = status == VerificationStatus.DENIED
        known_at = profile.known_at  # of the directory's answer: an object is at least as old as its decision
        at = known_at if suffix or snapshot.updated_at is None else min(snapshot.updated_at, known_at)
        program.kri_facts.decide(actor.index, at, denied=is_denied)
    emit(entity_row(program, actor, "{}" if is_older else masked_text(bytes(raw)), position))
    emit_entity_score(program, actor, position, emit)
    return EventOutcome(EventResult.APPLIED, subject)


def note_outcomes(program: ProgramState, actor: Actor, former: EntityProfile) -> None:
    """Remember the outcomes of screening that the former profile lacked, for their alerts."""
    news = outcomes_since(program, actor, former)
    if news:
        program.screening_news.append((actor, news))


def outcomes_since(program: ProgramState, actor: Actor, former: EntityProfile) -> frozenset[str]:
    """The outcomes of screening that a former profile of the actor lacked, by the ids of their reasons.

    An agent is high risk when its wallet is on a sanctions list, which has an alert by itself.
    """
    outcomes = outcomes_of(actor.profile) - outcomes_of(former)
    return outcomes - {HIGH_RISK.id} if program.holds_agents else outcomes


def apply_counterparty_event(
    program: ProgramState, suffix: str, data: Data, raw: msgspec.Raw, position: EntryPosition, emit: Emit
) -> EventOutcome:
    snapshot = read_counterparty(data, appended_at=position.appended_at)
    if snapshot is None:
        return EventOutcome(EventResult.UNUSABLE)
    subject = SubjectOfEvent(EventSubjectType.COUNTERPARTY, snapshot.id)
    party = program.counterparties.get_or_add(snapshot.id)
    order = SnapshotOrder.of(snapshot.updated_at, position.event_at, counterparty_rank(suffix))
    known = party.order
    is_older = order.is_before(known)
    party.take_order(max(order, known))
    if party.first_seen_at is None and party.stated_at is None:
        party.stated_at = position.event_at
    is_changed = program.counterparties.merge(
        party,
        name=snapshot.name,
        routing=snapshot.routing,
        last4=snapshot.last4,
        country=snapshot.country,
        # Events have whole seconds: the times of two of them may be equal, or contradict those of their objects.
        at=min(order.updated_at, known.event_at) if is_older else max(position.event_at, *known[:2]),
        is_older=is_older,
    )
    if is_older and not is_changed:
        return EventOutcome(EventResult.STALE, subject)
    emit(counterparty_row(program, party, None if is_older else masked_text(bytes(raw)), position))
    emit_counterparty_score(program, party, position, emit)
    return EventOutcome(EventResult.APPLIED, subject)


def newest_embedded(snapshot: TransferSnapshot, landed: LandingResult, position: EntryPosition) -> str | None:
    """The bank's object of the counterparty that an applied transfer embeds, masked, unless one as new is known.

    An object without a time is older than one with a time; of two without, the newer event's object wins.
    """
    embedded, party = snapshot.embedded, landed.parties[1]
    if embedded is None or party is None or party.id != snapshot.counterparty_id:
        return None
    stated = embedded.updated_at
    order = SnapshotOrder(ALWAYS if stated is None else stated, position.event_at, 0)
    is_older = order.is_before(party.order) if stated is None else stated <= party.updated_at
    if landed.result is not EventResult.APPLIED or is_older:
        return None
    encoded = _ENCODE_OBJECT(embedded.data)
    checksum = crc32(encoded)
    if checksum == party.embedded:
        return None
    party.take_order(order)
    party.embedded = checksum
    return masked_text(encoded)


def apply_account_event(
    program: ProgramState, suffix: str, data: Data, raw: msgspec.Raw, position: EntryPosition, emit: Emit
) -> EventOutcome:
    snapshot = read_account(suffix, data, appended_at=position.appended_at)
    if snapshot is None:
        return EventOutcome(EventResult.UNUSABLE)
    subject = SubjectOfEvent(EventSubjectType.ACCOUNT, snapshot.id)
    order = SnapshotOrder.of(snapshot.updated_at, position.event_at, account_rank(snapshot.status))
    is_known = program.is_account(snapshot.id)
    is_newest = program.accounts.note(snapshot.id, order)
    if snapshot.balance_cents is not None:
        program.kri_facts.balances.set(snapshot.id, snapshot.balance_cents, order)
    if suffix == _FROZEN:
        program.kri_facts.freeze(snapshot.id, position.event_at)
    elif suffix == _OVERDRAFTED:
        program.kri_facts.overdraft(snapshot.id, position.event_at)
    learnt = set_first_owner(program, snapshot.id, snapshot.owner_id, order)
    emit_owner_learnt(program, learnt, position, emit)
    is_alert = snapshot.owner_id is None and snapshot.type is None and snapshot.status is None
    if not is_newest and not learnt.is_stored and not is_alert:
        return EventOutcome(EventResult.STALE, subject)
    if is_alert:  # of an overdraft: it names an account and states nothing about it
        if not is_known:
            emit(account_row(program, snapshot.id, position, told_by=None))
        return EventOutcome(EventResult.APPLIED if suffix == _OVERDRAFTED else EventResult.STORED, subject)
    told_by = BANK if learnt.is_stored else None
    if is_newest:
        row = account_row(program, snapshot.id, position, told_by=told_by)
        emit(msgspec.structs.replace(row, type=snapshot.type, status=snapshot.status, raw=masked_text(bytes(raw))))
        return EventOutcome(EventResult.APPLIED, subject)
    emit(account_row(program, snapshot.id, position, told_by=told_by))
    return EventOutcome(EventResult.STALE, subject)


def apply_owner_entry(program: ProgramState, entry: OwnerEntry, position: EntryPosition, emit: Emit) -> None:
    """Store an account's owner as an operator states it; it counts until the bank has a newer statement."""
    order = program.accounts.newest_owner_order(entry.account_id, SnapshotOrder.of(None, position.event_at, 0))
    program.accounts.note(entry.account_id, order)
    learnt = set_first_owner(program, entry.account_id, entry.entity_id, order)
    emit_owner_learnt(program, learnt, position, emit)
    emit(account_row(program, entry.account_id, position, told_by=entry.operator))
    emit(
        EntryResultRow(
            *position.first_columns(program.tenant_id, program.id, entry.id),
            kind=ResultKind.OWNER.value,
            alert_id=None,
            transfer_id=None,
            result=EntryResult.MADE.value,
            disposition_id=None,
            opened_alert_id=None,
            created_at=position.appended_at,
        )
    )


def account_row(program: ProgramState, account_id: str, position: EntryPosition, *, told_by: str | None) -> AccountRow:
    """The account with its present owner; ``told_by`` is given when this entry stated the owner."""
    return AccountRow(
        *position.first_columns(program.tenant_id, program.id, account_id),
        program.accounts.owner_of(account_id),
        None,  # neither its type
        None,  # nor its status
        "{}",
        position.appended_at,
        told_by,
    )


def emit_owner_learnt(program: ProgramState, learnt: OwnerLearnt, position: EntryPosition, emit: Emit) -> None:
    """The row of an owner without earlier events, and the score of an owner that takes over an account's history."""
    if program.introduced:
        emit_introduced(program, position, emit)
    if learnt.given_history is not None:
        note_outcomes(program, learnt.given_history, UNKNOWN_PROFILE)
        emit_entity_score(program, learnt.given_history, position, emit)


def emit_introduced(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Rows of entities and accounts that were named before the bank sent an event on them."""
    for actor in program.introduced:
        emit(entity_row(program, actor, "{}", position))
    program.introduced.clear()
    for account_id in program.accounts.introduced:
        emit(account_row(program, account_id, position, told_by=None))
    program.accounts.introduced.clear()


_PERSON: Final = EntityType.PERSON.value
_UNVERIFIED: Final = VerificationStatus.UNVERIFIED.value
_NOT_CHECKED: Final = PepStatus.NOT_CHECKED.value


def entity_row(program: ProgramState, actor: Actor, raw: str, position: EntryPosition) -> EntityRow:
    profile, words = actor.profile, actor.profile.words
    return EntityRow(  # by position, as each row of this module: naming the fields costs several times as much
        *position.first_columns(program.tenant_id, program.id, actor.id),
        words.type or _PERSON,  # stored without a statement of the bank
        profile.name or "",
        words.verification_status or _UNVERIFIED,
        words.is_high_risk or False,
        words.pep_status or _NOT_CHECKED,
        words.requires_screening or False,
        json_text(words.review_reasons),
        profile.last_screened_at,
        words.country,
        words.legal_type,
        json_text(words.expected_rails),
        raw,
        profile.created_at if profile.created_at is not None else position.event_at,
        position.appended_at,
    )


def counterparty_row(
    program: ProgramState, party: KnownCounterparty, raw: str | None, position: EntryPosition
) -> CounterpartyRow:
    first_seen_at = party.stated_at if party.first_seen_at is None else party.first_seen_at
    assert first_seen_at is not None, "a transfer or an event on it named the counterparty"
    return CounterpartyRow(
        *position.first_columns(program.tenant_id, program.id, party.id),
        party.name,
        party.routing,
        party.last4,
        party.country,
        raw,
        first_seen_at,
        position.appended_at,
        _earlier_accounts(party),
    )


def _earlier_accounts(party: KnownCounterparty) -> str | None:
    accounts = [
        EarlierAccount(routing_number=each.routing, account_last4=each.last4) for each in party.earlier_accounts()
    ]
    return canonical(accounts).decode() if accounts else None


def features_row(
    program: ProgramState,
    transfer_id: str,
    assessment: Assessment,
    taken_at: int,
    position: EntryPosition,
    *,
    rescored: bool,
) -> TransferFeaturesRow:
    """One scoring, in the order of the row's fields: one is built for each scored event."""
    score = assessment.score
    return TransferFeaturesRow(
        program.tenant_id,
        program.id,
        transfer_id,
        position.shard,
        position.offset,
        taken_at,
        position.appended_at,
        FEATURE_VERSION,
        score.version,
        score.value,
        band_word(score.value),
        score.n,
        score.confidence,
        score.hard,
        assessment.degraded,
        json_text(score.reasons),
        _paths(program, assessment),
        rescored,
        assessment.vector,
    )


def _paths(program: ProgramState, assessment: Assessment) -> str | None:
    if not assessment.layering and not assessment.round_trip:
        return None
    offsets_of = program.transfers.raw_offsets
    return json_text(PathOffsets(offsets_of(assessment.layering), offsets_of(assessment.round_trip)))
