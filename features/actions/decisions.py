"""Decisions on alerts as they arrive: signed at once, or requested as an action that waits for a second person."""

from typing import Any

import msgspec

from clearhold.features.actions.pending_decisions import needs_second_person
from clearhold.features.actions.transitions import request
from clearhold.features.alerts.decisions import decide, result_of
from clearhold.features.core.entries.actions import ActionEntry, ActionType, DecisionChange
from clearhold.features.core.entries.commands import DecisionEntry, EntryResult
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.rows.record import Emit
from clearhold.features.state.program import ProgramState


def decide_or_request(program: ProgramState, entry: DecisionEntry, position: EntryPosition, emit: Emit) -> None:
    """Sign the decision, or request its second person; an entry that was applied before changes nothing."""
    alert = program.alerts.get(entry.alert_id)
    if program.actions.is_known(entry.id):
        return
    if (
        alert is None
        or entry.id in alert.disposition_ids
        or not needs_second_person(program, alert, entry.decision, position)
        or result_of(program, alert, entry, position) is not EntryResult.MADE
    ):
        decide(program, entry, position, emit)
        return
    change: dict[str, Any] = msgspec.to_builtins(DecisionChange(decision=entry.decision, narrative=entry.narrative))
    action = ActionEntry(
        id=entry.id,
        tenant_id=program.tenant_id,
        alert_id=alert.id,
        alert_sha256=alert.alert_sha256,
        type=ActionType.DECIDE_ALERT,
        target_type="alert",
        target_id=alert.id,
        operator=entry.operator,
        operator_kind=entry.operator_kind,
        principal_id=entry.principal_id,
        change=change,
        at=entry.at,
        identity=entry.identity,
    )
    request(program, action, position, emit)
