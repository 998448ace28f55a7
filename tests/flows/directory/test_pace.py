"""How fast a tenant's part of the bank's API is asked, and when it is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.instants import HOUR_US, MINUTE_US, SECOND_US
from clearhold.flows.directory.waiting import MAX_BACKOFF_US, MAX_RETRY_AFTER_US, MAX_TURNS_AHEAD, PAUSE_US, TenantPace
from tests.support.clock import T0

KEY = "test_key_of_the_bank"


def ready_after(pace: TenantPace, *, now: int, key: str = KEY) -> int:
    """The shortest time after which the bank may be asked, to the tenth of a second."""
    tenth = SECOND_US // 10
    return next(wait for wait in range(0, 2 * HOUR_US, tenth) if pace.is_ready(key, now=now + wait))


def test_given_turns_at_once_then_they_are_evenly_spread() -> None:
    pace = TenantPace(per_second=20)

    assert [pace.take_turn(now=T0) for _ in range(4)] == [0, 50_000, 100_000, 150_000]
    assert pace.take_turn(now=T0 + SECOND_US) == 0


@given(st.integers(1, 1_000), st.lists(st.integers(0, 3 * SECOND_US), max_size=50))
def test_given_any_rate_and_pauses_then_no_second_has_more_turns_than_the_rate(rate: int, pauses: list[int]) -> None:
    pace, now, turns = TenantPace(per_second=rate), T0, list[int]()
    for pause in pauses:
        now += pause
        turns.append(now + pace.take_turn(now=now))
        now = turns[-1]  # whoever takes a turn waits for it

    assert turns == sorted(turns)
    assert all(sum(at <= turn < at + SECOND_US for turn in turns) <= rate + 1 for at in turns)


def test_given_a_clock_that_stepped_back_then_a_turn_is_not_waited_for_that_long() -> None:
    pace = TenantPace(per_second=1)
    pace.take_turn(now=T0)

    assert pace.take_turn(now=T0 - HOUR_US) == 0
    assert MAX_TURNS_AHEAD > 4, "four are waited for at once"


def test_given_failures_then_each_pause_is_twice_as_long_up_to_the_longest() -> None:
    pace, now, pauses = TenantPace(per_second=20), T0, list[int]()
    for _ in range(12):
        pace.note_failure(now=now)
        pauses.append(ready_after(pace, now=now))
        now += pauses[-1]

    assert pauses[:4] == [SECOND_US, 2 * SECOND_US, 4 * SECOND_US, 8 * SECOND_US]
    assert pauses[-2:] == [MAX_BACKOFF_US] * 2


def test_given_requests_that_fail_together_then_they_count_once_and_one_line_says_so() -> None:
    pace = TenantPace(per_second=20)

    assert [pace.note_failure(now=T0) for _ in range(4)] == [True, False, False, False]
    assert ready_after(pace, now=T0) == SECOND_US
    assert [pace.note_success() for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("retry_after_us", "wait"),
    [(30 * SECOND_US, 30 * SECOND_US), (0, SECOND_US), (None, SECOND_US), (9 * HOUR_US, MAX_RETRY_AFTER_US)],
)
def test_given_a_retry_after_then_it_is_waited_for_within_reason(retry_after_us: int | None, wait: int) -> None:
    pace = TenantPace(per_second=20)
    pace.note_failure(now=T0, retry_after_us=retry_after_us)
    pace.note_success()  # of a request that was under way

    assert ready_after(pace, now=T0) == wait


def test_given_a_refused_key_then_it_is_paused_and_another_one_is_not() -> None:
    pace = TenantPace(per_second=20)

    assert [pace.note_refusal(KEY, now=T0) for _ in range(2)] == [True, False]
    assert pace.is_paused(now=T0)
    assert ready_after(pace, now=T0) == PAUSE_US == 15 * MINUTE_US
    assert not pace.is_paused(now=T0 + PAUSE_US)
    assert pace.is_ready("test_another_key", now=T0)
    assert not pace.is_paused(now=T0)


def test_given_a_refused_key_that_is_taken_after_all_then_the_pause_ends() -> None:
    pace = TenantPace(per_second=20)
    pace.note_refusal(KEY, now=T0)

    assert pace.note_success()
    assert pace.is_ready(KEY, now=T0)
