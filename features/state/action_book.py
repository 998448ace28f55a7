"""The actions of one program, or of one tenant, that are not final yet, and the ids of the final ones.

A final action is only an id here: readers use its rows.
"""

from typing import Any

import msgspec

from clearhold.features.core.entries.actions import FINAL, ActionStatus, ActionType
from clearhold.features.windows.id_index import IdIndex, key_of


class ActionState(msgspec.Struct, kw_only=True):
    """The present state of an action."""

    id: str
    alert_id: str | None
    alert_sha256: str | None
    type: ActionType
    target_type: str
    target_id: str
    requested_by: str
    approved_by: str | None
    status: ActionStatus
    change: dict[str, Any] | None
    created_at: int


class ActionBook:
    def __init__(self) -> None:
        self._waiting: dict[str, ActionState] = {}
        self._known = IdIndex()

    def is_known(self, action_id: str) -> bool:
        return self._known.get(key_of(action_id)) is not None

    def get(self, action_id: str) -> ActionState | None:
        return self._waiting.get(action_id)

    def waiting(self, of_type: ActionType) -> tuple[ActionState, ...]:
        """The actions of a type that are not final, in the order in which they were requested."""
        return tuple(action for action in self._waiting.values() if action.type is of_type)

    def put(self, action: ActionState) -> None:
        """Store a new or changed action; a final one is forgotten, except for its id."""
        self._known.put(key_of(action.id), 1)
        if action.status in FINAL:
            self._waiting.pop(action.id, None)
        else:
            self._waiting[action.id] = action

    def dump(self) -> Any:
        return list(self._waiting.values()), self._known.dump()

    def load(self, dumped: Any) -> None:
        waiting, known = dumped
        self._waiting = {action.id: action for action in msgspec.convert(waiting, list[ActionState])}
        self._known.load(known)
