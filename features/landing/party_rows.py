"""Parties learnt and transfers scored, as the rows that the store keeps of them."""

from typing import Any, Final

import msgspec

from features.bank.masking import masked_text
from features.bank.parties import read_account, read_counterparty, read_entity
from features.catalogue.vector import FEATURE_VERSION, PathOffsets, TransferFeaturesRow
from features.core.bands import band_word
from features.core.rows.emit import Emit
from features.core.rows.parties import AccountRow, CounterpartyRow, EntityRow
from features.core.vocabulary import EntityType, PepStatus, VerificationStatus
from features.landing.actor_scores import counterparty_score_row, entity_score_row
from features.landing.stored_transfer import EntryPosition
from features.measurement.assess import Assessment
from features.state.parties import UNKNOWN_PROFILE, Actor, Counterparty
from features.state.program import ProgramState

Data = dict[str, Any]

_ENCODE: Final = msgspec.json.Encoder().encode


def learn_entity(
    program: ProgramState, suffix: str, data: Data, raw: msgspec.Raw, when: EntryPosition, emit: Emit
) -> str:
    said = read_entity(suffix, data)
    if said is None:
        return "unusable"
    actor = program.entity_or_new(said.id)
    if suffix == "created" and said.verification_status is None and not actor.profiles:
        said = msgspec.structs.replace(said, verification_status=VerificationStatus.PENDING.value)
    program.introduced.clear()  # this row introduces it
    if actor.learn(said, known_at=when.event_at) is None:
        return "stale"
    emit(entity_row(program, actor, masked_text(bytes(raw)), when))
    score = entity_score_row(program, actor, when)
    if score is not None:
        emit(score)
    return "applied"


def learn_counterparty(
    program: ProgramState, _suffix: str, data: Data, raw: msgspec.Raw, when: EntryPosition, emit: Emit
) -> str:
    said = read_counterparty(data)
    if said is None:
        return "unusable"
    party = program.counterparties.get_or_add(said.id)
    order = said.updated_at if said.updated_at is not None else when.event_at
    if party.updated_at is not None and order < party.updated_at:
        return "stale"
    party.updated_at = order
    program.counterparties.learn(party, name=said.name, routing=said.routing, last4=said.last4, country=said.country)
    emit(counterparty_row(program, party, masked_text(bytes(raw)), when))
    score = counterparty_score_row(program, party, when)
    if score is not None:
        emit(score)
    return "applied"


def learn_account(
    program: ProgramState, suffix: str, data: Data, raw: msgspec.Raw, when: EntryPosition, emit: Emit
) -> str:
    said = read_account(suffix, data)
    if said is None:
        return "unusable"
    updated_at = said.updated_at if said.updated_at is not None else when.event_at
    is_newest = program.own(said.id, said.owner_id, (updated_at, when.event_at))
    if program.introduced:
        emit_introduced(program, when, emit)
    if not is_newest:
        return "stale"
    if said.owner_id is None and said.type is None and said.status is None:
        return "stored"  # an overdraft alert names an account and says nothing of it
    emit(
        AccountRow(
            program.tenant_id,
            program.id,
            said.id,
            when.shard,
            when.offset,
            program.owner_of(said.id),
            said.type,
            said.status,
            masked_text(bytes(raw)),
            when.appended_at,
        )
    )
    return "applied"


def emit_introduced(program: ProgramState, when: EntryPosition, emit: Emit) -> None:
    """Rows of the entities that a transfer named and the bank has said nothing of."""
    for actor in program.introduced:
        emit(entity_row(program, actor, "{}", when))
    program.introduced.clear()


def entity_row(program: ProgramState, actor: Actor, raw: str, when: EntryPosition) -> EntityRow:
    profile = actor.profiles[-1][2] if actor.profiles else UNKNOWN_PROFILE
    return EntityRow(
        program.tenant_id,
        program.id,
        actor.id,
        when.shard,
        when.offset,
        profile.type or EntityType.PERSON.value,
        profile.name or "",
        profile.verification_status or VerificationStatus.UNVERIFIED.value,
        profile.is_high_risk or False,
        profile.pep_status or PepStatus.NOT_CHECKED.value,
        profile.requires_screening or False,
        _json(profile.review_reasons),
        profile.last_screened_at,
        profile.country,
        profile.legal_type,
        _json(profile.expected_rails),
        raw,
        profile.created_at if profile.created_at is not None else when.event_at,
        when.appended_at,
    )


def counterparty_row(
    program: ProgramState, party: Counterparty, raw: str | None, when: EntryPosition
) -> CounterpartyRow:
    return CounterpartyRow(
        program.tenant_id,
        program.id,
        party.id,
        when.shard,
        when.offset,
        party.name,
        party.routing,
        party.last4,
        party.country,
        raw,
        party.first_seen_at,
        when.appended_at,
    )


def features_row(
    program: ProgramState, transfer_id: str, assessment: Assessment, taken_at: int, when: EntryPosition
) -> TransferFeaturesRow:
    score = assessment.score
    return TransferFeaturesRow(
        program.tenant_id,
        program.id,
        transfer_id,
        when.shard,
        when.offset,
        taken_at,
        when.appended_at,
        FEATURE_VERSION,
        score.version,
        score.value,
        band_word(score.value),
        score.n,
        score.confidence,
        score.hard,
        assessment.degraded,
        _json(score.reasons),
        _paths(program, assessment),
        assessment.vector,
    )


def _paths(program: ProgramState, assessment: Assessment) -> str | None:
    if not assessment.layering and not assessment.round_trip:
        return None
    offset_of = program.transfers.raw_offset
    return _json(PathOffsets(tuple(map(offset_of, assessment.layering)), tuple(map(offset_of, assessment.round_trip))))


def _json(value: object) -> str:
    return _ENCODE(value).decode()
