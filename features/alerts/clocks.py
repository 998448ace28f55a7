"""Clocks of alerts: an alert past its due time is escalated once, and an alert whose window is over rests."""

from typing import Final

from clearhold.features.alerts.evidence import with_totals
from clearhold.features.alerts.evidence_bodies import Escalation
from clearhold.features.alerts.rows import alert_row
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.rows.emit import Emit
from clearhold.features.state.program import ProgramState

BY_CLOCK: Final = "clock"


def run_clocks(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Escalate the waiting alerts whose due time has passed; the cost grows with the alerts that are due alone."""
    book, now = program.alerts, position.appended_at
    for alert in book.overdue(now):
        alert.escalated_at = now
        summary, evidence, draft = book.texts(alert)
        escalation = Escalation(at=format_instant(now), by=BY_CLOCK)
        book.set_texts(alert, (summary, with_totals(evidence, alert, escalation), draft))
        emit(alert_row(program, alert, position))
    times = program.series.amounts.times
    if times:
        book.rest(times[-1])  # windows are in the transfers' own time
