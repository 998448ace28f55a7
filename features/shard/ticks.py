"""A tick: the passing of one minute, applied to every program of the shard.

An alert past its due time is escalated once. A decided alert whose window is over is packed.
"""

from collections.abc import Callable
from typing import Final

from clearhold.features.actions.autonomy import narrow_by_itself
from clearhold.features.alerts.evidence import with_totals
from clearhold.features.alerts.evidence_bodies import Escalation
from clearhold.features.alerts.rows import alert_row
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import EntryPosition, LogEntry, position_of
from clearhold.features.core.rows.record import Emit
from clearhold.features.parties.actor_scores import record_changes_by_time
from clearhold.features.shard.kri_snapshots import end_quiet_day, snapshot_on_tick
from clearhold.features.shard.metrics_days import store_ended_days
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


OnTick = Callable[[ProgramState, EntryPosition, Emit], None]


def expire_preflights(program: ProgramState, position: EntryPosition, _emit: Emit) -> None:
    """Remove the open pre-flights that no transfer can match any more."""
    program.preflights.expire(position.appended_at)


ON_TICK: Final[tuple[OnTick, ...]] = (
    expire_preflights,
    end_quiet_day,
    record_changes_by_time,
    run_clocks,
    narrow_by_itself,
    snapshot_on_tick,
    store_ended_days,
)
"""The steps of a tick for every program, in order."""


def apply_tick(program: ProgramState, _body: None, entry: LogEntry, emit: Emit) -> None:
    position = position_of(entry)
    for act in ON_TICK:
        act(program, position, emit)
