"""The period of a report: whole UTC days, or an ISO week.

Window  [from, to); by default the last 30 days including today, or the last full week
Errors  InvalidRequestError for a period that is empty or over a year, and a week that has not begun
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from clearhold.api.http.fields import RULE_OF_PATTERN, WEEK
from clearhold.api.http.validation import Failure
from clearhold.api.lists.lists import FROM_BEFORE_TO, days_between
from clearhold.features.core.errors import FieldCode, invalid
from clearhold.features.core.instants import DAY_US, DAYS_7, IsoWeek, parse_week, week_of
from clearhold.store.tables.predicate import Span

DEFAULT_DAYS: Final = 30
MOST_DAYS: Final = 366


def week_exists(plain: Mapping[str, Any]) -> Iterable[Failure]:
    text = plain.get("week")
    if isinstance(text, str) and parse_week(text) is None:
        yield Failure("week", RULE_OF_PATTERN[WEEK])


def period_of(from_: str | None, to: str | None, *, now: int) -> Span:
    """The whole days between two optional bounds."""
    start, end = days_between(from_, to)
    if end is None:
        end = now - now % DAY_US + DAY_US
    if start is None:
        start = end - DEFAULT_DAYS * DAY_US
    if start >= end:
        name, words = ("from", FROM_BEFORE_TO) if to is not None else ("from", "must not be after today")
        raise invalid(name, words, FieldCode.CONFLICTING)
    if end - start > MOST_DAYS * DAY_US:
        raise invalid("from", f"must not be more than {MOST_DAYS} days before to", FieldCode.TOO_SMALL)
    return Span(start, end)


def reported_week(text: str | None, *, now: int) -> IsoWeek:
    """The week of that name, or the last full one."""
    week = week_of(now - DAYS_7) if text is None else parse_week(text)
    if week is None or week.start > now:
        raise invalid("week", "has not begun", FieldCode.TOO_LARGE)
    return week
