"""What becomes of a delivery after each attempt, to the minute; and when an endpoint is given up."""

from typing import Final

import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US
from clearhold.features.webhooks.delivery import (
    MAX_ATTEMPTS,
    SPREAD_US,
    Attempt,
    AttemptError,
    DeliveryState,
    DeliveryStatus,
    answered,
    is_given_up,
    redelivered,
    settled,
    spread_of,
)
from tests.support.clock import T0

FAILURE: Final = Attempt(None, AttemptError.TIMEOUT)
MINUTES: Final = (2, 4, 8, 16, 32, 64, 128, 256, 360)
"""Between attempts: 14.5 hours in all."""


def test_given_a_receiver_that_is_down_when_attempted_then_each_pause_is_twice_the_last_up_to_six_hours() -> None:
    state, now = DeliveryState(next_attempt_at=T0), T0
    for number, minutes in enumerate(MINUTES, 1):
        state = settled(state, FAILURE, now=now)
        assert (state.status, state.attempts) == (DeliveryStatus.FAILED, number)
        assert state.next_attempt_at == now + minutes * MINUTE_US
        now = state.next_attempt_at + 3
    last = settled(state, FAILURE, now=now)
    assert (last.status, last.attempts, last.last_error) == (DeliveryStatus.EXHAUSTED, 10, AttemptError.TIMEOUT)
    assert now - T0 - len(MINUTES) * 3 == 870 * MINUTE_US


def test_given_failures_when_the_receiver_accepts_then_it_is_delivered_and_the_error_is_gone() -> None:
    failed = settled(DeliveryState(next_attempt_at=T0), FAILURE, now=T0)

    state = settled(failed, answered(204), now=T0 + HOUR_US)

    assert (state.status, state.attempts, state.delivered_at) == (DeliveryStatus.DELIVERED, 2, T0 + HOUR_US)
    assert (state.last_status_code, state.last_error, state.version) == (204, None, 2)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (200, None),
        (299, None),
        (199, AttemptError.HTTP_STATUS),
        (301, AttemptError.REDIRECT),
        (399, AttemptError.REDIRECT),
        (404, AttemptError.HTTP_STATUS),
        (503, AttemptError.HTTP_STATUS),
    ],
)
def test_given_an_answer_then_only_2xx_is_success(status: int, error: AttemptError | None) -> None:
    assert answered(status) == Attempt(status, error)


def test_given_a_receiver_that_is_gone_when_attempted_then_there_is_no_further_attempt() -> None:
    state = settled(DeliveryState(next_attempt_at=T0), answered(410), now=T0)

    assert (state.status, state.attempts, state.last_status_code) == (DeliveryStatus.EXHAUSTED, 1, 410)


@pytest.mark.parametrize("attempts", [1, MAX_ATTEMPTS])
def test_given_a_delivery_when_asked_for_again_then_it_is_due_and_its_attempts_stay_counted(attempts: int) -> None:
    state = DeliveryState(status=DeliveryStatus.EXHAUSTED, attempts=attempts, next_attempt_at=T0, version=7)

    again = redelivered(state, now=T0 + DAY_US)

    assert (again.status, again.attempts, again.next_attempt_at) == (DeliveryStatus.PENDING, attempts, T0 + DAY_US)
    assert (again.delivered_at, again.version) == (None, 8)
    failed = settled(again, FAILURE, now=T0 + DAY_US)
    assert failed.status is (DeliveryStatus.EXHAUSTED if attempts == MAX_ATTEMPTS else DeliveryStatus.FAILED)


def test_given_retries_of_one_moment_then_they_are_spread_over_ten_seconds_and_what_is_pending_is_not() -> None:
    ids = [f"00000000-0000-5000-8000-0000{number << 26:08x}" for number in range(64)]
    spread = [spread_of(each, DeliveryStatus.FAILED) for each in ids]

    assert len(set(spread)) == 64
    assert 0 <= min(spread) < SPREAD_US / 8
    assert SPREAD_US * 7 / 8 < max(spread) < SPREAD_US
    assert {spread_of(each, DeliveryStatus.PENDING) for each in ids} == {0}


@pytest.mark.parametrize(
    ("days", "has_exhausted", "expected"), [(5, True, True), (4.99, True, False), (5, False, False)]
)
def test_given_an_endpoint_then_it_is_given_up_after_five_days_with_an_exhausted_delivery(
    days: float, *, has_exhausted: bool, expected: bool
) -> None:
    now = T0 + int(days * DAY_US)

    assert is_given_up(last_accepted_at=T0, has_exhausted=has_exhausted, now=now) is expected
