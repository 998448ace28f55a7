"""The changes of programs and tenants that actions make, one row a type of action.

The executor of actions carries out an approved activation: it writes it to the log, because it reaches the shards of
all programs of the tenant, and records the outcome. It also checks whether a rule or a card may be activated, because
rules and reports are not in the state of a program.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from clearhold.features.actions import autonomy, pending_decisions, set_limit
from clearhold.features.actions.holds import objection_to_clearing
from clearhold.features.core.entries.actions import ActionEntry, ActionType
from clearhold.features.core.entries.commands import EntryResult
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.rows.record import Emit
from clearhold.features.policy.bodies import prefix_of
from clearhold.features.state.action_book import ActionState
from clearhold.features.state.program import ProgramState


def objection_to_activation(program: ProgramState, entry: ActionEntry, position: EntryPosition) -> EntryResult | None:
    """Objects when the version is in force already, or waits for its approver."""
    version = str((entry.change or {}).get("version", ""))
    waiting = program.actions.waiting(ActionType.ACTIVATE_POLICY)
    if any(action.target_id == entry.target_id for action in waiting):
        return EntryResult.PENDING
    current = program.policies.in_force(prefix_of(version), position.appended_at)
    return EntryResult.IN_FORCE if current is not None and current.version == version else None


def objection_to_rule_change(program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> EntryResult | None:
    """Objects when the same change of the same rule is under way; a rule rewritten since may be activated beside it."""
    for action in program.actions.waiting(entry.type):
        if action.target_id == entry.target_id and _sha256_in(action.change) == _sha256_in(entry.change):
            return EntryResult.PENDING
    return None


def objection_to_scorecard(program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> EntryResult | None:
    """Objects when the activation of the same version is under way; a version is one card for good."""
    waiting = program.actions.waiting(entry.type)
    return EntryResult.PENDING if any(action.target_id == entry.target_id for action in waiting) else None


def _sha256_in(change: dict[str, Any] | None) -> str:
    return str((change or {}).get("ruleSha256", ""))


Recorded = dict[str, Any] | None


def as_requested(_program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> Recorded:
    """The change as requested: the state adds nothing to it."""
    return entry.change


def always(_program: ProgramState, _action: ActionState, _position: EntryPosition) -> bool:
    return True


class Change(NamedTuple):
    """A kind of change.

    ``objection`` says why it cannot be requested, None when it can. ``recorded`` is the change as its action shows it.
    ``apply`` makes the approved change and emits its rows, or returns a sentence when it cannot be made any more.
    """

    objection: Callable[[ProgramState, ActionEntry, EntryPosition], EntryResult | None]
    apply: Callable[[ProgramState, ActionState, EntryPosition, Emit], str | None]
    recorded: Callable[[ProgramState, ActionEntry, EntryPosition], Recorded] = as_requested
    needs_second: Callable[[ProgramState, ActionState, EntryPosition], bool] = always


CHANGES: Final[Mapping[ActionType, Change]] = {
    ActionType.SET_AUTONOMY: Change(
        autonomy.objection, autonomy.apply, recorded=autonomy.recorded, needs_second=autonomy.needs_second
    ),
    ActionType.SET_LIMIT: Change(set_limit.objection, set_limit.apply, recorded=set_limit.recorded),
    ActionType.DECIDE_ALERT: Change(pending_decisions.objection, pending_decisions.apply),
}
"""Changes that are made with the entry of the approval."""

OBJECTIONS: Final[Mapping[ActionType, Callable[[ProgramState, ActionEntry, EntryPosition], EntryResult | None]]] = {
    ActionType.ACTIVATE_POLICY: objection_to_activation,
    ActionType.ACTIVATE_RULE: objection_to_rule_change,
    ActionType.PAUSE_RULE: objection_to_rule_change,
    ActionType.ACTIVATE_SCORECARD: objection_to_scorecard,
    ActionType.CLEAR_HOLD: objection_to_clearing,
}
"""Objections to actions that are carried out outside of the program: by the executor, or at the bank."""
