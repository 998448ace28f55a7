"""The changes that actions of ours make to what a program or a tenant may do, one row a type of action."""

from collections.abc import Callable, Mapping
from typing import Final

from features.actions.activation import objection_to_activation
from features.actions.autonomy import SetAutonomy
from features.actions.change import Change
from features.actions.set_limit import SetLimit
from features.core.actions import ActionEntry, ActionType
from features.core.commands import EntryResult
from features.core.log_entry import EntryPosition
from features.state.program import ProgramState

CHANGES: Final[Mapping[ActionType, Change]] = {
    ActionType.SET_AUTONOMY: SetAutonomy(),
    ActionType.SET_LIMIT: SetLimit(),
}
"""The changes that the flow makes with the approval's own entry."""

OBJECTIONS: Final[Mapping[ActionType, Callable[[ProgramState, ActionEntry, EntryPosition], EntryResult | None]]] = {
    ActionType.ACTIVATE_POLICY: objection_to_activation
}
"""What stands against the changes that the executor of actions makes, because they reach several shards."""
