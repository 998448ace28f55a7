"""Detectors of a whole program, run each time one of its transfers is first seen: return rate and volumes.

Window  60 days, 24 hours and the calendar month (UTC) up to the transfer's own time, the transfer included in volumes
Errors  none: a figure that is not measured opens no alert
Source  named at each detector; [P] is proposed here, to be tuned on labels
"""

from typing import Final, NamedTuple

from features.catalogue.vector import FeatureVector
from features.core.instants import DAY_US, DAYS_30, DAYS_60, HOURS_24, HOURS_48, month_of_day
from features.core.vocabulary import Severity
from features.detectors.detector import HARD, HIGH, MEDIUM, Detector, Grade, ReviewQuestion
from features.scorers.sentences import money, tenths
from features.state.program import ProgramState

UNAUTHORIZED_RATE: Final = 0.005
VOLUME_PERCENT: Final = 100
VOLUME_HIGH_PERCENT: Final = 150
RUN_RATE_FROM_DAYS: Final = 7
VELOCITY_FACTOR: Final = 3
# Below $10,000 a day (31 CFR 1010.311, the line of currency reports) a multiple of the usual says little; and whoever
# moves money on fewer than 10 of 30 days, less than twice a week, has no usual day to be a multiple of.
VELOCITY_FLOOR_CENTS: Final = 1_000_000
VELOCITY_FLOOR_DAYS: Final = 10
_VELOCITY_DAYS: Final = 30
_VELOCITY_WINDOW_US: Final = HOURS_48  # one busy day is in the sums of 24 hours that end on two
FEW_DEBITS: Final = 200
UNAUTHORIZED_RATE_ALERT: Final = "unauthorized_return_rate"
_VELOCITY, _VOLUME = "program_velocity", "volume_vs_declared"
_NONE: Final = (None, None, None)


class ProgramMeasurement(NamedTuple):
    """A figure of the program over its threshold. ``after`` and ``until`` are the ends of its alert's window."""

    detector: str
    sentence: str
    figures: dict[str, int | str]
    grade: Grade
    after: int
    until: int


def program_measurements(program: ProgramState, v: FeatureVector, at: int) -> tuple[ProgramMeasurement, ...]:
    """The figures over their thresholds when a transfer is first seen; most of the time there are none."""
    rate, usual = v.program_unauthorized_return_rate_60d, v.program_daily_avg_cents_30d
    declared = v.program_declared_monthly_volume_cents
    measurements = (
        unauthorized_rate_at(program, at) if rate is not None and rate > UNAUTHORIZED_RATE else None,
        _daily_volume(program, usual, at) if usual else None,
        _monthly_volume(program, declared, at) if declared else None,
    )
    return () if measurements == _NONE else tuple(each for each in measurements if each is not None)


def unauthorized_rate_at(program: ProgramState, at: int) -> ProgramMeasurement | None:
    """The rate when it is strictly over the rule's threshold, however few the debits are; the figures count them."""
    debits = program.originated.count(at - DAYS_60, at)
    returned = program.unauthorized.count(at - DAYS_60, at)
    if not debits or returned / debits <= UNAUTHORIZED_RATE:
        return None
    few = "" if debits >= FEW_DEBITS else f" So few debits that one return can cross the line of {UNAUTHORIZED_RATE}."
    return ProgramMeasurement(
        UNAUTHORIZED_RATE_ALERT,
        f"{returned} unauthorized returns against {debits} ACH debits originated in 60 days.{few}",
        {"unauthorizedReturns60d": returned, "achDebitsOriginated60d": debits},
        HARD,
        at - DAYS_30,
        at + DAYS_30,
    )


def _daily_volume(program: ProgramState, usual: int, at: int) -> ProgramMeasurement | None:
    """The last 24 hours against the usual day of 30 days, of a program that moves money on many of them."""
    cents = program.baseline.amounts.cents_since(at - HOURS_24, at)
    if cents < VELOCITY_FACTOR * usual or cents < VELOCITY_FLOOR_CENTS:
        return None
    active_days = _active_days(program, at - HOURS_24)
    if active_days < VELOCITY_FLOOR_DAYS:
        return None
    count = program.baseline.amounts.count(at - HOURS_24, at)
    return ProgramMeasurement(
        _VELOCITY,
        f"{money(cents)} in 24 h against a usual {money(usual)} a day, {tenths(cents, usual)} times as much.",
        {
            "program.sum24hCents": cents,
            "program.count24h": count,
            "timesUsual": tenths(cents, usual),
            "program.activeDays30d": active_days,
        },
        MEDIUM,
        at - _VELOCITY_WINDOW_US,
        at + _VELOCITY_WINDOW_US,
    )


def _active_days(program: ProgramState, upto: int) -> int:
    """The days with a transfer among the 30 days that end at an instant."""
    amounts = program.baseline.amounts
    return sum(1 for day in range(_VELOCITY_DAYS) if amounts.count(upto - (day + 1) * DAY_US, upto - day * DAY_US))


def _monthly_volume(program: ProgramState, declared: int, at: int) -> ProgramMeasurement | None:
    """The month to date against the declaration, and after day 7 what the month comes to at its rate."""
    start, end = month_of_day(at // DAY_US)
    cents = program.baseline.amounts.cents_since(start - 1, at)
    elapsed = at + 1 - start
    projected = cents * (end - start) // elapsed if elapsed > RUN_RATE_FROM_DAYS * DAY_US else cents
    if cents * 100 < VOLUME_PERCENT * declared and projected * 100 < VOLUME_HIGH_PERCENT * declared:
        return None
    count = program.baseline.amounts.count(start - 1, at)
    return ProgramMeasurement(
        _VOLUME,
        f"{money(cents)} this month against a declared {money(declared)}; {money(projected)} at the rate so far.",
        {"program.monthToDateCents": cents, "program.projectedMonthCents": projected, "program.countMonth": count},
        HIGH if projected * 100 >= VOLUME_HIGH_PERCENT * declared else MEDIUM,
        start - 1,
        end,
    )


DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id=UNAUTHORIZED_RATE_ALERT,
        opens_when="Unauthorized returns of 60 days are over 0.5 % of the ACH debits originated in them (Nacha).",
        triggers=(),
        features=("program_unauthorized_return_rate_60d",),
        thresholds={"rate": str(UNAUTHORIZED_RATE), "fewDebits": FEW_DEBITS},
        severities=(Severity.HIGH,),
        hard_when="hard",
        window="30 d",
        review=ReviewQuestion(
            unexplained="what brings the program over the network's rule, and since when",
            next_step="ask the program for a plan to come below the line and watch the rate until it is",
        ),
    ),
    Detector(
        id=_VELOCITY,
        opens_when=(
            "The volume of 24 h is at least 3 times the usual day of 30 days and at least $10,000, in a program that "
            "moved money on at least 10 of the 30 days before."
        ),
        triggers=(),
        features=("program_daily_avg_cents_30d",),
        thresholds={
            "factor": VELOCITY_FACTOR,
            "floorCents": VELOCITY_FLOOR_CENTS,
            "activeDays": VELOCITY_FLOOR_DAYS,
        },
        severities=(Severity.MEDIUM,),
        window="2 d",
        review=ReviewQuestion(
            unexplained="why the program moves so much more in a day than it usually does",
            next_step="ask the program what has changed and look at the entities that moved most",
        ),
    ),
    Detector(
        id=_VOLUME,
        opens_when="The month's volume reaches the declared one, or after day 7 would come to 150 % of it at its rate.",
        triggers=(),
        features=("program_declared_monthly_volume_cents",),
        thresholds={
            "percent": VOLUME_PERCENT,
            "highPercent": VOLUME_HIGH_PERCENT,
            "runRateFromDays": RUN_RATE_FROM_DAYS,
        },
        severities=(Severity.MEDIUM, Severity.HIGH),
        window="the month",
        review=ReviewQuestion(
            unexplained="whether the program's business has outgrown its declaration",
            next_step="ask the program for a new declaration and for the customers behind the growth",
        ),
    ),
)
