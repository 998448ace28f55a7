"""The oracle, and the state with it, against values that were worked out by hand from the definitions."""

import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.windows.recency import start_of, week_of
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import NOBODY, STRANGER, oracle_story


def test_given_hops_on_every_limit_when_the_last_lands_then_all_are_one_chain() -> None:
    story = oracle_story("enti_1", "enti_2", "enti_3")
    story.wire("enti_1", "enti_2", 100_000, 0)
    story.wire("enti_2", "enti_3", 105_000, 72 * HOUR_US)

    vector = story.wire("enti_3", "cpty_9", 84_000, 72 * HOUR_US)

    assert (vector.typology_layering_hops, vector.layering_least_cents) == (3, 84_000)
    assert vector.typology_round_trip is False


@pytest.mark.parametrize(
    ("second", "gap", "third"),
    [(105_001, 72 * HOUR_US, 84_001), (79_999, HOUR_US, 80_000), (100_000, 72 * HOUR_US + 1, 80_000)],
)
def test_given_a_first_hop_beyond_a_limit_when_the_last_lands_then_the_chain_begins_after_it(
    second: int, gap: int, third: int
) -> None:
    story = oracle_story("enti_1", "enti_2", "enti_3")
    story.wire("enti_1", "enti_2", 100_000, 0)
    story.wire("enti_2", "enti_3", second, gap)

    vector = story.wire("enti_3", "cpty_9", third, gap + HOUR_US)

    assert vector.typology_layering_hops == (2 if third * 100 >= second * 80 else 0)


def test_given_no_edge_before_when_a_transfer_lands_then_there_is_no_chain() -> None:
    vector = oracle_story().wire("enti_1", "cpty_1", 100_000, 0)

    assert (vector.typology_layering_hops, vector.layering_least_cents) == (0, None)


def test_given_nobody_who_acts_when_a_transfer_lands_then_the_graph_is_not_measured() -> None:
    vector = oracle_story().wire("enti_1", "cpty_1", 100_000, 0, entity_id=None)

    assert (vector.typology_layering_hops, vector.typology_round_trip, vector.layering_least_cents) == (
        None,
        None,
        None,
    )
    assert (vector.fan_out_count_24h, vector.repeated_amount_count_24h, vector.entity_out_cents_48h) == (0, 0, 0)


def test_given_eight_hops_when_the_last_lands_then_six_are_told() -> None:
    story = oracle_story(*(f"enti_{n}" for n in range(9)))
    for n in range(7):
        story.wire(f"enti_{n}", f"enti_{n + 1}", 100_000 - n, n * HOUR_US)

    vector = story.wire("enti_7", "enti_8", 99_000, 7 * HOUR_US)

    assert (vector.typology_layering_hops, vector.layering_least_cents) == (6, 99_000)


def test_given_two_chains_as_long_when_the_last_lands_then_the_newest_is_told() -> None:
    story = oracle_story("enti_1", "enti_2")
    story.wire("cpty_1", "enti_1", 100_000, 0)
    story.wire("cpty_2", "enti_1", 98_000, HOUR_US)

    vector = story.wire("enti_1", "cpty_9", 99_000, 2 * HOUR_US)

    assert (vector.typology_layering_hops, vector.layering_least_cents) == (2, 98_000)


@pytest.mark.parametrize(("after", "is_trip"), [(7 * DAY_US - 1, True), (7 * DAY_US, False)])
def test_given_four_hops_before_when_the_last_returns_to_the_first_then_it_is_a_trip_within_seven_days(
    after: int, *, is_trip: bool
) -> None:
    story = oracle_story("enti_1", "enti_2", "enti_3", "enti_4", "enti_5")
    story.deliver("account.created", bank.an_account(id="bacc_1", owners=["enti_1"]))
    for n in range(4):
        story.wire(f"enti_{n + 1}", f"enti_{n + 2}", 100_000, n * DAY_US)

    vector = story.wire("enti_5", "bacc_1", 80_000, after)
    soon = story.wire("enti_5", "bacc_1", 80_000, 6 * DAY_US)

    assert (vector.typology_round_trip, vector.typology_layering_hops) == (is_trip, 0)
    assert (soon.typology_round_trip, soon.typology_layering_hops) == (True, 4)


@pytest.mark.parametrize(("before", "is_trip"), [(4, True), (5, False)])
def test_given_hops_before_the_last_when_value_comes_back_then_at_most_four_make_a_trip(
    before: int, *, is_trip: bool
) -> None:
    story = oracle_story(*(f"enti_{n}" for n in range(before)))
    for n in range(before):
        story.wire(f"enti_{n}", f"enti_{n + 1}" if n + 1 < before else "cpty_1", 100_000, n)

    vector = story.wire("cpty_1", "enti_0", 80_000, HOUR_US)

    assert (vector.typology_round_trip, vector.typology_layering_hops) == (is_trip, before)


@pytest.mark.parametrize(("back", "is_trip"), [(80_000, True), (79_999, False), (105_001, False)])
def test_given_value_that_left_when_a_share_comes_back_then_it_is_a_trip_from_four_fifths_on(
    back: int, *, is_trip: bool
) -> None:
    story = oracle_story("enti_1", "enti_2")
    story.wire("enti_1", "enti_2", 100_000, 0)

    vector = story.wire("enti_2", "enti_1", back, HOUR_US)

    assert (vector.typology_round_trip, vector.typology_layering_hops) == (is_trip, 0)


def test_given_a_stranger_who_gets_back_what_he_paid_when_it_lands_then_it_is_no_trip() -> None:
    story = oracle_story("enti_1")
    story.wire("cpty_1", "enti_1", 100_000, 0)

    vector = story.wire("enti_1", "cpty_1", 100_000, HOUR_US)

    assert (vector.typology_round_trip, vector.typology_layering_hops) == (False, 0)


def test_given_an_account_that_was_unknown_at_first_when_it_pays_then_it_stays_a_stranger_of_the_graph() -> None:
    story = oracle_story("enti_1")
    story.wire("enti_1", "bacc_7", 100_000, 0)
    story.deliver("account.created", bank.an_account(id="bacc_7", owners=["enti_7"]), at=T0 + HOUR_US)
    story.deliver("account.created", bank.an_account(id="bacc_8", owners=["enti_7"]), at=T0 + HOUR_US)

    story.wire("enti_1", "bacc_7", 100_000, 2 * HOUR_US)
    before = story.wire("enti_7", "cpty_9", 100_000, 2 * HOUR_US)
    story.wire("enti_1", "bacc_8", 100_000, 3 * HOUR_US)
    after = story.wire("enti_7", "cpty_9", 100_000, 4 * HOUR_US)

    assert (before.typology_layering_hops, before.gathered_count_24h) == (0, 0)
    assert (after.typology_layering_hops, after.gathered_count_24h) == (2, 1)


def test_given_a_hop_that_is_corrected_when_others_land_around_it_then_each_sees_what_was_known() -> None:
    story = oracle_story("enti_1", "enti_2")
    wrong = bank.a_wire(
        id="trf_x", entity_id="enti_1", bank_account_id=None, counterparty_id="enti_2", amount=1, **NOBODY
    )
    story.transfer("wire.outgoing_transfer.completed", wrong | {"created_at": bank.rfc3339(T0 + 1)}, 1)
    right = wrong | {"amount": 100_000, "created_at": bank.rfc3339(T0 + 1), "updated_at": bank.rfc3339(T0 + HOUR_US)}
    story.deliver("wire.outgoing_transfer.completed", right, at=T0 + HOUR_US)

    late = story.wire("enti_2", "cpty_1", 100_000, HOUR_US - 1)
    after = story.wire("enti_2", "cpty_2", 100_000, HOUR_US)

    assert (late.typology_layering_hops, after.typology_layering_hops) == (0, 2)


@pytest.mark.parametrize(("noise", "hops"), [(63, 2), (64, 0)])
def test_given_newer_edges_when_more_than_64_are_then_the_older_one_is_not_looked_at(noise: int, hops: int) -> None:
    story = oracle_story("enti_1")
    story.wire("cpty_1", "enti_1", 100_000, 0)
    for n in range(noise):
        story.wire("cpty_2", "enti_1", 1, n)

    vector = story.wire("enti_1", "cpty_9", 100_000, HOUR_US)

    assert vector.typology_layering_hops == hops
    assert (vector.fan_in_count_24h, vector.gathered_count_24h) == (1, 2)


@pytest.mark.parametrize(("last", "hops"), [(61, 3), (62, 2)])
def test_given_four_branches_of_edges_when_they_are_walked_then_the_search_ends_at_256(last: int, hops: int) -> None:
    story = oracle_story("enti_0", "enti_1", "enti_2", "enti_3", "enti_4", "enti_5")
    for n in range(1, 5):
        for _ in range(last if n == 1 else 63):
            story.wire("cpty_1", f"enti_{n}", 1, 0)
    story.wire("cpty_1", "enti_5", 100_000, 0)
    story.wire("enti_5", "enti_0", 100_000, 1)
    for n in range(1, 5):
        story.wire(f"enti_{n}", "enti_0", 100_000, 2)

    vector = story.wire("enti_0", "cpty_9", 100_000, HOUR_US)

    assert vector.typology_layering_hops == hops


def test_given_middles_that_one_third_paid_when_they_pay_one_target_then_those_paid_in_time_count() -> None:
    story = oracle_story("enti_1", "enti_2", "enti_3", "enti_4")
    story.wire("cpty_1", "enti_1", 100, 0)
    story.wire("enti_1", "cpty_9", 100, HOUR_US)
    story.wire("enti_2", "cpty_9", 100, HOUR_US)
    story.wire("cpty_1", "enti_2", 100, 2 * HOUR_US)
    two = story.wire("enti_2", "cpty_9", 100, 2 * HOUR_US)
    story.wire("cpty_1", "enti_3", 100, 3 * HOUR_US)
    story.wire("cpty_2", "enti_3", 100, 3 * HOUR_US)

    three = story.wire("enti_3", "cpty_9", 100, 3 * HOUR_US)
    unpaid = story.wire("enti_4", "cpty_9", 100, 4 * HOUR_US)
    week = story.wire("enti_3", "cpty_9", 100, 7 * DAY_US + 2 * HOUR_US)

    assert (two.scatter_gather_middles, three.scatter_gather_middles) == (0, 3)
    assert (unpaid.scatter_gather_middles, week.scatter_gather_middles) == (0, 0)


@pytest.mark.parametrize(("last", "middles"), [(62, 4), (63, 3)])
def test_given_middles_with_many_payers_when_thirds_are_looked_for_then_the_search_ends_at_256(
    last: int, middles: int
) -> None:
    story = oracle_story("enti_1", "enti_2", "enti_3", "enti_4")
    for n, noise in ((1, 0), (2, last), (3, 63), (4, 63)):
        story.wire("cpty_1", f"enti_{n}", 100, 0)
        for _ in range(noise):
            story.wire("cpty_2", f"enti_{n}", 1, 1)
        story.wire(f"enti_{n}", "cpty_9", 100, HOUR_US + n)
    for _ in range(61):
        story.wire("enti_5", "cpty_9", 1, HOUR_US)

    vector = story.wire("enti_4", "cpty_9", 100, 2 * HOUR_US)

    assert vector.scatter_gather_middles == middles


@pytest.mark.parametrize(
    ("after", "week"),
    [(-1, None), (0, 3), (7 * DAY_US - 1, 3), (7 * DAY_US, 2), (14 * DAY_US, 0), (84 * DAY_US, 0)],
)
def test_given_three_payers_in_a_week_when_weeks_are_completed_then_their_median_is_the_usual_one(
    after: int, week: int | None
) -> None:
    story = oracle_story("enti_1")
    monday = start_of(week_of(T0) + 1) - T0
    for n in range(6):
        story.wire(f"cpty_{n % 3}", "enti_1", 100, monday - 3 * HOUR_US + n)

    vector = story.wire("cpty_9", "enti_1", 100, monday + after)
    out = story.wire("enti_1", "cpty_8", 100, monday + after)

    assert (vector.fan_in_usual_week, vector.gathered_usual_week, vector.fan_out_usual_week) == (week, None, None)
    assert (out.fan_in_usual_week, out.gathered_usual_week, out.fan_out_usual_week) == (None, week, None)


def test_given_edges_that_are_called_off_when_a_fan_is_counted_then_they_count_until_then() -> None:
    story = oracle_story("enti_1")
    story.wire("cpty_1", "enti_1", 100, 0)
    gone = bank.a_wire(id="trf_x", entity_id="enti_1", counterparty_id="cpty_2", is_incoming=True, **STRANGER)
    gone |= {"bank_account_id": None, "created_at": bank.rfc3339(T0 + 1)}
    story.deliver("wire.incoming_transfer.completed", gone, at=T0 + 1)
    story.deliver("wire.incoming_transfer.canceled", gone | {"status": "CANCELED", "updated_at": None}, at=T0 + HOUR_US)

    late = story.wire("cpty_3", "enti_1", 100, HOUR_US - 1)
    after = story.wire("cpty_3", "enti_1", 100, HOUR_US)
    day = story.wire("enti_1", "cpty_9", 100, DAY_US + 1)

    assert (late.fan_in_count_24h, late.gathered_count_24h) == (3, 0)
    assert (after.fan_in_count_24h, after.fan_out_count_24h) == (2, 1)
    assert (day.gathered_count_24h, day.gathered_count_7d, day.fan_in_count_24h) == (1, 2, 1)
