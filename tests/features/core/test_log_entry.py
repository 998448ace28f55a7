"""Event time: the bank's creation time, clamped to append time."""

import pytest

from clearhold.features.core.log_entry import event_time
from tests.support.clock import T0


@pytest.mark.parametrize(
    ("created_at", "expected"),
    [(T0 - 1, T0 - 1), (T0, T0), (T0 + 1, T0)],
    ids=["loaded late", "at once", "in the future"],
)
def test_given_an_event_when_it_is_appended_then_its_time_is_its_creation_and_never_later_than_the_append(
    created_at: int, expected: int
) -> None:
    assert event_time(created_at, appended_at=T0) == expected
