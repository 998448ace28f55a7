"""A kind of change to a program or a tenant: the objections to it, whether it needs a second person, and its effect.

``objection`` and ``recorded`` are for the request, ``apply`` for the approval; all see the state as it then stands.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from clearhold.features.core.entries.actions import ActionEntry
from clearhold.features.core.entries.commands import EntryResult
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.rows.emit import Emit
from clearhold.features.state.action_book import ActionState
from clearhold.features.state.program import ProgramState

Recorded = dict[str, Any] | None


def as_requested(_program: ProgramState, entry: ActionEntry, _position: EntryPosition) -> Recorded:
    """The change as requested: the state adds nothing to it."""
    return entry.change


def always(_program: ProgramState, _action: ActionState, _position: EntryPosition) -> bool:
    return True


class Change(NamedTuple):
    """A kind of change.

    ``objection`` says why it cannot be requested, None when it can. ``recorded`` is the change as its action shows it.
    ``apply`` makes the approved change and emits its rows, or returns a sentence when it cannot be made any more.
    """

    objection: Callable[[ProgramState, ActionEntry, EntryPosition], EntryResult | None]
    apply: Callable[[ProgramState, ActionState, EntryPosition, Emit], str | None]
    recorded: Callable[[ProgramState, ActionEntry, EntryPosition], Recorded] = as_requested
    needs_second: Callable[[ProgramState, ActionState, EntryPosition], bool] = always
