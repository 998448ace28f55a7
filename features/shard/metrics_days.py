"""The totals of a program, stored once a UTC day, so that they can be read as known then.

The first tick of a day stores the totals of the previous day, and of earlier days without a tick; at most 30 are
stored.
"""

from typing import Final

import msgspec

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.measured import DayTotals
from clearhold.features.core.rows.parties import MetricsDayRow
from clearhold.features.core.rows.record import Emit, no_rows
from clearhold.features.state.program import ProgramState

WINDOW_DAYS: Final = 30
MOST_MISSED_DAYS: Final = 30
_ENCODE: Final = msgspec.json.Encoder().encode


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
        totals = totals_of_days(program, day + 1 - WINDOW_DAYS, day + 1)
        emit(
            MetricsDayRow(
                tenant_id=program.tenant_id,
                program_id=program.id,
                shard=position.shard,
                offset=position.offset,
                day_at=day * DAY_US,
                window_days=WINDOW_DAYS,
                totals=_ENCODE(totals).decode(),
                as_of_at=position.appended_at,
            )
        )
