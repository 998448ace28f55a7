"""Decisions that close a hard alert, where the policy asks for a second person: signed with the approval."""

from typing import Final

import msgspec

from clearhold.features.alerts.decisions import CLOSING, result_of, sign
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.entries.actions import ActionEntry, ActionType, DecisionChange
from clearhold.features.core.entries.commands import DecisionEntry, EntryResult, OperatorKind
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.rows.record import Emit
from clearhold.features.core.vocabulary import AlertDecision
from clearhold.features.policy.in_force import policy_in_force
from clearhold.features.state.action_book import ActionState
from clearhold.features.state.alert_state import AlertState
from clearhold.features.state.program import ProgramState

_NOT_ALLOWED: Final = "The alert was decided since the request, and its status does not allow this decision any more."


def needs_second_person(
    program: ProgramState, alert: AlertState, decision: AlertDecision, position: EntryPosition
) -> bool:
    policy = policy_in_force(program, position.appended_at).policy
    return alert.hard and decision in CLOSING and policy.hard_needs_second_person is True


def objection(program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> EntryResult | None:
    """Objects while a different decision on the alert waits."""
    waiting = program.actions.waiting(ActionType.DECIDE_ALERT)
    return EntryResult.PENDING if any(action.target_id == entry.target_id for action in waiting) else None


def apply(program: ProgramState, action: ActionState, position: EntryPosition, emit: Emit) -> str | None:
    """Sign the decision in the name of its requester, if the alert's status still allows it."""
    change = msgspec.convert(action.change, DecisionChange)
    alert = program.alerts.get(action.target_id)
    entry = DecisionEntry(
        id=derived_id(action.id, action.target_id),
        alert_id=action.target_id,
        decision=change.decision,
        narrative=change.narrative,
        operator=action.requested_by,
        operator_kind=OperatorKind.PERSON,
        at=position.appended_at,
        identity=action.requested_identity,
    )
    if alert is None or result_of(program, alert, entry, position) is not EntryResult.MADE:
        return _NOT_ALLOWED
    sign(program, alert, entry, position, emit, action_id=action.id)
    return None
