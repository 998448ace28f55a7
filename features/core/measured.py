"""Shares with their number of observations, and the interval that holds the true share with 95 %; and totals of a
program over whole UTC days, which add up over programs to those of a tenant.

Days are counted since the epoch. A transfer, a decision and a bank event belong to the day of their instant, an alert
to the day of its opening.

Unit    totals are counts; amounts in US cents, waits in seconds
Source  E. B. Wilson, Journal of the American Statistical Association 22 (1927); R. G. Newcombe, Statistics in Medicine
        17 (1998), method 3
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from math import sqrt
from typing import Annotated, Final

import msgspec

from clearhold.features.core.instants import DAY_US, DAYS_60
from clearhold.features.core.vocabulary import about

Z_95: Final = 1.959963984540054
"""The normal deviate that 95 % lie within, on either side of the mean."""


def wilson_interval(part: int, n: int) -> tuple[float, float] | None:
    """The two-sided 95 % interval of ``part`` in ``n``; None without an observation.

    >>> low, high = wilson_interval(81, 263) or (0, 0)
    >>> round(low, 4), round(high, 4)
    (0.2553, 0.3662)
    """
    if not n:
        return None
    share, square = part / n, Z_95 * Z_95
    middle = share + square / (2 * n)
    half = Z_95 * sqrt((share * (1 - share) + square / (4 * n)) / n)
    low, high = (middle - half) / (1 + square / n), (middle + half) / (1 + square / n)
    return (0.0 if not part else max(0.0, low)), (1.0 if part == n else min(1.0, high))


_DECIMALS: Final = 6


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A share of ``n`` observations, and the interval of Wilson that holds the true one with 95 %."""

    value: Annotated[float | None, about("The share; null without an observation.")]
    n: Annotated[int, about("How many observations.")]
    low: Annotated[float | None, about("The lower end of the 95 % interval (Wilson); null without an observation.")]
    high: Annotated[float | None, about("The upper end of the 95 % interval (Wilson); null without an observation.")]


def measured(part: int, n: int) -> Measured:
    """The share that ``part`` is of ``n``; null without an observation."""
    interval = wilson_interval(part, n)
    if interval is None:
        return Measured(value=None, n=0, low=None, high=None)
    low, high = interval
    return Measured(value=rounded(part / n), n=n, low=rounded(low), high=rounded(high))


def rounded(value: float) -> float:
    """Rounded to the decimals that are shown."""
    return round(value, _DECIMALS)


FINAL_AFTER_DAYS: Final = DAYS_60 // DAY_US + 1
"""An ok label is provisional on transfers of the last day of a period and of the 60 days before it."""


class DayTotals(msgspec.Struct, frozen=True, omit_defaults=True):
    """Exact totals of a number of days. A program tallies the figures up to ``overturns`` by day.

    Attempts count as transfers and move no cents; dishonoured returns are left out, and the unauthorized ones are of
    debits that the program sent. ``clear`` to ``unscored`` go by a transfer's newest band, labels by its band at
    landing. An unalerted transfer is in the band clear and in no alert.
    """

    transfers: int = 0
    cents: int = 0
    returned: int = 0
    unauthorized: int = 0
    clear: int = 0
    review: int = 0
    hold: int = 0
    unscored: int = 0
    clear_bad: int = 0
    review_bad: int = 0
    hold_bad: int = 0
    unscored_bad: int = 0
    clear_ok: int = 0
    review_ok: int = 0
    hold_ok: int = 0
    unscored_ok: int = 0
    unalerted: int = 0
    unalerted_cents: int = 0
    alerts: int = 0  # opened
    auto_closed: int = 0  # by the policy, at their opening
    reviews: int = 0  # decisions of persons where there was a draft to agree with
    overturns: int = 0  # reviews that contradicted it
    provisional_ok: int = 0  # labels ok that may yet turn bad (``FINAL_AFTER_DAYS``)
    programs: int = 0
    scored_programs: int = 0  # programs with a Program Risk Score
    waits: tuple[int, ...] = ()  # from the opening of an alert to the first decision of a person, in no order
    events: dict[str, dict[str, int]] = {}  # deliveries by family and result


_FIGURES: Final = tuple(name for name in DayTotals.__struct_fields__ if name not in {"waits", "events"})
TALLIED: Final = _FIGURES[: _FIGURES.index("overturns") + 1]


def day_totals(figures: Mapping[str, int], waits: Iterable[int], events: dict[str, dict[str, int]]) -> DayTotals:
    return msgspec.structs.replace(msgspec.convert(figures, DayTotals), waits=tuple(waits), events=events)


def sum_of(totals: Iterable[DayTotals]) -> DayTotals:
    """The totals of several programs over the same days."""
    parts = tuple(totals)
    events: dict[str, Counter[str]] = {}
    for part in parts:
        for family, by_result in part.events.items():
            events.setdefault(family, Counter()).update(by_result)
    figures = {name: sum(getattr(part, name) for part in parts) for name in _FIGURES}
    waits = chain.from_iterable(part.waits for part in parts)
    return day_totals(figures, waits, {family: dict(by_result) for family, by_result in events.items()})
