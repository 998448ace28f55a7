"""What is usual for one side: the median of its distinct parties a week.

Unit    distinct parties a week, the mean of the middle two rounded up
Window  the completed weeks before the one of the instant, Monday 00:00 UTC to Monday 00:00 UTC, at most the newest 12
"""

from array import array
from collections.abc import Iterable
from typing import Final

from features.core.instants import DAY_US, DAYS_7

USUAL_WEEKS: Final = 12
_MONDAY_US: Final = 3 * DAY_US  # 1970-01-01 was a Thursday, three days after a Monday


def week_of(at: int) -> int:
    """The number of the week that holds an instant.

    >>> week_of(4 * DAY_US), week_of(4 * DAY_US - 1)
    (1, 0)
    """
    return (at + _MONDAY_US) // DAYS_7


def start_of(week: int) -> int:
    """The Monday on which a week begins.

    >>> week_of(start_of(2_900)), week_of(start_of(2_900) - 1)
    (2900, 2899)
    """
    return week * DAYS_7 - _MONDAY_US


def weeks_before(first_week: int, week: int) -> range:
    """The completed weeks that a usual week of ``week`` is taken over."""
    return range(max(first_week, week - USUAL_WEEKS), week)


def median_of(counts: Iterable[int]) -> int | None:
    """The median, of an even number the mean of the middle two, rounded up; None of nothing.

    >>> median_of([3, 1, 2]), median_of([1, 4]), median_of([])
    (2, 3, None)
    """
    ordered = sorted(counts)
    if not ordered:
        return None
    return -(-(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) // 2)


def usual_of_few(times: "array[int]", parties: "array[int]", weeks: int) -> int | None:
    """The median over so many weeks, of few meetings with parties, oldest first; 0 where most weeks have none.

    >>> usual_of_few(array("q", [0, 1, DAYS_7, 2 * DAYS_7]), array("i", [4, 5, 4, 4]), 3)
    1
    """
    if 2 * len(times) < weeks:
        return 0
    of_week, week_end = list[set[int]](), 0
    for at, party in zip(times, parties, strict=True):
        if not of_week or at >= week_end:
            of_week.append(set())
            week_end = start_of(week_of(at) + 1)
        of_week[-1].add(party)
    return median_of([*map(len, of_week), *[0] * (weeks - len(of_week))])
