"""The expected time of an append follows the last ones, up and down, and forgets."""

import pytest

from clearhold.store.redis_log.pipeline import AT_LEAST_S, AppendTimes


def times_of(*took_s: float) -> AppendTimes:
    times = AppendTimes()
    for each in took_s:
        times.note(each, now=0.0)
    return times


def test_given_no_append_then_the_least_is_expected() -> None:
    assert AppendTimes().expected_s(now=100.0) == AT_LEAST_S


def test_given_even_appends_then_their_time_is_expected() -> None:
    assert times_of(*[0.004] * 60).expected_s(now=0.0) == pytest.approx(0.004, rel=0.1)


def test_given_one_slow_append_then_more_than_it_is_expected_until_others_were_quick() -> None:
    usual = [0.004] * 60

    assert times_of(*usual, 0.2).expected_s(now=0.0) > 0.2
    assert times_of(*usual, 0.2, *[0.004] * 20).expected_s(now=0.0) < 0.02


def test_given_time_without_an_append_then_what_was_learnt_halves_each_second() -> None:
    times = times_of(*[1.5] * 20)

    assert times.expected_s(now=3.0) == pytest.approx(times.expected_s(now=0.0) / 8)
    assert times.expected_s(now=60.0) == AT_LEAST_S
