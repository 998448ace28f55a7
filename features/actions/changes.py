"""The changes that actions of ours make to what a program or a tenant may do, one row a type of action."""

from collections.abc import Mapping
from typing import Final

from features.actions.autonomy import SetAutonomy
from features.actions.change import Change
from features.actions.set_limit import SetLimit
from features.core.actions import ActionType

CHANGES: Final[Mapping[ActionType, Change]] = {
    ActionType.SET_AUTONOMY: SetAutonomy(),
    ActionType.SET_LIMIT: SetLimit(),
}
