"""The oracle against stories of real bank feeds, worked out by hand: money flow, cards, returns and fans."""

from typing import Any

import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from tests.oracle.flow import FLOWS
from tests.oracle.story import Story, returned, told

MINUTE_US = 60 * SECOND_US
PASSED = ("entity.in48hCents", "entity.out48hCents", "entity.peak48hCents", "entity.left48hCents")
SENT = [(way, flow) for way, flow in FLOWS.items() if way[0] != "card" and way[:2] != ("book", "incoming")]
OF_CARD = ("card.declines1h", "card.smallAuthorizations1h")


def moved_by(story: Story, rail: str, direction: str, ach_type: str | None) -> None:
    """A transfer of 1,000.00 by a way that the bank knows."""
    if rail == "ach":
        story.ach(f"{direction} {ach_type}", 100_000, 0)
    elif rail == "check":
        story.check(direction, 100_000, 0)
    elif rail == "book":
        story.book("bacc_1", "bacc_7", 100_000, 0)
    elif rail == "intl_wire":
        story.transfer(
            f"swift.{direction}_transfer.completed",
            {
                "id": "trf_x",
                "amount": 100_000,
                "status": "COMPLETED",
                "is_incoming": direction == "incoming",
                "bank_account_id": "bacc_1",
                "counterparty_id": "cpty_1",
            },
            0,
        )
    else:
        (story.wire if rail == "wire" else story.realtime)(direction, 100_000, 0)


@pytest.mark.parametrize(("way", "flow"), SENT)
def test_given_a_transfer_of_any_way_when_the_next_lands_then_its_money_went_where_the_table_says(
    way: tuple[str, str, str | None], flow: str
) -> None:
    story = Story()
    moved_by(story, *way)

    after = story.wire("outgoing", 1_000, HOUR_US, party="cpty_2")

    came = 100_000 if flow == "in" else 0
    assert told(after, *PASSED[:2]) == (came, 101_000 - came)


def test_given_money_that_we_pull_when_it_is_wired_on_then_it_came_in_and_passed_through() -> None:
    story = Story()
    story.ach("outgoing DEBIT", 500_000, 0)

    wired = story.wire("outgoing", 490_000, 10 * HOUR_US, party="cpty_2")

    assert told(wired, *PASSED) == (500_000, 490_000, 500_000, 10_000)
    assert wired["entity.newMoney48hCents"] == 500_000


def test_given_a_utility_that_pulls_from_us_when_we_wire_then_nothing_came_in() -> None:
    story = Story()
    story.ach("incoming DEBIT", 500_000, 0, party=None, company_name="CITY POWER")

    wired = story.wire("outgoing", 490_000, 10 * HOUR_US, party="cpty_2")

    assert told(wired, *PASSED) == (0, 990_000, None, None)


def test_given_a_lender_that_pulls_instalments_when_the_sixth_lands_then_payers_gather_and_nobody_is_paid() -> None:
    story = Story()
    for n in range(5):
        story.ach("outgoing DEBIT", 20_000, n * MINUTE_US, party=f"cpty_{n}")

    sixth = story.ach("outgoing DEBIT", 20_000, HOUR_US, party="cpty_6")
    spent = story.wire("outgoing", 1_000, 2 * HOUR_US, party="cpty_7")

    assert told(sixth, "fanIn24hCount", "fanOut24hCount", "gathered24hCount") == (6, 1, 0)
    assert told(spent, "fanIn24hCount", "fanOut24hCount", "gathered24hCount") == (1, 1, 6)


@pytest.mark.parametrize(("way", "is_trip"), [("outgoing DEBIT", True), ("incoming CREDIT", True)])
def test_given_money_that_was_wired_out_when_four_fifths_are_pulled_or_sent_back_then_it_is_a_round_trip(
    way: str, *, is_trip: bool
) -> None:
    story = Story()
    story.wire("outgoing", 100_000, 0)

    assert story.ach(way, 80_000, DAY_US)["typology.roundTrip"] is is_trip


def test_given_money_that_was_wired_out_when_the_same_party_pulls_more_then_nothing_came_back() -> None:
    story = Story()
    story.wire("outgoing", 100_000, 0)

    pulled = story.ach("incoming DEBIT", 90_000, DAY_US)

    assert told(pulled, "typology.roundTrip", "typology.layeringHops", "pair.firstTime") == (False, 0, False)


def test_given_a_pull_when_its_money_goes_on_then_both_are_hops_of_one_chain() -> None:
    story = Story()
    story.ach("outgoing DEBIT", 100_000, 0)

    sent = story.realtime("outgoing", 95_000, 71 * HOUR_US, party="cpty_2")

    assert told(sent, "typology.layeringHops", "typology.layeringLeastCents") == (2, 95_000)


def test_given_a_pull_when_the_same_party_is_paid_then_the_two_ways_are_two_acquaintances() -> None:
    story = Story()
    first = story.ach("outgoing DEBIT", 100_000, 0)
    paid = story.wire("outgoing", 100_000, HOUR_US)
    pulled = story.ach("incoming CREDIT", 100_000, 2 * HOUR_US)

    assert [each["pair.firstTime"] for each in (first, paid, pulled)] == [True, True, False]
    assert [each["counterparty.firstTime"] for each in (first, paid, pulled)] == [True, False, False]


def test_given_pulled_money_when_it_leaves_by_card_and_wire_then_only_that_left_fast() -> None:
    story = Story()
    story.ach("outgoing DEBIT", 100_000, 0)
    story.ach("incoming DEBIT", 7_000, MINUTE_US)
    story.card(2_000, HOUR_US, bank_account_id="bacc_1")
    story.card(500, HOUR_US, "REFUNDED", bank_account_id="bacc_1")

    wired = story.wire("outgoing", 60_000, 2 * HOUR_US)

    assert told(wired, "entity.pulled2bdCents", "entity.fastOut2bdCents") == (100_000, 62_000)
    assert told(wired, *PASSED[:2]) == (100_000, 67_000)  # cards apart


def test_given_declines_on_an_entitys_only_card_when_it_is_asked_about_then_it_is_as_it_lands() -> None:
    story = Story()
    story.owner("bacc_c", "enti_c", 0)
    for n in range(4):
        story.card(100, n * MINUTE_US, "DECLINED", "INCORRECT_PIN", card_id="card_c", bank_account_id="bacc_c")

    over = {"entity_id": "enti_c", "counterparty_id": "mrch_1", "merchant_category": "5816"}
    asked = story.ask("card", 2_100, 10 * MINUTE_US, **over)
    landed = story.card(2_100, 10 * MINUTE_US, card_id="card_c", bank_account_id="bacc_c")

    own = {"status": None, "cardDecisionReason": None}
    assert told(landed, *OF_CARD) == (4, 4)
    assert asked.features == landed | own
    assert not asked.card_unknown


def test_given_an_entity_with_two_cards_when_it_is_asked_about_then_attempts_are_not_measured() -> None:
    story = Story()
    story.owner("bacc_c", "enti_c", 0)
    for n in (1, 2):
        story.card(100, n, "DECLINED", card_id=f"card_{n}", bank_account_id="bacc_c")

    asked = story.ask("card", 2_100, HOUR_US - 1, entity_id="bacc_c")

    assert told(asked.features, *OF_CARD) == (None, None)
    assert asked.features["program.cardAttempts1h"] == 3
    assert asked.card_unknown


def test_given_attempts_without_a_card_when_their_account_is_asked_about_then_they_are_counted_by_it() -> None:
    story = Story()
    for n in range(3):
        story.card(100, n, "DECLINED", card_id=None, bank_account_id="bacc_c")

    asked = story.ask("card", 2_100, HOUR_US - 1, entity_id="bacc_c")

    assert told(asked.features, *OF_CARD) == (3, 3)


def test_given_three_employees_cards_on_one_account_when_each_is_declined_then_none_is_tested() -> None:
    story = Story()
    for n in range(2):
        story.card(9_000, n * MINUTE_US, "DECLINED", card_id=f"card_{n}", bank_account_id="bacc_biz")

    third = story.card(9_000, 2 * MINUTE_US, "DECLINED", card_id="card_3", bank_account_id="bacc_biz")

    assert told(third, *OF_CARD, "program.cardDeclines1h") == (1, 0, 3)


def test_given_a_card_of_no_account_when_it_is_declined_again_and_again_then_its_attempts_count() -> None:
    story = Story()
    for n in range(3):
        story.card(100, n * MINUTE_US, "DECLINED", "INCORRECT_PIN", card_id="card_lone", bank_account_id=None)

    fourth = story.card(100, 20 * MINUTE_US, "DECLINED", card_id="card_lone", bank_account_id=None)

    assert told(fourth, *OF_CARD) == (4, 4)
    assert fourth["program.cardFraudDeclines24h"] == 3


@pytest.mark.parametrize(
    ("over", "declines"),
    [
        ({"card_id": None}, 2),
        ({"card_id": None, "bank_account_id": None, "entity_id": "enti_1"}, 2),
        ({"card_id": None, "bank_account_id": None}, None),
    ],
)
def test_given_no_card_when_attempts_land_then_account_or_entity_stand_for_it_or_nothing_is_measured(
    over: dict[str, Any], declines: int | None
) -> None:
    story = Story()
    story.card(9_000, 0, "DECLINED", **over)

    second = story.card(9_000, HOUR_US - 1, "DECLINED", **over)

    assert told(second, *OF_CARD) == (declines, None if declines is None else 0)
    assert second["program.cardAttempts1h"] == 2


def test_given_returns_of_long_ago_when_their_counterparty_is_wired_then_they_are_history_only() -> None:
    story = Story()
    for n in (0, 10):
        story.ach("outgoing DEBIT", 5_000, n * DAY_US, account="bacc_9", party="cpty_old", id=f"trf_r{n}")
        story.again(f"trf_r{n}", (n + 1) * DAY_US, **returned("R10"))

    wired = story.wire("outgoing", 20_000, 400 * DAY_US, party="cpty_old")

    assert told(wired, "counterparty.unauthorizedReturns60d", "counterparty.priorUnauthorizedReturns") == (0, 2)
    assert told(wired, "entity.unauthorizedReturns60d", "counterparty.stopReturnDays") == (0, 389)


@pytest.mark.parametrize(("after", "count"), [(60 * DAY_US - 1, 1), (60 * DAY_US, 0)])
def test_given_an_unauthorized_return_when_60_days_pass_then_it_counts_until_then(after: int, count: int) -> None:
    story = Story()
    story.ach("outgoing DEBIT", 5_000, 0, id="trf_r")
    story.again("trf_r", DAY_US, **returned("R10"))

    debit = story.ach("outgoing DEBIT", 5_000, DAY_US + after)

    names = ("entity.unauthorizedReturns60d", "counterparty.unauthorizedReturns60d")
    assert told(debit, *names) == (count, count)
    assert debit["counterparty.priorUnauthorizedReturns"] == 1


def test_given_a_shop_that_pays_two_suppliers_often_when_it_pays_70_strangers_then_all_are_counted() -> None:
    story = Story()
    for n in range(8 * 24):  # 24 a week, seven hours apart
        story.wire("outgoing", 10_000, n * 7 * HOUR_US, party=f"cpty_{n % 2}")
    begin = 8 * 7 * DAY_US
    for n in range(69):
        story.realtime("outgoing", 10_000, begin + n * 4 * MINUTE_US, party=f"cpty_new{n}")

    last = story.realtime("outgoing", 10_000, begin + 69 * 4 * MINUTE_US, party="cpty_last")

    assert told(last, "fanOut8hCount", "fanOutUsualWeek") == (70, 2)
    assert last["entity.newCounterparties24h"] == 65  # the newest 64, and this one


def test_given_a_person_with_one_landlord_when_eight_strangers_are_paid_then_the_usual_week_is_of_one_party() -> None:
    story = Story()
    for n in range(8 * 3):
        story.ach("outgoing CREDIT", 10_000, n * 2 * DAY_US, party="cpty_landlord")
    begin = 50 * DAY_US
    for n in range(7):
        story.realtime("outgoing", 10_000, begin + n * 5 * MINUTE_US, party=f"cpty_{n}")

    last = story.realtime("outgoing", 10_000, begin + 35 * MINUTE_US, party="cpty_8")

    assert told(last, "fanOut8hCount", "fanOutUsualWeek") == (8, 1)


def test_given_a_mule_who_keeps_on_when_the_eighth_week_comes_then_it_still_shows() -> None:
    story = Story()
    for week in range(7):
        story.realtime("incoming", 500_000, week * 7 * DAY_US, party=f"cpty_victim{week}")
        story.wire("outgoing", 490_000, week * 7 * DAY_US + DAY_US, party="cpty_handler")
    story.realtime("incoming", 500_000, 49 * DAY_US, party="cpty_victim8")

    wired = story.wire("outgoing", 490_000, 50 * DAY_US, party="cpty_handler")

    assert told(wired, *PASSED) == (500_000, 490_000, 500_000, 10_000)
    assert told(wired, "entity.newMoney48hCents", "pair.firstTime") == (500_000, False)


@pytest.mark.parametrize(("known_for", "new"), [(60 * DAY_US, 0), (60 * DAY_US - 1, 500_000)])
def test_given_a_payer_known_for_some_time_when_its_money_passes_through_then_it_is_new_for_60_days(
    known_for: int, new: int
) -> None:
    story = Story()
    story.ach("incoming CREDIT", 500_000, 0, party="cpty_employer")
    story.ach("incoming CREDIT", 500_000, known_for - HOUR_US, party="cpty_employer")

    paid = story.ach("outgoing CREDIT", 490_000, known_for, party="cpty_2")

    assert told(paid, "entity.peak48hCents", "entity.newMoney48hCents") == (500_000, new)


def test_given_debits_that_we_sent_back_when_the_next_one_comes_then_nobody_here_is_accused() -> None:
    story = Story()
    for n in (0, 1):
        story.ach("incoming DEBIT", 5_000, n * DAY_US, party=None, company_name="CITY POWER", id=f"trf_p{n}")
        story.again(f"trf_p{n}", (n + 1) * DAY_US, **returned("R10"))

    third = story.ach("incoming DEBIT", 5_000, 3 * DAY_US, party=None, company_name="CITY POWER")

    names = ("entity.returns30d", "entity.unauthorizedReturns60d", "entity.achDebits30d", "entity.achDebits60d")
    assert told(third, *names, "entity.achDebits") == (0, 0, 0, 0, 0)
    of_party = ("priorUnauthorizedReturns", "unauthorizedReturns60d", "stopReturnDays", "priorReturns", "n")
    assert told(third, *(f"counterparty.{name}" for name in of_party)) == (0, 0, None, 2, 2)
    assert told(third, "entity.priorReturns", "program.unauthorizedReturnRate60d") == (2, None)


def test_given_returned_credits_when_the_next_one_is_sent_then_there_is_no_debit_and_no_return_of_one() -> None:
    story = Story()
    for code in ("R23", "R17"):
        story.ach("outgoing CREDIT", 100_000, 0, party=f"cpty_{code}", id=f"trf_{code}")
        story.again(f"trf_{code}", DAY_US, **returned(code))

    third = story.ach("outgoing CREDIT", 100_000, 2 * DAY_US)

    assert told(third, "entity.returns30d", "entity.achDebits30d", "entity.priorReturns") == (0, 0, 2)


def test_given_a_new_program_when_its_first_transfer_is_large_then_there_is_no_baseline_to_say_so() -> None:
    first = Story().wire("outgoing", 500_000, 0)

    assert told(first, "program.n90d", "program.medianCents", "program.p95Cents") == (None, None, None)
    assert told(first, "counterparty.firstTime", "program.dailyAvgCents30d") == (True, None)
