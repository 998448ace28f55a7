"""The changes of programs and tenants that actions make, one row a type of action."""

from collections.abc import Callable, Mapping
from typing import Final

from clearhold.features.actions import autonomy, set_limit
from clearhold.features.actions.activation import (
    objection_to_activation,
    objection_to_rule_change,
    objection_to_scorecard,
)
from clearhold.features.actions.change import Change
from clearhold.features.core.entries.actions import ActionEntry, ActionType
from clearhold.features.core.entries.commands import EntryResult
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.state.program import ProgramState

CHANGES: Final[Mapping[ActionType, Change]] = {
    ActionType.SET_AUTONOMY: Change(
        autonomy.objection, autonomy.apply, recorded=autonomy.recorded, needs_second=autonomy.needs_second
    ),
    ActionType.SET_LIMIT: Change(set_limit.objection, set_limit.apply, recorded=set_limit.recorded),
}
"""Changes that are made with the entry of the approval."""

OBJECTIONS: Final[Mapping[ActionType, Callable[[ProgramState, ActionEntry, EntryPosition], EntryResult | None]]] = {
    ActionType.ACTIVATE_POLICY: objection_to_activation,
    ActionType.ACTIVATE_RULE: objection_to_rule_change,
    ActionType.PAUSE_RULE: objection_to_rule_change,
    ActionType.ACTIVATE_SCORECARD: objection_to_scorecard,
}
"""Objections to the changes that the executor of actions makes, because they reach several shards."""
