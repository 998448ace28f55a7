"""The busiest span of an actor's last five weeks: what is usual for an entity that moves money on few days.

Unit    transfers and cents
Window  five weeks that end where the newest span begins; the newest ``MOST_READ`` amounts of it at most
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from features.core.instants import DAYS_7
from features.windows.series import AmountSeries, EventTimes

WEEKS_5: Final = 5 * DAYS_7
MOST_READ: Final = 512
BUSIEST_PERCENT: Final = 150


def busiest_span(series: AmountSeries, at: int, span_us: int) -> tuple[int, int]:
    """The highest count and the highest sum of any span of the five weeks before the last span."""
    amounts = list(amounts_between(series, at - WEEKS_5, at - span_us))
    most_count = most_cents = first = cents = 0
    for place, (end, amount) in enumerate(amounts):
        cents += amount
        while amounts[first][0] <= end - span_us:
            cents -= amounts[first][1]
            first += 1
        most_count, most_cents = max(most_count, place - first + 1), max(most_cents, cents)
    return most_count, most_cents


def amounts_between(series: EventTimes | None, after: int, upto: int) -> Iterator[tuple[int, int]]:
    """Instants and cents of (after, upto], the newest ``MOST_READ`` of them."""
    if isinstance(series, AmountSeries):
        times = series.times
        last = bisect_right(times, upto)
        for index in range(max(bisect_right(times, after), last - MOST_READ), last):
            yield times[index], series.amount(index)
