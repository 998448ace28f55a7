"""What an entity had with a party before, against values worked out by hand. The oracle answers each story too."""

import pytest

from clearhold.features.core.instants import HOUR_US
from tests.support.few_transfers import let_few_suffice
from tests.support.stories import oracle_story


def test_given_a_party_that_the_program_knows_when_another_entity_pays_it_then_its_own_past_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_few_suffice(monkeypatch, 3)
    story = oracle_story("enti_1", "enti_2")
    for hour in range(4):
        story.wire("enti_1", "cpty_1", 1, hour * HOUR_US)
        story.wire("enti_2", "cpty_2", 1, hour * HOUR_US)

    own = story.wire("enti_1", "cpty_1", 1, 5 * HOUR_US)
    others = story.wire("enti_2", "cpty_1", 1, 5 * HOUR_US)

    assert (own.counterparty_n, own.pair_count_of_newest_64) == (4, 4)
    assert (others.counterparty_n, others.pair_count_of_newest_64) == (5, 0)


def test_given_money_both_ways_and_at_one_instant_then_only_what_went_the_same_way_before_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_few_suffice(monkeypatch, 3)
    story = oracle_story("enti_1")
    for hour in range(3):
        story.wire("enti_1", "cpty_1", 1, hour * HOUR_US)
    story.wire("cpty_1", "enti_1", 1, 3 * HOUR_US)
    at_once = story.wire("enti_1", "cpty_1", 1, 4 * HOUR_US)

    again = story.wire("enti_1", "cpty_1", 1, 4 * HOUR_US)
    back = story.wire("cpty_1", "enti_1", 1, 4 * HOUR_US)

    assert [each.pair_count_of_newest_64 for each in (at_once, again, back)] == [3, 3, 1]


def test_given_sixty_transfers_then_the_newest_64_are_looked_at_and_below_sixty_nothing_is_told() -> None:
    story = oracle_story("enti_1")
    for number in range(5):
        story.wire("enti_1", "cpty_1", 1, number * HOUR_US)
    few = [story.wire("enti_1", "cpty_2", 1, (5 + number) * HOUR_US) for number in range(55)][-1]

    sixty = story.wire("enti_1", "cpty_1", 1, 60 * HOUR_US)
    more = [story.wire("enti_1", "cpty_2", 1, (61 + number) * HOUR_US) for number in range(3)][-1]
    last = story.wire("enti_1", "cpty_1", 1, 64 * HOUR_US)
    later = story.wire("enti_1", "cpty_1", 1, 65 * HOUR_US)

    assert (few.pair_count_of_newest_64, sixty.pair_count_of_newest_64) == (None, 5)
    assert more.pair_count_of_newest_64 == 57
    assert (last.pair_count_of_newest_64, later.pair_count_of_newest_64) == (6, 6)
