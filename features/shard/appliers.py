"""The table of the log's entry kinds: the decoder of each body, and the function that applies it to its program.

A new kind of entry is a new row here and a new member of ``EntryKind``.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from clearhold.features.actions.transitions import approve, conclude, decide_or_request, request
from clearhold.features.agents.reading import read_agent, read_profile, read_settlement
from clearhold.features.alerts.decisions import appeal
from clearhold.features.alerts.labelling import label
from clearhold.features.alerts.opening import open_for_outcomes
from clearhold.features.bank.events import decode_event
from clearhold.features.catalogue.kris import SnapshotEntry
from clearhold.features.core.canonical import Chain, canonical
from clearhold.features.core.entries.actions import ActionEntry, ApprovalEntry, OutcomeEntry, PolicyEntry
from clearhold.features.core.entries.commands import (
    AppealEntry,
    BackfillStep,
    DecisionEntry,
    LabelEntry,
    LossBody,
    LossEntry,
    OwnerEntry,
)
from clearhold.features.core.entries.directory import AgentImportEntry, DirectoryEntry
from clearhold.features.core.entries.preflight import PreflightRecord
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import ChainFactRow, Emit, EntryKind, EntryPosition, LogEntry, position_of
from clearhold.features.core.principal import Program
from clearhold.features.core.rows.events import PreflightRow
from clearhold.features.core.rows.parties import ProgramRow
from clearhold.features.landing.policies import apply_policy
from clearhold.features.limits.proposed import counterparty_to_match
from clearhold.features.parties.directory import apply_directory_entry
from clearhold.features.parties.party_rows import account_row, apply_owner_entry
from clearhold.features.shard.backfill import apply_step
from clearhold.features.shard.pipeline import process_bank_event
from clearhold.features.shard.settlements import apply_agent_item, apply_import, apply_profile_item, apply_settlement
from clearhold.features.shard.ticks import apply_snapshot, apply_tick
from clearhold.features.state.program import ProgramState

Body = TypeVar("Body")

LOG_LOSS: Final = "log_loss"  # the kind of such a link among the actions


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
    """Apply an answer of the bank's directory, and open the alerts of a screening's outcome in it."""
    apply_directory_entry(program, entry, logged, emit)
    open_for_outcomes(program, position_of(logged), emit)


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
    body = LossBody(
        id=loss.id,
        tenant_id=loss.tenant_id,
        kind=LOG_LOSS,
        stream=loss.stream,
        after=loss.after,
        upto=loss.upto,
        accepted_at=format_instant(loss.accepted_at),
    )
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
    EntryKind.APPEAL.value: Applier(_decoder(AppealEntry), _at_position(appeal)),
    EntryKind.LABEL.value: Applier(_decoder(LabelEntry), _at_position(label)),
    EntryKind.OWNER.value: Applier(_decoder(OwnerEntry), _at_position(apply_owner)),
    EntryKind.DIRECTORY.value: Applier(_decoder(DirectoryEntry), apply_fetched),
    EntryKind.ACTION.value: Applier(_decoder(ActionEntry), _at_position(request)),
    EntryKind.APPROVAL.value: Applier(_decoder(ApprovalEntry), _at_position(approve)),
    EntryKind.OUTCOME.value: Applier(_decoder(OutcomeEntry), _at_position(conclude)),
    EntryKind.POLICY.value: Applier(_decoder(PolicyEntry), _at_position(apply_policy)),
    EntryKind.SNAPSHOT.value: Applier(_decoder(SnapshotEntry), _at_position(apply_snapshot)),
    EntryKind.LOSS.value: Applier(_decoder(LossEntry), record_loss),
    EntryKind.AGENT_IMPORT.value: Applier(_decoder(AgentImportEntry), apply_import),
    EntryKind.AGENT.value: Applier(read_agent, apply_agent_item),
    EntryKind.PROFILE.value: Applier(read_profile, apply_profile_item),
    EntryKind.SETTLEMENT.value: Applier(read_settlement, apply_settlement),
    EntryKind.BACKFILL.value: Applier(_decoder(BackfillStep), _at_position(apply_step)),
}
