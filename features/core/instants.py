"""Instants: integer microseconds since the Unix epoch, UTC; and ISO 8601 weeks, half-open, from Monday 00:00 to Monday;
and the pause before the next attempt.

Unit    microseconds, so that windows are exact and every platform agrees on them; a pause is in the unit of its
        arguments
Errors  ``parse_week`` answers None for text that names no week, as 2025-W53 does; ``parse_instant`` answers None for
        text that is not an RFC 3339 date-time or date of the years 1 to 9999 in UTC
Source  RFC 3339, section 5.6: a date-time has an offset, and its second may be 60 in the last minute of a UTC day
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

MILLISECOND_US: Final = 1_000
SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 3_600 * SECOND_US
DAY_US: Final = 24 * HOUR_US
HOURS_24: Final = DAY_US
HOURS_48: Final = 2 * DAY_US
DAYS_7: Final = 7 * DAY_US
DAYS_30: Final = 30 * DAY_US
DAYS_60: Final = 60 * DAY_US
DAYS_90: Final = 90 * DAY_US

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_S: Final = 86_400
_BANKING_DAYS_BACK: Final = (4, 4, 2, 2, 2, 2, 3)  # calendar days to the second weekday before, from Monday on
_EPOCH_WEEKDAY: Final = 3  # 1970-01-01 was a Thursday
_REMEMBERED: Final = 8_192
_LONGEST: Final = 64
_UNREAD: Final = -(2**63)
_WITH_MILLISECONDS: Final = len("2026-01-01T00:00:00.000Z")
_YEAR_10000: Final = 253_402_300_800 * SECOND_US
_RFC_3339: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}"
    r"(?:[T ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|(?P<leap>60))(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?",
    re.ASCII,
)
_parsed: dict[str, int | None] = {}


def parse_instant(text: str) -> int | None:
    """Read an RFC 3339 date-time, or a date as its UTC midnight; a leap second is the second after it."""
    known = _parsed.get(text, _UNREAD)  # One look, because another thread may empty the memory at any time.
    if known is not _UNREAD:
        return known
    if len(text) > _LONGEST:
        return None
    if len(_parsed) >= _REMEMBERED:
        _parsed.clear()
    at = _parsed[text] = _read(text)
    return at


def written_instant(text: str) -> int:
    """The instant in a text that this service wrote or checked."""
    at = parse_instant(text)
    assert at is not None, f"{text} is no instant"
    return at


def _read(text: str) -> int | None:
    has_milliseconds = len(text) == _WITH_MILLISECONDS and text[4:20:3] == "--T::." and text[20:23].isdigit()
    if not (has_milliseconds and text[23] == "Z") and text[4::3] != "--T::Z":  # the forms of nearly every time
        text = text.upper()
        form = _RFC_3339.fullmatch(text)
        if form is None:
            return None
        if (leap := form.start("leap")) >= 0:
            return _after_leap_second(f"{text[:leap]}59{text[leap + 2 :]}")
    elif text[17:19] == "60":
        return _after_leap_second(f"{text[:17]}59{text[19:]}")
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not UTC:
            moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        return instant_of(moment)
    except (ValueError, OverflowError):
        return None


def _after_leap_second(before: str) -> int | None:
    """A second after this time, the last second of a UTC day; None for any other."""
    at = _read(before)
    if at is None or at // SECOND_US % _DAY_S != _DAY_S - 1 or at >= _YEAR_10000 - SECOND_US:
        return None
    return at + SECOND_US


def instant_of(moment: datetime) -> int:
    """Microseconds of an aware datetime, without passing through a float."""
    since = moment - _EPOCH
    return (since.days * _DAY_S + since.seconds) * SECOND_US + since.microseconds


def datetime_of(at: int) -> datetime:
    """The aware UTC datetime of an instant."""
    return _EPOCH + timedelta(microseconds=at)


@lru_cache(maxsize=64)
def month_of_day(day: int) -> tuple[int, int]:
    """The calendar month (UTC) of a day, which is counted since the epoch, as [start, end)."""
    first = datetime_of(day * DAY_US).replace(day=1)
    return instant_of(first), instant_of((first + timedelta(days=31)).replace(day=1))


def two_banking_days_before(at: int) -> int:
    """Midnight UTC of the second weekday before the day of ``at``; bank holidays count as days."""
    day = at // DAY_US
    return (day - _BANKING_DAYS_BACK[(day + _EPOCH_WEEKDAY) % 7]) * DAY_US


@lru_cache(maxsize=_REMEMBERED)
def format_instant(at: int) -> str:
    """``YYYY-MM-DDTHH:MM:SS.mmmZ``, the form every answer and every hashed body uses."""
    return datetime_of(at).isoformat(timespec="milliseconds")[:-6] + "Z"


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


Pause = TypeVar("Pause", int, float)

MOST_DOUBLINGS: Final = 60


def pause_after(failures: int, first: Pause, most: Pause) -> Pause:
    """The pause after this many failures in a row, at least one.

    >>> [pause_after(failures, 0.5, 15.0) for failures in (1, 2, 3, 5, 6, 1_000)]
    [0.5, 1.0, 2.0, 8.0, 15.0, 15.0]
    """
    assert failures >= 1, "there is no pause before the first failure"
    return min(first * (1 << min(failures - 1, MOST_DOUBLINGS)), most)
