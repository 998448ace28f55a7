"""How many of 1,000 of the program's transfers do as much: every transfer first seen before is looked at again."""

from fractions import Fraction
from math import floor, isqrt
from typing import Any, Final

from clearhold.features.core.instants import DAY_US
from tests.oracle.facts import FirstScored, Program
from tests.oracle.view import Subject

FLOOR = 200
KEPT: Final = 240
DAY_PERCENTS: Final = [500, 700, 1000, 1400, 2000, 2800, 4000, 5600, 8000, 11000, 16000, 22000, 32000, 45000, 64000]
HUGE: Final = [128000]
DOLLARS: Final = [100, 150, 200, 300, 500, 750, 1e3, 1500, 2e3, 3e3, 5e3, 7500, 1e4, 15e3, 2e4, 3e4, 5e4, 75e3, 1e5]
COUNTS: Final = [2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 60]
OVER_USUAL: Final = [100, 150, 200, 250, 300, 400, 600, 800, 1200]
STEPS: Final[dict[str, list[int]]] = {
    "day.centsOverUsualPermille": [*DAY_PERCENTS, *HUGE],
    "day.countOverUsualPermille": [200, 250, 300, 350, 400, 500, 600, 800, 1000, 1200, 1600],
    "day.amountOverUsualPermille": [150, 200, 250, 300, 400, 500, 600, 800, 1000, 1200, 1600],
    "velocity1hPermille": COUNTS,
    "velocity6hPermille": [200, 250, 300, 350, 400, 500, 600, 800, 1000, 1400],
    "repeatedAmount24hPermille": COUNTS[1:8],
    "entity.oddHourAmountPermille": [50, 75, 100, 125, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400],
    "typology.quickHopsPermille": [1, 2, 3],
    "payer.lastReceiptPermille": [70, 80, 85, 90, 95, 97, 98, 99, 100],
    "first.dayCentsPermille": [300, *DAY_PERCENTS, *HUGE],
    "first.amountPermille": [round(100 * each) for each in (*DOLLARS, 2e5, 5e5)],
    "first.payeeNewPayersPermille": COUNTS,
    "first.payeeOverUsualPermille": OVER_USUAL,
    "first.payerNewPayersPermille": [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128],
    "first.payerOverUsualPermille": OVER_USUAL,
    "first.quietPairPermille": [1],
    "first.quietAmountPermille": [100, 150, 200, 300, 500, 800, 1200, 2000, 4000, 8000, 16000],
    "first.drainedPermille": [70, 80, 85, 90, 95, 97, 98, 99, 100],
    "first.sentPermille": [50, 80, 90, 95, 100, 110, 125, 150, 200, 300, 500, 1000],
    "first.chainPermille": [1, 2, 3, 4, 5],
    "first.middlesPermille": [2, 3, 4, 6, 8, 12, 16, 24],
}
"""What tells shares apart, by the names of the shares."""
DAYS: Final = ("day.centsOverUsual", "day.countOverUsual", "day.amountOverUsual")

Fields = dict[str, Any]


def share_fields(program: Program, subject: Subject, fields: Fields) -> Fields:
    measured = measured_of(subject, fields)
    before = [other for other in program.first_scored if other.is_card == (subject.rail == "card")]
    day = subject.at // DAY_US
    shares = {name: _share(program, before, name, measured[name], day) for name in STEPS}
    least = min((share for share in shares.values() if share is not None), default=None)
    return {name: measured[f"{name}Permille"] for name in DAYS} | shares | {"rarestPermille": least}


def count_in(program: Program, subject: Subject, fields: Fields) -> None:
    """After a transfer's first scoring."""
    if subject.moved and subject.at // DAY_US > _newest_day(program) - KEPT:
        measured = measured_of(subject, fields)
        program.first_scored.append(FirstScored(subject.at, subject.rail == "card", measured))


def _newest_day(program: Program) -> int:
    return max((other.own // DAY_US for other in program.first_scored), default=0)


def measured_of(subject: Subject, fields: Fields) -> dict[str, int | None]:
    """What each share is of; None where it is not measured."""
    if subject.actor is None:
        return dict.fromkeys(STEPS)
    median = None if subject.baseline.median is None else _in_bucket(subject.baseline.median)
    day = dict(zip((f"{name}Permille" for name in DAYS), _of_the_day(subject, fields, median), strict=True))
    return dict.fromkeys(STEPS) | day | _paces(subject, fields) | _firsts(subject, fields, day, median)


def _of_the_day(subject: Subject, fields: Fields, median: int | None) -> tuple[int | None, ...]:
    count = fields["velocity24hCount"]
    usual_count = 1 + Fraction(fields["entity.count30d"], 30)
    over = 0 if count < 3 else floor(100 * count / usual_count)
    if subject.cents is None or median is None:
        return None, over, None
    usual_cents = max(Fraction(fields["entity.sumCents30d"], 30), Fraction(median, 4), 1)
    square = 10_000 * Fraction(subject.cents, max(median, 1)) * count / usual_count
    return floor(100 * fields["velocity24hSumCents"] / usual_cents), over, 0 if count < 2 else isqrt(floor(square))


def _paces(subject: Subject, fields: Fields) -> dict[str, int | None]:
    """Pace and quick hops of an entity with ten transfers, repeated amounts, and amounts at an odd hour."""
    paces: dict[str, int | None] = {}
    if fields["entity.priorTransfers"] >= 10:
        usual = max(Fraction(fields["entity.count30d"], 30), 1)
        paces["velocity1hPermille"] = fields["velocity1hCount"]
        paces["velocity6hPermille"] = floor(100 * fields["velocity6hCount"] / usual)
        paces["typology.quickHopsPermille"] = fields["typology.quickHops"]
    if subject.cents is not None:
        received = fields["payer.lastReceiptCents"]
        if subject.cents and received:
            paces["payer.lastReceiptPermille"] = floor(
                100 * min(Fraction(subject.cents, received), Fraction(received, subject.cents))
            )
        paces["repeatedAmount24hPermille"] = fields["repeatedAmount24hCount"]
        hour, most = fields["entity.usualHourPercent"], fields["entity.p90Cents90d"]
        if hour is not None and hour <= 10 and most:
            paces["entity.oddHourAmountPermille"] = 100 * subject.cents // most
    return paces


def _firsts(subject: Subject, fields: Fields, day: Fields, median: int | None) -> dict[str, int | None]:
    if not fields["pair.firstTime"]:
        return {}
    firsts: dict[str, int | None] = {
        "first.dayCentsPermille": day["day.centsOverUsualPermille"],
        "first.amountPermille": subject.cents,
        "first.payeeNewPayersPermille": fields["payee.newPayers7d"],
        "first.payerNewPayersPermille": fields["payer.newPayers30d"],
        "first.chainPermille": fields["first.chain14dHops"],
        "first.middlesPermille": fields["first.middles30d"],
    }
    came = fields["entity.in48hCents"]
    if subject.cents and came and subject.flow == "out" and subject.rail != "card":
        firsts["first.drainedPermille"] = floor(100 * min(Fraction(subject.cents, came), Fraction(came, subject.cents)))
    received = fields["payer.received30dCents"]
    if received is not None and received > 0:
        firsts["first.sentPermille"] = 100 * fields["payer.sent30dCents"] // received
    paid, of_payee, of_payer = (
        fields[name] for name in ("payer.newPayees30d", "payee.newPayers30d", "payer.newPayers30d")
    )
    if of_payee is not None and of_payee >= 2:
        firsts["first.payeeOverUsualPermille"] = fields["payee.newPayersOverUsualPercent"]
    if of_payer is not None and of_payer >= 2:
        firsts["first.payerOverUsualPermille"] = fields["payer.newPayersOverUsualPercent"]
    if paid is not None and paid <= 3 and of_payee <= 3:
        firsts["first.quietPairPermille"] = 1
        if subject.cents is not None and median:
            firsts["first.quietAmountPermille"] = 100 * subject.cents // median
    return firsts


def _in_bucket(cents: int) -> int:
    """The middle of its 128th of a power of two, which an exact median is kept as."""
    if cents < 256:
        return cents
    step: int = 2 ** (cents.bit_length() - 8)
    return cents // step * step + step // 2


def _share(program: Program, before: list[FirstScored], name: str, value: int | None, day: int) -> int | None:
    if value is None or day - 90 <= _newest_day(program) - KEPT:
        return None
    reached = [step for step in STEPS[name] if step <= value]
    shares = []
    for days in (90, 7):
        there = [other.measured[name] for other in before if day - days <= other.own // DAY_US < day]
        if len(there) < FLOOR:
            continue
        alike = [each for each in there if not reached or (each is not None and each >= reached[-1])]
        shares.append((days, -(-1000 * len(alike) // len(there))))
    return max(share for _, share in shares) if shares and shares[0][0] == 90 else None
