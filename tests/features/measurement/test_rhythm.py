"""An actor's pace, hours and usual amounts, and money that goes on or back, against values worked out by hand.

The oracle answers each story too.
"""

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from tests.support import bank_events as bank
from tests.support.stories import oracle_story

MINUTE_US = 60 * SECOND_US


def test_given_ten_amounts_then_nine_of_ten_are_at_most_the_ninth_and_below_five_nothing_is_told() -> None:
    story = oracle_story("enti_1")
    fifth = [story.wire("enti_1", "cpty_1", cents, n * DAY_US) for n, cents in enumerate((9, 8, 7, 6, 5, 4))][4:]

    for n, cents in enumerate((300, 100, 200, 10)):
        story.wire("enti_1", "cpty_1", cents, (6 + n) * DAY_US)
    ten = story.wire("enti_1", "cpty_1", 1, 10 * DAY_US)

    assert [vector.entity_p90_cents_90d for vector in fifth] == [None, 8]
    assert ten.entity_p90_cents_90d == 200


def test_given_transfers_within_hours_then_the_one_at_the_end_of_a_window_is_counted_and_at_its_beginning_is_not() -> (
    None
):
    story = oracle_story("enti_1")
    for at in (0, 5 * HOUR_US, 5 * HOUR_US + 1):
        story.wire("enti_1", "cpty_1", 100, at)

    last = story.wire("cpty_2", "enti_1", 100, 6 * HOUR_US)

    assert (last.velocity_count_1h, last.velocity_count_6h) == (2, 3)
    assert (last.entity_received_count_6h, last.entity_paid_count_6h, last.entity_received_cents_2h) == (1, 2, 0)


def test_given_money_that_came_in_by_card_and_wire_when_it_goes_on_then_that_of_two_hours_before_is_told() -> None:
    story = oracle_story("enti_1")
    story.deliver("account.created", bank.an_account(id="bacc_1", owners=["enti_1"]))
    story.wire("cpty_1", "enti_1", 1_000, 0)
    story.wire("cpty_2", "enti_1", 20, 1)
    story.card("bacc_1", 300, HOUR_US)

    out = story.wire("enti_1", "cpty_3", 7, 2 * HOUR_US)

    assert (out.entity_received_cents_2h, out.entity_received_count_6h, out.entity_paid_count_6h) == (20, 2, 2)


def test_given_new_parties_when_six_hours_pass_then_those_within_them_are_counted_once_each() -> None:
    story = oracle_story("enti_1")
    story.wire("enti_1", "cpty_1", 1, 0)
    story.wire("cpty_1", "enti_1", 1, HOUR_US)
    again = story.wire("enti_1", "cpty_1", 1, 2 * HOUR_US)

    new = story.wire("enti_1", "cpty_2", 1, 6 * HOUR_US)

    assert (again.entity_new_parties_6h, new.entity_new_parties_6h) == (2, 2)


def test_given_twenty_transfers_at_two_hours_of_the_day_then_this_one_is_held_against_them_around_midnight_too() -> (
    None
):
    story = oracle_story("enti_1")
    midnight = 9 * HOUR_US  # T0 is at 15:00
    for day in range(19):
        story.wire("enti_1", "cpty_1", 1, day * DAY_US + midnight - 40 * MINUTE_US)
    nineteen = story.wire("enti_1", "cpty_1", 1, 19 * DAY_US)

    near = story.wire("enti_1", "cpty_1", 1, 19 * DAY_US + midnight + 50 * MINUTE_US)
    beyond = story.wire("enti_1", "cpty_1", 1, 19 * DAY_US + midnight + 51 * MINUTE_US)

    assert (nineteen.entity_usual_hour_percent, near.entity_usual_hour_percent) == (None, 95)
    assert beyond.entity_usual_hour_percent == 4


def test_given_a_purchase_when_it_is_paid_back_then_the_newest_payment_the_other_way_of_a_day_is_told() -> None:
    story = oracle_story("enti_1")
    story.wire("enti_1", "cpty_1", 500, 0)
    story.wire("enti_1", "cpty_1", 800, HOUR_US)
    story.wire("enti_1", "cpty_2", 900, 2 * HOUR_US)

    back, other, late = (
        story.wire("cpty_1", "enti_1", 790, 3 * HOUR_US),
        story.wire("cpty_3", "enti_1", 1, 3 * HOUR_US),
        story.wire("cpty_1", "enti_1", 790, 25 * HOUR_US),
    )

    told = [vector.pair_other_way_cents_24h for vector in (back, other, late)]
    assert told == [800, None, None]


def test_given_payments_in_a_row_when_each_is_within_two_hours_then_they_are_hops_whatever_their_amounts() -> None:
    story = oracle_story("enti_1", "enti_2", "enti_3")
    hop = 2 * HOUR_US - 1
    story.wire("cpty_0", "enti_1", 5, 0)
    one = story.wire("enti_1", "enti_2", 9_000, hop)
    two = story.wire("enti_2", "enti_3", 10, 2 * hop)
    three = story.wire("enti_3", "cpty_9", 77, 3 * hop)
    late = story.wire("enti_3", "cpty_8", 77, 2 * hop + 2 * HOUR_US)

    assert [vector.quick_hops_2h for vector in (one, two, three, late)] == [1, 2, 3, 0]


def test_given_a_side_that_is_paid_by_many_then_it_is_a_hub_and_nothing_behind_it_is_a_hop() -> None:
    story = oracle_story("enti_1")
    for n in range(8):
        story.wire(f"cpty_{n}", "enti_1", 100, n * MINUTE_US)
    few = story.wire("enti_1", "cpty_a", 1, 10 * MINUTE_US)
    story.wire("cpty_8", "enti_1", 100, 11 * MINUTE_US)

    many = story.wire("enti_1", "cpty_b", 1, 12 * MINUTE_US)

    assert (few.quick_hops_2h, many.quick_hops_2h) == (1, 0)


def test_given_transfers_of_one_instant_then_they_were_booked_together_and_none_is_another_ones_haste() -> None:
    story = oracle_story("enti_1")
    story.wire("cpty_1", "enti_1", 100, 0)
    story.wire("enti_1", "cpty_2", 100, 0)

    third = story.wire("enti_1", "cpty_3", 100, 0)

    assert (third.velocity_count_1h, third.entity_received_count_6h, third.entity_paid_count_6h) == (1, 0, 1)
    assert (third.entity_new_parties_6h, third.entity_received_cents_2h, third.quick_hops_2h) == (1, 0, 0)
