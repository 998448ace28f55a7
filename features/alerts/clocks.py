"""The passing of time for a program's alerts: who waited too long is escalated once; what is over is packed."""

from typing import Final

from features.alerts.evidence import Escalation, brought_up_to_date
from features.alerts.rows import alert_row
from features.core.instants import format_instant
from features.core.log_entry import EntryPosition
from features.core.rows.emit import Emit
from features.state.program import ProgramState

BY_CLOCK: Final = "clock"


def run_clocks(program: ProgramState, when: EntryPosition, emit: Emit) -> None:
    """Escalate the waiting alerts whose due time has passed; a tick costs what is due, and no more."""
    book, now = program.alerts, when.appended_at
    for alert in book.overdue(now):
        alert.escalated_at = now
        summary, evidence, draft = alert.texts
        escalation = Escalation(at=format_instant(now), by=BY_CLOCK)
        alert.set_texts(summary, brought_up_to_date(evidence, alert, escalation), draft)
        emit(alert_row(program, alert, when))
    times = program.series.amounts.times
    if times:
        book.pack(times[-1])  # windows are of the transfers' own time
