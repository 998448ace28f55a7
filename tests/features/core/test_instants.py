"""Instants: what is read, what is refused, and that what is read can always be shown again."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.instants import SECOND_US, datetime_of, format_instant, instant_of, parse_instant


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-03-02T15:04:05Z", "2026-03-02T15:04:05.000Z"),
        ("2026-03-02t15:04:05z", "2026-03-02T15:04:05.000Z"),
        ("2026-03-02T15:04:05.123456789+02:00", "2026-03-02T13:04:05.123Z"),
        ("2026-03-02", "2026-03-02T00:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
        ("2026-03-02 15:04:05-00:00", "2026-03-02T15:04:05.000Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
        ("2016-12-31T23:59:60.5z", "2017-01-01T00:00:00.500Z"),
        ("2016-12-31T15:59:60-08:00", "2017-01-01T00:00:00.000Z"),
    ],
)
def test_given_a_moment_when_it_is_read_then_it_is_shown_in_utc(text: str, shown: str) -> None:
    at = parse_instant(text)

    assert at is not None
    assert format_instant(at) == shown


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2026-02-30T00:00:00Z",
        "2026-03-02T15:04:05",
        "2026-03-02T15:04:05+0000",
        "2026-03-02T15:04:05+00",
        "2026-03-02T15:04:05+01:60",
        "2026-03-02T15:04:05,5Z",
        "2026-03-02T15:04Z",
        "2026-03-02T24:00:00Z",
        "2026-03-02T12:59:60Z",
        "2016-12-31T23:59:60+01:00",
        "9999-12-31T23:59:60Z",
        "2026-W10-1T15:04:05Z",
        "2026-W10-1",
        "2026-061",
        "20260302",
        "20260302T150405Z",
        " 2026-03-02",
        "2026-03-02T15:04:05Z\n",
        "\uff12026-03-02T15:04:05Z",
        "2026-03-02T15:04:05Z" + "0" * 1_000_000,
        "soon",
        "",
    ],
)
def test_given_no_moment_that_utc_can_show_when_it_is_read_then_it_is_none(text: str) -> None:
    assert parse_instant(text) is None


OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
SPOKEN = st.datetimes(datetime(3, 1, 1), datetime(9997, 1, 1), timezones=OFFSETS)  # noqa: DTZ001 - zoned by ``timezones``


@given(moment=SPOKEN)
def test_given_any_moment_when_it_is_read_with_its_offset_then_no_microsecond_is_lost(moment: datetime) -> None:
    at = parse_instant(moment.isoformat())

    assert at == (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert at is not None
    assert datetime_of(at) == moment
    assert instant_of(moment) == at


@given(moment=SPOKEN)
def test_given_an_instant_when_it_is_shown_and_read_then_it_is_the_same_millisecond(moment: datetime) -> None:
    at = instant_of(moment)

    again = parse_instant(format_instant(at))

    assert again == at - at % 1_000


@given(text=st.text(max_size=40) | st.from_regex(r"\d{4}-\d\d-\d\d[Tt ]?\d{0,2}:?\d{0,2}:?\d{0,2}Z?", fullmatch=True))
def test_given_any_text_when_it_is_read_twice_then_it_is_the_same_moment_or_none(text: str) -> None:
    first = parse_instant(text)

    assert parse_instant(text) == first
    assert first is None or format_instant(first)


def test_given_more_texts_than_are_remembered_when_they_are_read_then_each_is_read_right() -> None:
    start = instant_of(datetime(2026, 3, 2, tzinfo=UTC))

    for second in range(9_000):
        at = start + second * SECOND_US
        assert parse_instant(format_instant(at)) == at
