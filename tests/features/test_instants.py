"""Instants: what is read, what is refused, and that what is read can always be shown again."""

import pytest

from features.instants import format_instant, parse_instant


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-03-02T15:04:05Z", "2026-03-02T15:04:05.000Z"),
        ("2026-03-02t15:04:05z", "2026-03-02T15:04:05.000Z"),
        ("2026-03-02T15:04:05.123456789+02:00", "2026-03-02T13:04:05.123Z"),
        ("2026-03-02", "2026-03-02T00:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
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
        "2026-03-02T15:04:05Z" + "0" * 1_000_000,
        "soon",
        "",
    ],
)
def test_given_no_moment_that_utc_can_show_when_it_is_read_then_it_is_none(text: str) -> None:
    assert parse_instant(text) is None
