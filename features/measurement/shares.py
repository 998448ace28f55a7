"""The part of the vector on graded measures: what the transfer reaches, and how many of the program's reach as much.

A measure divides what the party does by its own usual, so that one scale serves every party. Its share says how rare
that is in this program, so that one scale serves every program: see ``features/windows/prevalence.py``.

Unit    per cent, rounded down; counts; cents of a first payment
Window  24 hours, 6 hours and 1 hour against 30 days of the entity; 7 and 30 days of new parties
Errors  none: a measure is None without what it divides by, and those of first payments on every later payment
"""

from math import isqrt
from typing import Final

import msgspec

from clearhold.features.catalogue.amounts import Activity, Amounts, History
from clearhold.features.catalogue.flows import Rhythm
from clearhold.features.catalogue.shares import Shares
from clearhold.features.catalogue.vector import RARE_AT_MOST
from clearhold.features.catalogue.weeks import FundsOrigin, Weeks
from clearhold.features.core.money import money_leaves
from clearhold.features.core.vocabulary import Rail
from clearhold.features.measurement.subject import Subject
from clearhold.features.state.program_series import ProgramSeries
from clearhold.features.windows.prevalence import Reached, Values

COUNT_FROM: Final = 3
BUSY_FROM: Final = 2
KNOWN_FROM: Final = 10
ODD_HOUR_PERCENT: Final = 10
NEW_PARTIES_FROM: Final = 2
_CARD: Final = Rail.CARD.value
_DAYS: Final = 30
_PERCENT: Final = 100
_LEAST_SHARE_OF_MEDIAN: Final = 4


ShareFields = tuple[int | str | None, ...]
"""The fields of ``Shares`` in their order: 27 of them, which come from a list, are not worth a Struct between."""
_NOBODYS: Final[ShareFields] = (None,) * len(Shares.__struct_fields__)


class Graded(msgspec.Struct, frozen=True, gc=False):
    """What the measures are made of; ``median_cents`` is the program's usual amount."""

    activity: Activity
    history: History
    amounts: Amounts
    rhythm: Rhythm
    weeks: Weeks
    origins: FundsOrigin
    is_first: bool | None
    median_cents: int | None


def shares_of(subject: Subject, program: ProgramSeries, graded: Graded, at: int) -> tuple[ShareFields, Reached]:
    """The measures with their shares, and what the transfer reaches, to be counted when it lands."""
    if subject.actor is None:
        return _NOBODYS, ()
    day = _day(subject, graded)
    values = (
        *(*day, *_pace(graded), *_habits(subject, graded), _last_receipt(subject, graded.origins)),
        *(_first(subject, graded, day[0]) if graded.is_first else ()),
    )
    share = program.prevalence.share(at, values, is_card=subject.rail == _CARD)
    return (*day, *share.permille, share.rarest, share.common), share.reached


def day_cents_over_usual(day_cents: int, month_cents: int, median_cents: int) -> int:
    """Per cent of the own usual day, which is at least a quarter of the program's usual amount, and a cent."""
    least = max(_DAYS * median_cents, _DAYS * _LEAST_SHARE_OF_MEDIAN)
    return _PERCENT * _DAYS * _LEAST_SHARE_OF_MEDIAN * day_cents // max(_LEAST_SHARE_OF_MEDIAN * month_cents, least)


def day_amount_over_usual(cents: int, day_count: int, month_count: int, median_cents: int) -> int:
    """Per cent: the geometric mean of the amount over the usual one and of the day's count over one more than usual."""
    if day_count < BUSY_FROM:
        return 0
    return isqrt(_PERCENT**2 * _DAYS * cents * day_count // (max(median_cents, 1) * (_DAYS + month_count)))


def _day(subject: Subject, graded: Graded) -> tuple[int | None, int, int | None]:
    activity, median_cents = graded.activity, graded.median_cents
    count, month = activity.velocity_24h_count, activity.entity_count_30d
    over = _PERCENT * _DAYS * count // (_DAYS + month) if count >= COUNT_FROM else 0
    if subject.cents is None or median_cents is None:
        return None, over, None
    return (
        day_cents_over_usual(activity.velocity_24h_sum_cents, graded.history.entity_sum_cents_30d, median_cents),
        over,
        day_amount_over_usual(subject.cents, count, month, median_cents),
    )


def _pace(graded: Graded) -> tuple[int | None, int | None]:
    activity, rhythm = graded.activity, graded.rhythm
    if activity.entity_prior_transfers < KNOWN_FROM or rhythm.velocity_count_6h is None:
        return None, None
    usual = max(activity.entity_count_30d, _DAYS)
    return rhythm.velocity_count_1h, _PERCENT * _DAYS * rhythm.velocity_count_6h // usual


def _habits(subject: Subject, graded: Graded) -> tuple[int | None, int | None, int | None]:
    """The amount repeated, the amount at an unusual hour, and quick hops."""
    rhythm, cents = graded.rhythm, subject.cents
    hour, most_cents = rhythm.entity_usual_hour_percent, rhythm.entity_p90_cents_90d
    odd = None
    if hour is not None and hour <= ODD_HOUR_PERCENT and cents is not None and most_cents:
        odd = _PERCENT * cents // most_cents
    return (
        None if cents is None else graded.amounts.repeated_amount_count_24h,
        odd,
        rhythm.quick_hops_2h if graded.activity.entity_prior_transfers >= KNOWN_FROM else None,
    )


def _first(subject: Subject, graded: Graded, day_cents: int | None) -> Values:
    """Of a first payment of a pair: the day's cents, the amount, new payers of either side, whether both are quiet, and
    where the money came from.
    """
    weeks, cents = graded.weeks, subject.cents
    of_payee, of_payer, paid = weeks.payee_new_payers_30d, weeks.payer_new_payers_30d, weeks.payer_new_payees_30d
    quiet = quiet_amount = None
    if of_payee is not None and paid is not None and of_payee <= RARE_AT_MOST and paid <= RARE_AT_MOST:
        quiet = 1
        if cents is not None and graded.median_cents:
            quiet_amount = _PERCENT * cents // graded.median_cents
    return (
        day_cents,
        cents,
        weeks.payee_new_payers_7d,
        weeks.payee_new_payers_over_usual_percent if (of_payee or 0) >= NEW_PARTIES_FROM else None,
        of_payer,
        weeks.payer_new_payers_over_usual_percent if (of_payer or 0) >= NEW_PARTIES_FROM else None,
        quiet,
        quiet_amount,
        _drained(subject, graded.amounts.entity_in_cents_48h),
        *_origins(graded.origins),
    )


def _last_receipt(subject: Subject, origins: FundsOrigin) -> int | None:
    """The smaller of the amount and the last receipt in per cent of the larger."""
    return _closeness(subject.cents, origins.payer_last_receipt_cents)


def _drained(subject: Subject, received: int) -> int | None:
    """As ``_last_receipt``, of all that the entity received in 48 hours, where it pays off cards."""
    is_payment = subject.rail != _CARD and money_leaves(subject.rail, subject.direction, subject.type)
    return _closeness(subject.cents, received) if is_payment else None


def _closeness(cents: int | None, received: int | None) -> int | None:
    return _PERCENT * min(cents, received) // max(cents, received) if cents and received else None


def _origins(origins: FundsOrigin) -> tuple[int | None, int | None, int | None]:
    received, sent = origins.payer_received_cents_30d, origins.payer_sent_cents_30d
    percent = _PERCENT * sent // received if received and received > 0 and sent is not None else None
    return percent, origins.first_chain_hops_14d, origins.first_middles_30d
