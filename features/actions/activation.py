"""Objections to the activation of a policy, a rule or a scorecard, from the state of the tenant or the program.

The executor of actions carries out an approved activation: it writes it to the log, because it reaches the shards of
all programs of the tenant, and records the outcome. It also checks whether a rule or a card may be activated, because
rules and reports are not in the state of a program.
"""

from typing import Any

from clearhold.features.core.entries.actions import ActionEntry, ActionType
from clearhold.features.core.entries.commands import EntryResult
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.policy.bodies import prefix_of
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
