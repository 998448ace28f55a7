"""The actions of one program, or of one tenant, that are not final yet, and the caps that actions have set.

A final action is only an id here: readers use its rows. Of executed actions at the bank, the newest of each type on a
target is known. Two people change a cap, so changes are few; the changes of a program are numbered together, from
``limits-v1`` on.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from clearhold.features.core.entries.actions import FINAL, ActionStatus, ActionType, CapKind, CapVersion
from clearhold.features.core.principal import OperatorIdentity
from clearhold.features.windows.id_index import IdIndex, key_of

_PREFIX: Final = "limits-v"


class ActionState(msgspec.Struct, kw_only=True):
    """The present state of an action. ``approval_note`` stays on its row until it is final."""

    id: str
    alert_id: str | None = None
    alert_sha256: str | None = None
    type: ActionType
    target_type: str
    target_id: str
    requested_by: str
    approved_by: str | None = None
    status: ActionStatus
    change: dict[str, Any] | None
    created_at: int
    requested_identity: OperatorIdentity | None = None
    approved_identity: OperatorIdentity | None = None
    approval_note: str | None = None


class ActionBook:
    def __init__(self) -> None:
        self._waiting: dict[str, ActionState] = {}
        self._known = IdIndex()
        self._executed: dict[str, dict[ActionType, str]] = {}  # by target: the newest executed action of each type

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
        if action.status is ActionStatus.EXECUTED and action.change is None:
            executed = self._executed.setdefault(_target(action.target_type, action.target_id), {})
            executed[action.type] = action.id
        if action.status in FINAL:
            self._waiting.pop(action.id, None)
        else:
            self._waiting[action.id] = action

    @property
    def has_executed(self) -> bool:
        """Whether any action at the bank was executed."""
        return bool(self._executed)

    def executed_targets(self) -> Iterator[tuple[str, str]]:
        """The types and ids of the targets of executed actions at the bank."""
        for target in self._executed:
            target_type, _, target_id = target.partition(":")
            yield target_type, target_id

    def executed_on(self, target_type: str, target_id: str) -> Mapping[ActionType, str]:
        """The newest executed action at the bank of each type on a target, by its id."""
        return self._executed.get(_target(target_type, target_id), {})

    def dump(self) -> Any:
        return list(self._waiting.values()), self._known.dump(), self._executed

    def load(self, dumped: Any) -> None:
        waiting, known, executed = dumped
        self._executed = msgspec.convert(executed, dict[str, dict[ActionType, str]])
        self._waiting = {action.id: action for action in msgspec.convert(waiting, list[ActionState])}
        self._known.load(known)


def _target(target_type: str, target_id: str) -> str:
    return f"{target_type}:{target_id}"


class ProgramCaps:
    """``history`` is oldest first."""

    __slots__ = ("_in_force", "_newest", "history")

    def __init__(self) -> None:
        self.history: list[CapVersion] = []
        self._newest: dict[CapKind, CapVersion] = {}
        self._in_force: dict[CapKind, CapVersion] = {}

    def __iter__(self) -> Iterator[CapVersion]:
        """The caps in force."""
        return iter(self._in_force.values())

    def __len__(self) -> int:
        return len(self._in_force)

    def newest(self, kind: CapKind) -> CapVersion | None:
        """The last change of a kind, which may be its removal."""
        return self._newest.get(kind)

    def cap(self, kind: CapKind) -> int | None:
        """The cap in force in its unit, None for no cap."""
        version = self._in_force.get(kind)
        return None if version is None else version.cap

    @property
    def next_version(self) -> str:
        return self.version_after(1)

    def version_after(self, changes: int) -> str:
        """The version of the caps after this number of further changes."""
        return f"{_PREFIX}{len(self.history) + changes}"

    def put(self, change: CapVersion) -> None:
        """Put a cap in force, or remove it where it is None."""
        self.history.append(change)
        self._newest[change.kind] = change
        self._in_force.pop(change.kind, None)
        if change.cap is not None:
            self._in_force[change.kind] = change

    def dump(self) -> Any:
        return self.history

    def load(self, dumped: Any) -> None:
        for change in msgspec.convert(dumped, list[CapVersion]):
            self.put(change)
