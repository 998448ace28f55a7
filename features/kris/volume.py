"""What the program moved: against its usual day, against its declaration, and how much of it to one counterparty."""

from typing import NamedTuple

from clearhold.features.core.entries.kris import KriName
from clearhold.features.core.instants import DAY_US, DAYS_7, DAYS_30, month_of_day
from clearhold.features.kris.reading import UNMEASURED, Reading, ratio
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.series import EventTimes
from clearhold.features.windows.series_kinds import SeriesKind


class Volume(NamedTuple):
    """Transfers that moved money, and the sum of their US cents."""

    transfers: int
    cents: int


def volumes(program: ProgramState, now: int) -> dict[KriName, Reading]:
    windows = program.kri_windows
    return {
        KriName.VOLUME_VELOCITY: _velocity(program, now),
        KriName.DECLARED_VOLUME_USE: _declared_use(program, now),
        KriName.COUNTERPARTY_CONCENTRATION: ratio(
            windows.most_paid_cents(), windows.leaving_cents, windows.paid_parties
        ),
    }


def _velocity(program: ProgramState, now: int) -> Reading:
    """The usual day is ``program.dailyAvgCents30d``, not rounded to cents."""
    times = program.baseline.amounts.times
    if not times or (age := now - times[0]) < DAYS_7:
        return UNMEASURED
    span = min(DAYS_30, age)
    _, of_day = _priced(program, now - DAY_US, now)
    _, of_30_days = _priced(program, now - DAYS_30, now)
    return ratio(of_day * span, of_30_days * DAY_US, _days_with_data(program, now))


def _days_with_data(program: ProgramState, now: int) -> int:
    """The UTC days of the 30 on which money moved."""
    oldest = now - DAYS_30
    midnights = range(oldest // DAY_US * DAY_US, now + 1, DAY_US)
    return sum(
        1 for start in midnights if _priced(program, max(start - 1, oldest), min(start + DAY_US - 1, now)).transfers
    )


def _declared_use(program: ProgramState, now: int) -> Reading:
    declared = program.declared_at(now).monthly_volume_cents
    start, _ = month_of_day(now // DAY_US)
    count, cents = _priced(program, start - 1, now)
    return ratio(cents, declared or 0, count)


def _priced(program: ProgramState, after: int, upto: int) -> Volume:
    """The transfers in (after, upto] whose US cents are known; those without add nothing to the sum either."""
    count, cents = program.baseline.amounts.measure_now(after, upto)
    unpriced: EventTimes | None = program.series_by_kind.get(SeriesKind.UNPRICED)
    return Volume(count if unpriced is None else count - unpriced.count_now(after, upto), cents)
