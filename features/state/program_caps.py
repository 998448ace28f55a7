"""The caps of one program: those in force, and every change that was ever approved.

Two people change a cap, so changes are few; the changes of a program are numbered together, from ``limits-v1`` on.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from clearhold.features.core.entries.actions import CapKind, CapVersion

_PREFIX: Final = "limits-v"


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
        return f"{_PREFIX}{len(self.history) + 1}"

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
