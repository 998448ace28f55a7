"""The changes that actions of ours make to what a program or a tenant may do: what stands against one, and its effect.

One row a type of action. ``objection`` is for the request, ``apply`` for the approval; both see the state as it then
stands.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from features.core.actions import ActionEntry, ActionType
from features.core.commands import EntryResult
from features.core.log_entry import EntryPosition
from features.core.rows.emit import Emit
from features.state.action_book import ActionState
from features.state.program import ProgramState


class Change(Protocol):
    """A kind of change."""

    def objection(self, program: ProgramState, entry: ActionEntry, position: EntryPosition) -> EntryResult | None:
        """Why the change cannot be requested; None when it can."""
        ...

    def apply(self, program: ProgramState, action: ActionState, position: EntryPosition, emit: Emit) -> str | None:
        """Make the approved change and emit its rows; a sentence when it cannot be made any more."""
        ...


CHANGES: Final[Mapping[ActionType, Change]] = {}
