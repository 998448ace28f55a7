"""A score fades by half in 14 days, in whole points, and the strongest of several stays the strongest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.scorers.ers_v1 import day_of, decayed, fades_at

scores = st.integers(1, 100)
days = st.integers(0, 120)


@pytest.mark.parametrize("points", range(101))
def test_given_a_score_then_it_is_whole_today_and_halved_cut_to_points_every_14_days(points: int) -> None:
    assert [decayed(points, 14 * halvings) for halvings in range(8)] == [points >> halvings for halvings in range(8)]


@given(points=scores, age=days)
def test_given_any_age_then_what_is_left_is_the_floor_of_the_exponential(points: int, age: int) -> None:
    left = points * 2 ** (-age / 14)

    assert left - 1.01 < decayed(points, age) <= left * 1.001


@given(scored=st.lists(st.tuples(scores, days), min_size=1), later=days)
def test_given_several_scores_then_the_one_that_fades_last_is_the_most_today_and_ever_after(
    scored: list[tuple[int, int]], later: int
) -> None:
    today = max(day for _, day in scored) + later
    strongest, day = max(scored, key=lambda each: fades_at(*each))

    assert decayed(strongest, today - day) == max(decayed(points, today - its_day) for points, its_day in scored)
    assert day_of(fades_at(strongest, day), strongest) == day
