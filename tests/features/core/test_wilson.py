"""The interval of Wilson, held against published figures and its own bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.measured import wilson_interval


@pytest.mark.parametrize(
    ("part", "n", "low", "high"),
    # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_given_published_examples_then_the_interval_is_theirs(part: int, n: int, low: float, high: float) -> None:
    interval = wilson_interval(part, n)

    assert interval is not None
    assert (round(interval[0], 4), round(interval[1], 4)) == (low, high)


def test_given_no_observation_then_there_is_no_interval() -> None:
    assert wilson_interval(0, 0) is None


@given(st.integers(1, 10**9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_given_any_share_then_the_interval_holds_it_and_lies_between_0_and_1(share: tuple[int, int]) -> None:
    part, n = share
    interval = wilson_interval(part, n)

    assert interval is not None
    low, high = interval
    assert 0 <= low <= part / n <= high <= 1
