"""What is usual in a program: its baseline of 90 days, its daily volume, and what it declared."""

from typing import Any, Final

from clearhold.features.core.instants import DAY_US
from tests.oracle.facts import Baseline, Program
from tests.oracle.view import Other, Subject, cents_of

CLASS_FLOOR: Final = 30
FLOOR: Final = 5

Fields = dict[str, Any]


def baseline_of(others: list[Other], rail: str, direction: str, at: int) -> Baseline:
    """Of the same rail and direction when there are at least 30 with US cents, else of all that have some."""
    recent = [other for other in others if other.own > at - 90 * DAY_US and other.cents is not None]
    alike = [other for other in recent if (other.rail, other.direction) == (rail, direction)]
    amounts = sorted(other.cents or 0 for other in (alike if len(alike) >= CLASS_FLOOR else recent))
    n = len(amounts)
    if n < FLOOR:
        return Baseline(None, None, None)
    return Baseline(n, amounts[-(-n // 2) - 1], amounts[-(-n * 95 // 100) - 1])


def program_fields(program: Program, subject: Subject, others: list[Other]) -> Fields:
    declared = program.declared_at(subject.at)
    volume = declared.get("declaredMonthlyVolumeCents")
    return {
        "program.n90d": subject.baseline.n,
        "program.medianCents": subject.baseline.median,
        "program.p95Cents": subject.baseline.p95,
        "program.dailyAvgCents30d": _daily_average(others, subject.at),
        "program.declaredMonthlyVolumeCents": None if volume is None else int(volume),
        "declared.countries": ",".join(sorted(declared.get("declaredCountries", ()))),
        "declared.rails": ",".join(sorted(declared.get("declaredRails", ()))),
    }


def _daily_average(others: list[Other], at: int) -> int | None:
    age = at - min((other.own for other in others), default=at)
    if age < 7 * DAY_US:
        return None
    return cents_of([o for o in others if o.own > at - 30 * DAY_US]) * DAY_US // min(30 * DAY_US, age)
