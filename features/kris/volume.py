"""What the program moved: against its usual day, against its declaration, and how much of it to one counterparty."""

from features.core.instants import DAY_US, DAYS_7, DAYS_30, month_of_day
from features.core.kris import KriName
from features.kris.reading import UNMEASURED, Reading, ratio
from features.state.program import ProgramState
from features.windows.series import AmountSeries, EventTimes
from features.windows.series_kinds import SeriesKind


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
    amounts = program.baseline.amounts
    if not amounts.times or (age := now - amounts.times[0]) < DAYS_7:
        return UNMEASURED
    _, of_day = amounts.measure_now(now - DAY_US, now)
    _, of_30_days = amounts.measure_now(now - DAYS_30, now)
    span = min(DAYS_30, age)
    return ratio(of_day * span, of_30_days * DAY_US, _days_with_data(amounts, now))


def _days_with_data(amounts: AmountSeries, now: int) -> int:
    """The UTC days of the 30 on which money moved."""
    oldest = now - DAYS_30
    midnights = range(oldest // DAY_US * DAY_US, now + 1, DAY_US)
    return sum(1 for start in midnights if amounts.count_now(max(start - 1, oldest), min(start + DAY_US - 1, now)))


def _declared_use(program: ProgramState, now: int) -> Reading:
    declared = program.declared_at(now).monthly_volume_cents
    start, _ = month_of_day(now // DAY_US)
    count, cents = program.baseline.amounts.measure_now(start - 1, now)
    unpriced: EventTimes | None = program.series_by_kind.get(SeriesKind.UNPRICED)
    n = count if unpriced is None else count - unpriced.count_now(start - 1, now)
    return ratio(cents, declared or 0, n)
