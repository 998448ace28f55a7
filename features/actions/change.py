"""What a kind of change to a program or a tenant is: what stands against it, who decides it, and its effect.

``objection`` and ``recorded`` are for the request, ``apply`` for the approval; all see the state as it then stands.
"""

from abc import ABC, abstractmethod
from typing import Any

from features.core.actions import ActionEntry
from features.core.commands import EntryResult
from features.core.log_entry import EntryPosition
from features.core.rows.emit import Emit
from features.state.action_book import ActionState
from features.state.program import ProgramState


class Change(ABC):
    """A kind of change. Whatever has nothing to say about ``recorded`` and ``needs_second`` inherits them."""

    @abstractmethod
    def objection(self, program: ProgramState, entry: ActionEntry, position: EntryPosition) -> EntryResult | None:
        """Why the change cannot be requested; None when it can."""

    def recorded(self, _program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> dict[str, Any] | None:
        """The change as the action records it: as requested, unless the state decides a part of it."""
        return entry.change

    def needs_second(self, _program: ProgramState, _action: ActionState, _position: EntryPosition) -> bool:
        """Whether a second person must approve the requested change."""
        return True

    @abstractmethod
    def apply(self, program: ProgramState, action: ActionState, position: EntryPosition, emit: Emit) -> str | None:
        """Make the approved change and emit its rows; a sentence when it cannot be made any more."""
