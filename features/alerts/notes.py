"""Notes on an alert, and its assignment to a person: for the people who work on it. Neither changes a score, a status
or a decision, and an assignment keeps no other person from deciding.

A note is a link of the record, among the actions. An assignment is a row alone: the newest one counts.

Errors  none: a refusal is a word of ``EntryResult`` in the entry's result
"""

import msgspec

from clearhold.features.alerts.rows import result_row
from clearhold.features.core.canonical import ALERT_NOTE, Chain, canonical, derived_id
from clearhold.features.core.entries.actions import person_key
from clearhold.features.core.entries.commands import AssignEntry, EntryResult, NoteEntry, ResultKind
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import ChainFactRow, Emit, EntryPosition
from clearhold.features.core.principal import OperatorIdentity
from clearhold.features.core.rows.alerts import AlertAssignmentRow, AlertNoteRow
from clearhold.features.state.program import ProgramState


class AlertNoteBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body that the link of a note covers; ``alert_sha256`` is the digest of the alert as it opened."""

    id: str
    tenant_id: str
    program_id: str
    alert_id: str
    kind: str
    note: str
    actor: str
    principal_id: str
    identity: OperatorIdentity | None
    created_at: str
    alert_sha256: str


def add_note(program: ProgramState, entry: NoteEntry, position: EntryPosition, emit: Emit) -> None:
    """Record a note on a known alert; an entry that was applied before changes nothing."""
    if not program.alerts.add_command(entry.id):
        return
    result = EntryResult.UNKNOWN if program.alerts.get(entry.alert_id) is None else EntryResult.MADE
    if result is EntryResult.MADE:
        at = min(entry.at, position.appended_at)
        emit(
            AlertNoteRow(
                *position.first_columns(program.tenant_id, program.id, entry.id),
                alert_id=entry.alert_id,
                note=entry.note,
                written_by=entry.operator,
                identity=entry.identity,
                created_at=at,
            )
        )
        emit(_link_of_note(program, entry, position, at))
    emit(result_row(program, position, result, ResultKind.NOTE, entry.id, alert_id=entry.alert_id))


def assign(program: ProgramState, entry: AssignEntry, position: EntryPosition, emit: Emit) -> None:
    """Assign those of the alerts that are known; an entry that was applied before changes nothing."""
    if not program.alerts.add_command(entry.id):
        return
    known = [each for each in dict.fromkeys(entry.alert_ids) if program.alerts.get(each) is not None]
    for alert_id in known:
        emit(
            AlertAssignmentRow(
                *position.first_columns(program.tenant_id, program.id, derived_id(entry.id, alert_id)),
                alert_id=alert_id,
                assignee=entry.assignee,
                assignee_key="" if entry.assignee is None else person_key(entry.assignee),
                assigned_by=entry.operator,
                identity=entry.identity,
                created_at=min(entry.at, position.appended_at),
            )
        )
    result = EntryResult.MADE if known else EntryResult.UNKNOWN
    only = entry.alert_ids[0] if len(entry.alert_ids) == 1 else None
    emit(result_row(program, position, result, ResultKind.ASSIGN, entry.id, alert_id=only))


def _link_of_note(program: ProgramState, entry: NoteEntry, position: EntryPosition, at: int) -> ChainFactRow:
    body = AlertNoteBody(
        id=entry.id,
        tenant_id=program.tenant_id,
        program_id=program.id,
        alert_id=entry.alert_id,
        kind=ALERT_NOTE,
        note=entry.note,
        actor=entry.operator,
        principal_id=entry.principal_id,
        identity=entry.identity,
        created_at=format_instant(at),
        alert_sha256=entry.alert_sha256,
    )
    return ChainFactRow(
        tenant_id=program.tenant_id,
        program_id=program.id,
        chain=Chain.ACTIONS.value,
        id=entry.id,
        shard=position.shard,
        offset=position.offset,
        body=canonical(body).decode(),
        created_at=at,
    )
