"""A tick: the passing of one minute, applied to every program of the shard.

An alert past its due time is escalated once. A decided alert whose window is over is packed. The first tick of a UTC
day stores the totals of the previous day, as known then, and of earlier days without a tick.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from clearhold.features.actions.autonomy import narrow_by_itself
from clearhold.features.alerts.evidence import with_totals
from clearhold.features.alerts.evidence_bodies import Escalation
from clearhold.features.alerts.rows import alert_row
from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.log_entry import Emit, EntryPosition, LogEntry, no_rows, position_of
from clearhold.features.core.measured import DayTotals
from clearhold.features.core.rows.parties import MetricsDayRow
from clearhold.features.parties.actor_scores import record_changes_by_time
from clearhold.features.shard.kri_snapshots import end_quiet_day, snapshot_on_tick
from clearhold.features.state.program import ProgramState

TOTALS_DAYS: Final = 30
MOST_MISSED_DAYS: Final = 30  # older days without a tick are not stored
BY_CLOCK: Final = "clock"
_ENCODE: Final = msgspec.json.Encoder().encode
OnTick = Callable[[ProgramState, EntryPosition, Emit], None]


def totals_of_days(program: ProgramState, first_day: int, upto_day: int) -> DayTotals:
    """The program's totals over the days [first, upto), as known now."""
    is_scored = program.scores.program.value(0) is not None
    return program.day_tallies.totals(first_day, upto_day, is_scored=is_scored)


def store_ended_days(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Store every day that has ended and is not stored; a program's first tick only begins its first day."""
    today, tallies = position.appended_at // DAY_US, program.day_tallies
    first = today if tallies.stored_upto is None else max(tallies.stored_upto, today - MOST_MISSED_DAYS)
    tallies.stored_upto = max(today, first)
    if emit is no_rows or not program.declarations:  # an undeclared state is that of a tenant's actions
        return
    for day in range(first, today):
        totals = totals_of_days(program, day + 1 - TOTALS_DAYS, day + 1)
        emit(
            MetricsDayRow(
                tenant_id=program.tenant_id,
                program_id=program.id,
                shard=position.shard,
                offset=position.offset,
                day_at=day * DAY_US,
                window_days=TOTALS_DAYS,
                totals=_ENCODE(totals).decode(),
                as_of_at=position.appended_at,
            )
        )


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
