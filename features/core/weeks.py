"""ISO 8601 weeks: Monday 00:00 UTC to the next Monday, named by the year of their Thursday.

Unit    instants in microseconds since the epoch; a week is half-open, [start, end)
Errors  ``parse_week`` answers None for text that names no week, as 2025-W53 does
"""

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

from clearhold.features.core.instants import DAYS_7, datetime_of, instant_of

_WEEK: Final = re.compile(r"([0-9]{4})-W([0-9]{2})", re.ASCII)


class IsoWeek(NamedTuple):
    year: int
    number: int

    @property
    def start(self) -> int:
        monday = datetime.fromisocalendar(self.year, self.number, 1)
        return instant_of(monday.replace(tzinfo=UTC))

    @property
    def end(self) -> int:
        return self.start + DAYS_7

    def __str__(self) -> str:
        return f"{self.year:04d}-W{self.number:02d}"


FIRST_WEEK: Final = IsoWeek(1, 1)


def parse_week(text: str) -> IsoWeek | None:
    """Read a week as in 2026-W37.

    >>> parse_week("2020-W53"), parse_week("2025-W53")
    (IsoWeek(year=2020, number=53), None)
    """
    named = _WEEK.fullmatch(text)
    if named is None:
        return None
    try:
        datetime.fromisocalendar(int(named[1]), int(named[2]), 1)
    except ValueError:
        return None
    return IsoWeek(int(named[1]), int(named[2]))


def week_of(at: int) -> IsoWeek:
    """The week that an instant is in."""
    year, number, _ = datetime_of(at).isocalendar()
    return IsoWeek(year, number)
