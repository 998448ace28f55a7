"""ISO weeks, held against the standard library day by day over sixty years."""

from datetime import UTC, datetime, timedelta

import pytest

from clearhold.features.core.instants import DAY_US, DAYS_7, IsoWeek, format_instant, instant_of, parse_week, week_of

FIRST = datetime(1990, 1, 1, tzinfo=UTC)


def test_given_every_day_of_sixty_years_when_its_week_is_asked_for_then_it_is_the_calendars_and_holds_the_day() -> None:
    for number in range(60 * 366):
        day = FIRST + timedelta(days=number)
        year, week, weekday = day.isocalendar()
        for at in (instant_of(day), instant_of(day) + DAY_US - 1):
            named = week_of(at)
            assert named == (year, week)
            assert named.start <= at < named.end
            assert (at - named.start) // DAY_US == weekday - 1
        assert parse_week(day.strftime("%G-W%V")) == named
        assert str(named) == day.strftime("%G-W%V")


def test_given_every_year_when_its_last_week_is_named_then_week_53_exists_only_where_the_calendar_has_it() -> None:
    for year in range(1990, 2050):
        last = datetime(year, 12, 28, tzinfo=UTC).isocalendar().week  # The 28th of December is always in it.
        assert (parse_week(f"{year}-W53") is not None) is (last == 53)
        assert week_of(IsoWeek(year, last).end) == IsoWeek(year + 1, 1)


@pytest.mark.parametrize(
    ("text", "monday"),
    [("2020-W53", "2020-12-28"), ("2026-W53", "2026-12-28"), ("2027-W01", "2027-01-04"), ("2025-W01", "2024-12-30")],
)
def test_given_a_week_that_spans_years_when_read_then_it_starts_on_its_monday(text: str, monday: str) -> None:
    week = parse_week(text)

    assert week is not None
    assert format_instant(week.start) == f"{monday}T00:00:00.000Z"
    assert week.end - week.start == DAYS_7


@pytest.mark.parametrize(
    "text", ["2025-W53", "2026-W00", "2026-W54", "0000-W01", "2026-37", "2026-w37", "26-W37", "2026-W3", "٢٠٢٦-W37", ""]
)
def test_given_what_names_no_week_when_read_then_there_is_none(text: str) -> None:
    assert parse_week(text) is None
