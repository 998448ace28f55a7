"""What stands against the activation of a policy, a rule or a scorecard, in the state of the tenant or the program.

An approved activation is not made here: it reaches the shards of all the tenant's programs at once, so the executor of
actions writes it to the log, and records the outcome when that is done. Whether a rule or a card may be
activated is looked at there as well, because rules and reports are not in the state of a program.
"""

from typing import Any

from clearhold.features.core.entries.actions import ActionEntry, ActionType
from clearhold.features.core.entries.commands import EntryResult
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.policy.bodies import prefix_of
from clearhold.features.state.program import ProgramState


def objection_to_activation(program: ProgramState, entry: ActionEntry, position: EntryPosition) -> EntryResult | None:
    """A version that is in force already, or that waits for its approver."""
    version = str((entry.change or {}).get("version", ""))
    waiting = program.actions.waiting(ActionType.ACTIVATE_POLICY)
    if any(action.target_id == entry.target_id for action in waiting):
        return EntryResult.PENDING
    current = program.policies.in_force(prefix_of(version), position.appended_at)
    return EntryResult.IN_FORCE if current is not None and current.version == version else None


def objection_to_rule_change(program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> EntryResult | None:
    """The same change of the same rule is under way. One that was written again since may be activated beside it."""
    for action in program.actions.waiting(entry.type):
        if action.target_id == entry.target_id and _sha256_in(action.change) == _sha256_in(entry.change):
            return EntryResult.PENDING
    return None


def objection_to_scorecard(program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> EntryResult | None:
    """The activation of the same version is under way; a version is one card for good."""
    waiting = program.actions.waiting(entry.type)
    return EntryResult.PENDING if any(action.target_id == entry.target_id for action in waiting) else None


def _sha256_in(change: dict[str, Any] | None) -> str:
    return str((change or {}).get("ruleSha256", ""))
