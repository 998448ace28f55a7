"""Holds that end with their reason: an executed ``clear_hold`` releases the held alerts on its transfer.

A held alert of several transfers stays held while a different one of them is in the hold band and was not cleared,
unless the action names the alert.
"""

from collections.abc import Iterator
from typing import Final

from clearhold.features.alerts.decisions import sign
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.entries.actions import ActionEntry, ActionType
from clearhold.features.core.entries.commands import DecisionEntry, EntryResult, OperatorKind
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.principal import is_key_operator
from clearhold.features.core.reason import band_of
from clearhold.features.core.rows.record import Emit
from clearhold.features.core.vocabulary import AlertDecision, Band
from clearhold.features.policy.in_force import policy_in_force
from clearhold.features.state.action_book import ActionState
from clearhold.features.state.alert_state import AlertState
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import UNSCORED

_NARRATIVE: Final = (
    "Released by the action {action_id}: clear_hold of transfer {transfer_id}, requested by {requested_by}{approved}, "
    "was executed."
)


def objection_to_clearing(program: ProgramState, entry: ActionEntry, position: EntryPosition) -> EntryResult | None:
    """Objects to an unknown transfer, and to a key that would release an alert in place of a person."""
    if program.transfers.row_of(entry.target_id) is None:
        return EntryResult.UNKNOWN
    if entry.operator_kind is OperatorKind.KEY and any(_released_by(program, entry)):
        policy = policy_in_force(program, position.appended_at).policy
        if ActionType.CLEAR_HOLD not in policy.two_approver_actions:
            return EntryResult.NEEDS_PERSON
    return None


def clears_hard(program: ProgramState, action: ActionState) -> bool:
    """Whether the action would release a hard alert."""
    return any(alert.hard for alert in _released_by(program, action))


def release_cleared(
    program: ProgramState, action: ActionState, position: EntryPosition, emit: Emit, *, at: int
) -> tuple[str, ...]:
    """Release the alerts that the executed action clears, each with a disposition; their ids."""
    released = tuple(_released_by(program, action))
    signer, identity = action.requested_by, action.requested_identity
    if is_key_operator(signer) and action.approved_by is not None:
        signer, identity = action.approved_by, action.approved_identity
    narrative = _NARRATIVE.format(
        action_id=action.id,
        transfer_id=action.target_id,
        requested_by=action.requested_by,
        approved="" if action.approved_by is None else f" and approved by {action.approved_by}",
    )
    for alert in released:
        decision = DecisionEntry(
            id=derived_id(action.id, alert.id),
            alert_id=alert.id,
            decision=AlertDecision.RELEASE,
            narrative=narrative,
            operator=signer,
            operator_kind=OperatorKind.KEY if is_key_operator(signer) else OperatorKind.PERSON,
            at=at,
            identity=identity,
        )
        sign(program, alert, decision, position, emit, action_id=action.id)
    return tuple(alert.id for alert in released)


def _released_by(program: ProgramState, action: ActionEntry | ActionState) -> Iterator[AlertState]:
    """The held alerts that a ``clear_hold`` releases once it is executed."""
    for alert in program.alerts.held_alerts():
        if alert.id == action.alert_id or (
            action.target_id in alert.transfers and not _is_held_by_another(program, alert, action.target_id)
        ):
            yield alert


def _is_held_by_another(program: ProgramState, alert: AlertState, cleared_id: str) -> bool:
    """Whether a different transfer of the alert is in the hold band and was not cleared."""
    return any(
        _is_in_hold(program, transfer_id)
        and ActionType.CLEAR_HOLD not in program.actions.executed_on("transfer", transfer_id)
        for transfer_id in alert.transfers
        if transfer_id != cleared_id
    )


def _is_in_hold(program: ProgramState, transfer_id: str) -> bool:
    row = program.transfers.row_of(transfer_id)
    score = UNSCORED if row is None else program.transfers.read(row).score
    return score != UNSCORED and band_of(score) is Band.HOLD
