"""What a program remembers of scores: the strongest transfers in any order, and the last score of each subject."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.instants import DAY_US
from clearhold.features.scorers.ers_v1 import decayed
from clearhold.features.state.score_memory import NO_TRANSFER, LastScores, StrongestTransfers, packed_shares

TODAY: Final = 20_600
transfers = st.lists(
    st.tuples(st.integers(0, 2**32 - 2), st.integers(0, 100), st.integers(TODAY - 200, TODAY)),
    unique_by=lambda each: each[0],
)


def strongest_of(of: list[tuple[int, int, int]], *, index: int = 0) -> StrongestTransfers:
    strongest = StrongestTransfers()
    for row, score, day in of:
        strongest.add(index, row, day * DAY_US + 1, score, shares=packed_shares(score // 2, score // 3))
    return strongest


@given(of=transfers, mixed=st.randoms(use_true_random=False))
def test_given_transfers_in_any_order_then_the_same_strongest_is_known_with_its_own_points(
    of: list[tuple[int, int, int]], mixed: object
) -> None:
    shuffled = list(of)
    mixed.shuffle(shuffled)  # type: ignore[attr-defined]

    best = strongest_of(of).best(0)

    assert strongest_of(shuffled).best(0) == best
    score, day, *shares = best
    assert decayed(score, TODAY - day) == max((decayed(score, TODAY - day) for _, score, day in of), default=0)
    assert shares == [score // 2, score // 3]


@given(of=transfers.filter(len), again=st.lists(st.integers(0, 100), min_size=1, max_size=30))
def test_given_transfers_scored_again_then_the_strongest_is_the_one_of_what_stands(
    of: list[tuple[int, int, int]], again: list[int]
) -> None:
    strongest, standing = strongest_of(of), {row: (score, day) for row, score, day in of}
    by_strength = sorted(of, key=lambda each: decayed(each[1], TODAY - each[2]), reverse=True)

    for (row, _, day), score in zip(by_strength, again, strict=False):
        strongest.drop(0, row)
        strongest.add(0, row, day * DAY_US, score)
        standing[row] = (score, day)

    best, its_day, *_ = strongest.best(0)
    assert decayed(best, TODAY - its_day) == max(decayed(s, TODAY - day) for s, day in standing.values())


def test_given_a_new_score_then_it_is_said_whether_it_is_the_strongest() -> None:
    strongest = StrongestTransfers()
    day = TODAY * DAY_US

    given_scores = (30, 20, 40, 40, 10)
    is_strongest = [strongest.add(0, row, day, score) for row, score in enumerate(given_scores)]

    assert is_strongest == [True, False, True, False, False]


def test_given_one_actors_transfers_then_another_has_none_of_them() -> None:
    strongest = strongest_of([(1, 50, TODAY)], index=3)

    assert strongest.best(3) == (50, TODAY, 25, 16)
    assert [strongest.best(index) for index in (0, 2, 4, 400)] == [NO_TRANSFER] * 4


@given(of=transfers, mixed=st.lists(st.integers(0, 40), max_size=40), owner=st.sampled_from((0, 5)))
def test_given_many_transfers_when_some_are_dropped_and_the_rest_loaded_then_the_strongest_is_of_the_rest(
    of: list[tuple[int, int, int]], mixed: list[int], owner: int
) -> None:
    strongest, rest = strongest_of(of), dict(enumerate(of))
    if owner:
        strongest.merge(0, owner)
    for place in mixed:
        transfer = rest.pop(place, None)
        if transfer is not None:
            strongest.drop(owner, transfer[0])
    loaded = StrongestTransfers()
    loaded.load(strongest.dump())

    score, day, *_ = loaded.best(owner)
    expected = max((decayed(each, TODAY - its) for _, each, its in rest.values()), default=0)
    assert decayed(score, TODAY - day) == expected


@pytest.mark.parametrize("at", [-(10**17), 10**18])
def test_given_an_instant_far_off_then_its_score_is_kept_all_the_same(at: int) -> None:
    strongest = StrongestTransfers()

    strongest.add(0, 1, at, 100)

    assert strongest.best(0)[0] == 100


def test_given_last_scores_when_another_comes_then_it_is_told_apart_by_points_null_and_hard() -> None:
    last = LastScores()
    last.instant(7, 5)

    changes = [
        last.exchange(7, value, hard=hard)
        for value, hard in ((None, False), (None, True), (0, True), (0, True), (0, False), (100, False), (None, False))
    ]

    assert changes == [False, True, True, False, True, True, True]


def test_given_a_mark_then_it_is_remembered_beside_the_score_and_makes_no_other_score() -> None:
    last = LastScores()
    last.instant(0, 5)
    last.exchange(0, 30, hard=False, mark=True)

    assert last.is_marked(0)
    assert not last.is_marked(1)
    assert not last.exchange(0, 30, hard=False)
    assert not last.is_marked(0)


def test_given_an_earlier_instant_then_a_subject_is_evaluated_at_its_latest() -> None:
    last = LastScores()

    assert [last.instant(0, at) for at in (5, 9, 7)] == [5, 9, 9]
    assert last.instant(1, 2) == 2


def test_given_a_scored_subject_then_it_is_due_once_a_day() -> None:
    last = LastScores()
    assert last.is_due(0, DAY_US)
    last.instant(0, DAY_US)
    last.exchange(0, None, hard=True)
    assert last.is_due(0, DAY_US + 1)

    last.exchange(0, 0, hard=False)

    assert [last.is_due(0, at) for at in (DAY_US, 2 * DAY_US - 1, 2 * DAY_US)] == [False, False, True]


def test_given_an_actor_without_others_when_it_gets_some_again_then_the_dump_is_the_one_after_a_load() -> None:
    straight = StrongestTransfers()
    for index in (1, 0):
        for row in range(5):
            straight.add(index, 10 * index + row, TODAY * DAY_US, 50 + row)
    straight.drop(1, 10)  # the weakest, which is the only other one of its actor
    loaded = StrongestTransfers()
    loaded.load(straight.dump())

    for memory in (straight, loaded):
        memory.add(1, 19, TODAY * DAY_US, 10)

    assert loaded.dump() == straight.dump()
