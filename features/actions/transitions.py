"""Applies requests, approvals and outcomes of actions to a program, or records why one was refused.

request   one approver: requested and approved at once; two: requested. An objection leaves a result only
approval  by another person: approved, and a change of a program or tenant is made at once; by the requester: refused
          declined by another person, or withdrawn by the requester, with a note: final, and nothing is carried out
outcome   approved becomes executed or failed; an executed clear_hold releases the held alerts on its transfer
decision  on an alert: signed at once, or requested as an action that waits for a second person; on several alerts,
          one after the other
Errors    none: a refusal is a word of ``EntryResult`` in the entry's result
"""

from typing import Any, Final

import msgspec

from clearhold.features.actions.changes import (
    CHANGES,
    OBJECTIONS,
    clears_hard,
    needs_second_person,
    only_narrows,
    release_cleared,
)
from clearhold.features.actions.rows import Transition, action_row, link_of_transition
from clearhold.features.alerts.decisions import decide, result_of
from clearhold.features.alerts.rows import result_row
from clearhold.features.core.entries.actions import (
    ALWAYS_TWO_APPROVERS,
    ONE_IS_ENOUGH,
    ActionEntry,
    ActionStatus,
    ActionType,
    ApprovalAnswer,
    ApprovalEntry,
    DecisionChange,
    OutcomeEntry,
    same_person,
)
from clearhold.features.core.entries.commands import DecisionEntry, DecisionsEntry, EntryResult, ResultKind
from clearhold.features.core.log_entry import Emit, EntryPosition, copied
from clearhold.features.policy.in_force import policy_in_force
from clearhold.features.state.action_book import ActionState
from clearhold.features.state.program import ProgramState

OWN_APPROVAL: Final = "The requester of an action may not approve it."


def request(program: ProgramState, entry: ActionEntry, position: EntryPosition, emit: Emit) -> None:
    """Record the request; an entry that was applied before changes nothing."""
    if program.actions.is_known(entry.id):
        return
    if not program.tenant_id:
        program.tenant_id = entry.tenant_id  # the state of a tenant, which no program declares
    change = CHANGES.get(entry.type)
    objects = OBJECTIONS.get(entry.type) if change is None else change.objection
    objection = None if objects is None else objects(program, entry, position)
    if objection is None:
        at = min(entry.at, position.appended_at)
        action = copied(
            ActionState,
            entry,
            requested_by=entry.operator,
            requested_identity=entry.identity,
            approved_by=None,
            approved_identity=None,
            approval_note=None,
            status=ActionStatus.REQUESTED,
            change=entry.change if change is None else change.recorded(program, entry, position),
            created_at=at,
        )
        step = Transition(
            status=ActionStatus.REQUESTED,
            at=at,
            actor=entry.operator,
            sent_by=entry.operator,
            principal_id=entry.principal_id,
            identity=entry.identity,
        )
        emit(link_of_transition(program, action, step, position))
        if not _needs_second(program, action, position):
            action.status = ActionStatus.APPROVED
            if change is not None:
                step = _changed(program, action, position, emit, at=at)
        program.actions.put(action)
        emit(action_row(program, action, position, step))
    result = objection or EntryResult.MADE
    emit(result_row(program, position, result, ResultKind.ACTION, entry.id, alert_id=entry.alert_id))


def approve(program: ProgramState, entry: ApprovalEntry, position: EntryPosition, emit: Emit) -> None:
    """Approve, or refuse the requester's own approval. An action that waits for no approval does not change.

    An entry with another answer ends the action.
    """
    if entry.answer is not ApprovalAnswer.APPROVE:
        _end(program, entry, position, emit)
        return
    action = program.actions.get(entry.action_id)
    if action is None or action.status is not ActionStatus.REQUESTED:
        result = EntryResult.NOT_WAITING if program.actions.is_known(entry.action_id) else EntryResult.UNKNOWN
        emit(result_row(program, position, result, ResultKind.APPROVAL, entry.id))
        return
    at = max(action.created_at, min(entry.at, position.appended_at))
    is_own = same_person(entry.approver, action.requested_by)
    action.status = ActionStatus.REFUSED if is_own else ActionStatus.APPROVED
    action.approved_by = None if is_own else entry.approver
    action.approved_identity = None if is_own else entry.identity
    action.approval_note = None if is_own else entry.note
    step = Transition(
        status=action.status,
        actor=entry.approver,
        sent_by=entry.operator,
        principal_id=entry.principal_id,
        identity=entry.identity,
        at=at,
        error=OWN_APPROVAL if is_own else None,
        note=entry.note,
    )
    emit(link_of_transition(program, action, step, position))
    if action.status is ActionStatus.APPROVED and action.type in CHANGES:
        step = _changed(program, action, position, emit, at=at)
    program.actions.put(action)
    emit(action_row(program, action, position, step))
    emit(result_row(program, position, EntryResult.MADE, ResultKind.APPROVAL, entry.id))


def _end(program: ProgramState, entry: ApprovalEntry, position: EntryPosition, emit: Emit) -> None:
    """Decline or withdraw a waiting action, or say why not."""
    action = program.actions.get(entry.action_id)
    result = _objection_to_end(program, action, entry)
    if action is not None and result is EntryResult.MADE:
        at = max(action.created_at, min(entry.at, position.appended_at))
        is_declined = entry.answer is ApprovalAnswer.DECLINE
        action.status = ActionStatus.DECLINED if is_declined else ActionStatus.WITHDRAWN
        step = Transition(
            status=action.status,
            actor=entry.approver,
            sent_by=entry.operator,
            principal_id=entry.principal_id,
            identity=entry.identity,
            at=at,
            note=entry.note,
        )
        emit(link_of_transition(program, action, step, position))
        program.actions.put(action)
        emit(action_row(program, action, position, step))
    emit(result_row(program, position, result, ResultKind.APPROVAL, entry.id))


def _objection_to_end(program: ProgramState, action: ActionState | None, entry: ApprovalEntry) -> EntryResult:
    if action is None or action.status is not ActionStatus.REQUESTED:
        return EntryResult.NOT_REQUESTED if program.actions.is_known(entry.action_id) else EntryResult.UNKNOWN
    is_own = same_person(entry.approver, action.requested_by)
    if entry.answer is ApprovalAnswer.DECLINE:
        return EntryResult.OWN_REQUEST if is_own else EntryResult.MADE
    return EntryResult.MADE if is_own else EntryResult.NOT_REQUESTER


def conclude(program: ProgramState, entry: OutcomeEntry, position: EntryPosition, emit: Emit) -> None:
    """Record what carrying out an approved action led to; a second outcome changes nothing."""
    action = program.actions.get(entry.action_id)
    if action is None or action.status is not ActionStatus.APPROVED:
        emit(result_row(program, position, EntryResult.NOT_WAITING, ResultKind.OUTCOME, entry.id))
        return
    at = max(action.created_at, min(entry.at, position.appended_at))
    step = _outcome(action, at=at, bank_response=entry.bank_response, error=entry.error)
    step = msgspec.structs.replace(step, body_sha256=entry.body_sha256)
    program.actions.put(action)
    if action.type is ActionType.CLEAR_HOLD and step.status is ActionStatus.EXECUTED:
        released = release_cleared(program, action, position, emit, at=at)
        step = msgspec.structs.replace(step, released_alert_ids=released)
    emit(link_of_transition(program, action, step, position))
    emit(action_row(program, action, position, step))
    emit(result_row(program, position, EntryResult.MADE, ResultKind.OUTCOME, entry.id))


def _needs_second(program: ProgramState, action: ActionState, position: EntryPosition) -> bool:
    change = CHANGES.get(action.type)
    if change is not None:
        return change.needs_second(program, action, position)
    policy = policy_in_force(program, position.appended_at).policy
    if action.type in ONE_IS_ENOUGH or (action.type is ActionType.APPLY_CONFIG and only_narrows(action)):
        return False
    if action.type in ALWAYS_TWO_APPROVERS or action.type in policy.two_approver_actions:
        return True
    is_of_hard = action.type is ActionType.CLEAR_HOLD and policy.hard_needs_second_person is True
    return is_of_hard and clears_hard(program, action)


def _changed(program: ProgramState, action: ActionState, position: EntryPosition, emit: Emit, *, at: int) -> Transition:
    """Make an approved change of a program or tenant, and the step with its outcome."""
    error = CHANGES[action.type].apply(program, action, position, emit)
    step = _outcome(action, at=at, bank_response=None, error=error)
    emit(link_of_transition(program, action, step, position))
    return step


def _outcome(action: ActionState, *, at: int, bank_response: dict[str, Any] | None, error: str | None) -> Transition:
    action.status = ActionStatus.EXECUTED if error is None else ActionStatus.FAILED
    return Transition(status=action.status, at=at, bank_response=bank_response, error=error)


def decide_or_request(program: ProgramState, entry: DecisionEntry, position: EntryPosition, emit: Emit) -> None:
    """Sign the decision, or request its second person; an entry that was applied before changes nothing."""
    alert = program.alerts.get(entry.alert_id)
    if program.actions.is_known(entry.id):
        return
    if (
        alert is None
        or entry.id in alert.disposition_ids
        or not needs_second_person(program, alert, entry.decision, position)
        or result_of(program, alert, entry, position) is not EntryResult.MADE
    ):
        decide(program, entry, position, emit)
        return
    change: dict[str, Any] = msgspec.to_builtins(DecisionChange(decision=entry.decision, narrative=entry.narrative))
    action = copied(
        ActionEntry,
        entry,
        tenant_id=program.tenant_id,
        alert_id=alert.id,
        alert_sha256=alert.alert_sha256,
        type=ActionType.DECIDE_ALERT,
        target_type="alert",
        target_id=alert.id,
        change=change,
    )
    request(program, action, position, emit)


def decide_each(program: ProgramState, entry: DecisionsEntry, position: EntryPosition, emit: Emit) -> None:
    """Take the decision on each of the alerts, as if it came alone; an entry that was applied before changes nothing.

    The result of the entry is ``made`` whatever the results on its alerts are.
    """
    if not program.alerts.add_command(entry.id):
        return
    for alert_id in entry.alert_ids:
        decision = copied(DecisionEntry, entry, id=entry.id_on(alert_id), alert_id=alert_id)
        decide_or_request(program, decision, position, emit)
    emit(result_row(program, position, EntryResult.MADE, ResultKind.DECISIONS, entry.id))
