"""The table of the log's entry kinds: the decoder of each body, and the function that applies it to its program.

A new kind of entry is a new row here and a new member of ``EntryKind``.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from clearhold.features.actions.changes import apply_limits
from clearhold.features.actions.transitions import approve, conclude, decide_each, decide_or_request, request
from clearhold.features.agents.reading import read_agent, read_profile, read_settlement
from clearhold.features.alerts.decisions import appeal
from clearhold.features.alerts.labelling import label
from clearhold.features.alerts.notes import add_note, assign
from clearhold.features.alerts.opening import open_for_outcomes
from clearhold.features.alerts.stacks import split
from clearhold.features.bank.events import ANY_DECODER, decode_event
from clearhold.features.bank.parties import account_id_of, counterparty_id_of, entity_id_of
from clearhold.features.catalogue.kris import SnapshotEntry
from clearhold.features.core.canonical import Chain, canonical
from clearhold.features.core.entries.actions import ActionEntry, ApprovalEntry, OutcomeEntry, PolicyEntry
from clearhold.features.core.entries.commands import (
    AppealEntry,
    AssignEntry,
    BackfillStep,
    DecisionEntry,
    DecisionsEntry,
    LabelEntry,
    LossBody,
    LossEntry,
    NoteEntry,
    OwnerEntry,
    SplitEntry,
)
from clearhold.features.core.entries.directory import AgentImportEntry, DirectoryEntry, DirectoryKind, DirectoryResult
from clearhold.features.core.entries.preflight import PreflightRecord
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import (
    ChainFactRow,
    Emit,
    EntryKind,
    EntryPosition,
    LogEntry,
    copied,
    event_time,
    position_of,
)
from clearhold.features.core.principal import Program
from clearhold.features.core.rows.events import PreflightRow
from clearhold.features.core.rows.parties import DirectoryRow, ProgramRow
from clearhold.features.landing.policies import apply_policy
from clearhold.features.limits.proposed import counterparty_to_match
from clearhold.features.parties.party_rows import (
    account_row,
    apply_account_event,
    apply_counterparty_event,
    apply_entity_event,
    apply_owner_entry,
)
from clearhold.features.policy.bodies import LIMITS, prefix_of
from clearhold.features.shard.backfill import apply_step
from clearhold.features.shard.pipeline import process_bank_event
from clearhold.features.shard.settlements import apply_import, apply_settlement, apply_statement
from clearhold.features.shard.ticks import apply_snapshot, apply_tick
from clearhold.features.state.program import ProgramState

Body = TypeVar("Body")

LOG_LOSS: Final = "log_loss"  # the kind of such a link among the actions
_NO_SUFFIX: Final = ""  # of an event's type, which has no effect on an object of the directory


class Applier(NamedTuple):
    """``decode`` raises for an unusable body; ``apply`` changes one program and emits the rows of the entry."""

    decode: Callable[[bytes], Any]
    apply: Callable[[ProgramState, Any, LogEntry, Emit], None]
    to_every_program: bool = False  # else only to the program that the entry names


def apply_owner(program: ProgramState, entry: OwnerEntry, position: EntryPosition, emit: Emit) -> None:
    """Store an account's owner; its screening counts for the history that it takes over."""
    apply_owner_entry(program, entry, position, emit)
    open_for_outcomes(program, position, emit)


def apply_fetched(program: ProgramState, entry: DirectoryEntry, logged: LogEntry, emit: Emit) -> None:
    """Apply an answer of the bank's directory like an event, record the fetch, and open the alerts of an outcome in it.

    An object counts as the bank's statement at its own ``updated_at``, else at the instant of the request: a newer
    event of the bank stays in force. An object with another id than the requested one changes nothing.
    """
    fetched_at = event_time(entry.fetched_at, appended_at=logged.appended_at)
    result = entry.result
    if result is DirectoryResult.FOUND:
        position = EntryPosition(logged.shard, logged.offset, fetched_at, logged.appended_at)
        result = _apply_object(program, entry, position, emit)
    emit(
        DirectoryRow(
            tenant_id=program.tenant_id,
            program_id=program.id,
            kind=entry.kind.value,
            id=entry.id,
            shard=logged.shard,
            offset=logged.offset,
            fetched_at=fetched_at,
            result=result.value,
            digest=entry.digest if result is entry.result else None,
        )
    )
    open_for_outcomes(program, position_of(logged), emit)


def _apply_object(program: ProgramState, entry: DirectoryEntry, position: EntryPosition, emit: Emit) -> DirectoryResult:
    data = ANY_DECODER.decode(entry.data)
    apply, id_of = _OF_KIND[entry.kind]
    if not isinstance(data, dict) or data.get("id") != entry.id or id_of(data) != entry.id:
        return DirectoryResult.UNUSABLE
    apply(program, _NO_SUFFIX, data, entry.data, position, emit)
    return DirectoryResult.FOUND


_Apply = Callable[[ProgramState, str, dict[str, Any], msgspec.Raw, EntryPosition, Emit], object]

_OF_KIND: Final[Mapping[DirectoryKind, tuple[_Apply, Callable[[dict[str, Any]], str | None]]]] = {
    DirectoryKind.ACCOUNT: (apply_account_event, account_id_of),
    DirectoryKind.ENTITY: (apply_entity_event, entity_id_of),
    DirectoryKind.COUNTERPARTY: (apply_counterparty_event, counterparty_id_of),
}
"""How an object is applied, and the id under which it would be stored: objects may state it in more than one field."""


def record_preflight(program: ProgramState, record: PreflightRecord, entry: LogEntry, emit: Emit) -> None:
    """Open a recorded pre-flight for match-back."""
    answer = record.answer
    program.preflights.expire(entry.appended_at)
    program.preflights.add(
        answer.preflight_id,
        counterparty_to_match(program, record),
        f"{record.transfer.currency} {record.transfer.amount_cents}",
        record.asked_at,
    )
    emit(
        PreflightRow(
            tenant_id=record.tenant_id,
            program_id=entry.program_id,
            id=answer.preflight_id,
            shard=entry.shard,
            offset=entry.offset,
            decision=answer.decision.value,
            score=answer.score,
            band=answer.band.value,
            degraded=answer.degraded,
            latency_ms=answer.latency_ms,
            idempotency_key=record.idempotency_key,
            body=entry.body.decode(),
            created_at=record.asked_at,
        )
    )


def record_loss(program: ProgramState, loss: LossEntry, entry: LogEntry, emit: Emit) -> None:
    """Record that entries of the log are missing, and that an operator decided to go on without them."""
    body = copied(LossBody, loss, kind=LOG_LOSS, accepted_at=format_instant(loss.accepted_at))
    emit(
        ChainFactRow(
            tenant_id=loss.tenant_id,
            program_id=program.id,
            chain=Chain.ACTIONS.value,
            id=loss.id,
            shard=entry.shard,
            offset=entry.offset,
            body=canonical(body).decode(),
            created_at=loss.accepted_at,
        )
    )


def declare_program(program: ProgramState, declaration: Program, entry: LogEntry, emit: Emit) -> None:
    """Store the program's declaration, whole, at its creation or change.

    A reserve account without an earlier event gets a row, so that its balance is fetched from the bank's directory.
    """
    program.declare(declaration, at=entry.appended_at)
    reserve = declaration.program_reserve_account_id
    if reserve is not None and not program.is_account(reserve):
        emit(account_row(program, reserve, position_of(entry), told_by=None))
    emit(
        ProgramRow(
            tenant_id=declaration.tenant_id,
            id=declaration.id,
            shard=entry.shard,
            offset=entry.offset,
            slug=declaration.slug,
            body=entry.body.decode(),
            updated_at=entry.appended_at,
        )
    )


def apply_version(program: ProgramState, entry: PolicyEntry, position: EntryPosition, emit: Emit) -> None:
    """A policy that comes into force; limits are versions that the program's state numbers."""
    if prefix_of(entry.version) == LIMITS:
        apply_limits(program, entry, position, emit)
    else:
        apply_policy(program, entry, position, emit)


def _at_position(
    apply: Callable[[ProgramState, Body, EntryPosition, Emit], None],
) -> Callable[[ProgramState, Body, LogEntry, Emit], None]:
    """An applier that needs only the entry's position, not the entry."""

    def apply_entry(program: ProgramState, body: Body, entry: LogEntry, emit: Emit) -> None:
        apply(program, body, position_of(entry), emit)

    return apply_entry


def _decoder(body: type[Any]) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(body).decode


APPLIERS: Final[dict[str, Applier]] = {
    EntryKind.BANK.value: Applier(decode_event, process_bank_event),
    EntryKind.PREFLIGHT.value: Applier(_decoder(PreflightRecord), record_preflight),
    EntryKind.PROGRAM.value: Applier(_decoder(Program), declare_program),
    EntryKind.TICK.value: Applier(lambda _: None, apply_tick, to_every_program=True),
    EntryKind.DECISION.value: Applier(_decoder(DecisionEntry), _at_position(decide_or_request)),
    EntryKind.DECISIONS.value: Applier(_decoder(DecisionsEntry), _at_position(decide_each)),
    EntryKind.SPLIT.value: Applier(_decoder(SplitEntry), _at_position(split)),
    EntryKind.NOTE.value: Applier(_decoder(NoteEntry), _at_position(add_note)),
    EntryKind.ASSIGN.value: Applier(_decoder(AssignEntry), _at_position(assign)),
    EntryKind.APPEAL.value: Applier(_decoder(AppealEntry), _at_position(appeal)),
    EntryKind.LABEL.value: Applier(_decoder(LabelEntry), _at_position(label)),
    EntryKind.OWNER.value: Applier(_decoder(OwnerEntry), _at_position(apply_owner)),
    EntryKind.DIRECTORY.value: Applier(_decoder(DirectoryEntry), apply_fetched),
    EntryKind.ACTION.value: Applier(_decoder(ActionEntry), _at_position(request)),
    EntryKind.APPROVAL.value: Applier(_decoder(ApprovalEntry), _at_position(approve)),
    EntryKind.OUTCOME.value: Applier(_decoder(OutcomeEntry), _at_position(conclude)),
    EntryKind.POLICY.value: Applier(_decoder(PolicyEntry), _at_position(apply_version)),
    EntryKind.SNAPSHOT.value: Applier(_decoder(SnapshotEntry), _at_position(apply_snapshot)),
    EntryKind.LOSS.value: Applier(_decoder(LossEntry), record_loss),
    EntryKind.AGENT_IMPORT.value: Applier(_decoder(AgentImportEntry), apply_import),
    EntryKind.AGENT.value: Applier(read_agent, apply_statement),
    EntryKind.PROFILE.value: Applier(read_profile, apply_statement),
    EntryKind.SETTLEMENT.value: Applier(read_settlement, apply_settlement),
    EntryKind.BACKFILL.value: Applier(_decoder(BackfillStep), _at_position(apply_step)),
}
