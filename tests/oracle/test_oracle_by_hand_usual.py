"""The oracle against stories of usual weeks, busy days, balances, returns and shapes, worked out by hand.

T0 is a Monday, 15:00 UTC: its week began 15 hours before.
"""

import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US
from tests.oracle.story import Story, returned, told

WEEK_US = 7 * DAY_US
MONDAY = -15 * HOUR_US
BUSIEST = ("entity.busiestDay35dCount", "entity.busiestDay35dCents")
BALANCE = ("entity.peak48hCents", "entity.left48hCents", "entity.newMoney48hCents")


def weeks_of(*parties: int) -> Story:
    """So many distinct payees of one account in each week."""
    story = Story()
    for week, count in enumerate(parties):
        for n in range(count):
            story.wire("outgoing", 1_000, week * WEEK_US + n, party=f"cpty_{n}")
    return story


@pytest.mark.parametrize(
    ("parties", "usual"),
    [
        ((4,), 4),
        ((4, 2), 3),
        ((4, 1), 3),  # 2.5, rounded up
        ((1, 5, 2), 2),
        ((1, 5, 0, 0), 1),  # 0, 0, 1, 5: a half, rounded up
        ((1, 0, 0), 0),
        ((9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 1), 9),
        ((9, 9, 9, 9, 9, 9, 9, 1, 1, 1, 1, 1, 1), 5),  # the newest twelve: six of 9 and six of 1
    ],
)
def test_given_weeks_of_payees_when_the_next_week_comes_then_the_usual_one_is_their_median(
    parties: tuple[int, ...], usual: int
) -> None:
    story = weeks_of(*parties)

    paid = story.wire("outgoing", 1_000, len(parties) * WEEK_US, party="cpty_new")

    assert paid["fanOutUsualWeek"] == usual


@pytest.mark.parametrize(("at", "usual"), [(MONDAY + WEEK_US - 1, None), (MONDAY + WEEK_US, 2)])
def test_given_a_first_week_when_it_ends_on_monday_then_it_is_the_usual_one(at: int, usual: int | None) -> None:
    story = weeks_of(2)

    assert story.wire("outgoing", 1_000, at)["fanOutUsualWeek"] == usual


def test_given_a_side_that_was_never_paid_when_it_is_then_it_has_no_usual_week_though_it_pays() -> None:
    story = weeks_of(2, 2, 2)

    received = story.wire("incoming", 1_000, 3 * WEEK_US, party="cpty_9")
    pulled = story.ach("outgoing DEBIT", 1_000, 4 * WEEK_US, party="cpty_0")

    assert told(received, "fanInUsualWeek", "fanOutUsualWeek", "gatheredUsualWeek") == (None, None, None)
    assert told(pulled, "fanInUsualWeek", "fanOutUsualWeek", "gatheredUsualWeek") == (1, None, 1)


def test_given_payments_to_the_same_party_when_weeks_pass_then_parties_count_and_not_payments() -> None:
    story = Story()
    for n in range(20):
        story.wire("outgoing", 1_000, n * HOUR_US)

    assert story.wire("outgoing", 1_000, WEEK_US)["fanOutUsualWeek"] == 1


@pytest.mark.parametrize(("after", "count"), [(8 * HOUR_US - 1, 2), (8 * HOUR_US, 1)])
def test_given_a_payee_when_eight_hours_pass_then_it_leaves_the_window(after: int, count: int) -> None:
    story = weeks_of(1)

    paid = story.wire("outgoing", 1_000, after, party="cpty_9")

    assert told(paid, "fanOut8hCount", "fanOut24hCount") == (count, 2)


def test_given_a_transfer_without_counterparty_when_it_lands_then_it_is_no_edge() -> None:
    story = weeks_of(1)

    unnamed = story.wire("outgoing", 1_000, HOUR_US, party=None)

    names = ("fanOut24hCount", "fanIn24hCount", "pair.firstTime", "counterparty.firstTime", "counterparty.n")
    assert told(unnamed, *names) == (1, 0, None, None, 0)


def test_given_a_quiet_day_when_it_lands_then_nothing_is_compared_with_busy_ones() -> None:
    story = Story()
    for n in range(3):
        story.wire("outgoing", 1_000, n)

    fourth = story.wire("outgoing", 1_000, 4)
    fifth = story.wire("outgoing", 1_000, 5)
    large = story.wire("outgoing", 250_000, 10 * DAY_US + 5)

    assert told(fourth, *BUSIEST) == (None, None)
    assert told(fifth, *BUSIEST) == (0, 0)
    assert told(large, *BUSIEST) == (5, 5_000)


@pytest.mark.parametrize(("ago", "count"), [(DAY_US - 1, 0), (DAY_US, 1), (35 * DAY_US - 1, 1), (35 * DAY_US, 0)])
def test_given_a_payment_some_time_ago_when_a_busy_day_is_looked_for_then_34_days_before_the_last_count(
    ago: int, count: int
) -> None:
    story = Story()
    story.wire("outgoing", 1_000, 0)

    assert told(story.wire("outgoing", 250_000, ago), *BUSIEST) == (count, count * 1_000)


def test_given_days_with_many_and_with_large_payments_when_one_is_busy_then_the_most_of_each_is_told() -> None:
    story = Story()
    for n in range(3):
        story.wire("outgoing", 1_000, n * HOUR_US)
    story.wire("incoming", 90_000, 5 * DAY_US)

    assert told(story.wire("outgoing", 250_000, 9 * DAY_US + 2 * HOUR_US), *BUSIEST) == (3, 90_000)


def test_given_money_in_and_out_at_one_instant_when_a_balance_is_counted_then_in_goes_first() -> None:
    story = Story()
    story.wire("outgoing", 60_000, 0, party="cpty_2")
    story.wire("incoming", 100_000, 0)
    story.wire("incoming", 20_000, HOUR_US)

    last = story.wire("outgoing", 40_000, HOUR_US, party="cpty_2")

    assert told(last, *BALANCE) == (100_000, 20_000, 120_000)


@pytest.mark.parametrize(
    ("came", "left", "balance"),
    [
        (100_000, 80_000, (100_000, 20_000, 100_000)),
        (99_999, 99_999, (None, None, None)),
        (100_000, 79_999, (None, None, None)),
        (100_000, 130_000, (100_000, -30_000, 100_000)),
    ],
)
def test_given_money_that_came_when_a_share_leaves_then_the_balance_is_told_from_four_fifths_on(
    came: int, left: int, balance: tuple[int | None, ...]
) -> None:
    story = Story()
    story.check("incoming", came, 0)

    assert told(story.realtime("outgoing", left, HOUR_US, party="cpty_2"), *BALANCE) == balance


def test_given_more_that_left_first_than_came_when_a_balance_is_counted_then_its_highest_is_where_it_began() -> None:
    story = Story()
    story.wire("outgoing", 300_000, 0, party="cpty_2")
    story.wire("incoming", 100_000, HOUR_US)

    assert told(story.wire("outgoing", 1, 2 * HOUR_US, party="cpty_2"), *BALANCE) == (0, -200_001, 100_000)


def test_given_money_that_left_when_more_comes_in_then_no_balance_is_told() -> None:
    story = Story()
    story.wire("incoming", 100_000, 0)
    story.wire("outgoing", 100_000, 1)

    assert told(story.wire("incoming", 1_000, HOUR_US), *BALANCE) == (None, None, None)


def test_given_money_of_nobody_known_when_it_passes_through_then_it_is_new() -> None:
    story = Story()
    story.wire("incoming", 100_000, 0, party="cpty_old")
    story.wire("incoming", 70_000, 70 * DAY_US, party="cpty_old")
    story.wire("incoming", 50_000, 70 * DAY_US, party=None)

    assert told(story.wire("outgoing", 100_000, 71 * DAY_US), *BALANCE) == (120_000, 20_000, 50_000)


def test_given_two_days_when_they_are_over_then_what_came_in_is_forgotten() -> None:
    story = Story()
    story.wire("incoming", 100_000, 0)

    before = story.wire("outgoing", 100_000, 48 * HOUR_US - 1)
    after = story.wire("outgoing", 100_000, 48 * HOUR_US)

    assert (before["entity.in48hCents"], after["entity.in48hCents"]) == (100_000, 0)


@pytest.mark.parametrize(
    ("reasons", "risk"),
    [
        ([], False),
        (["ssn_mismatch"], False),
        (["name_mismatch", "fraud_risk"], True),
        (["Sanctions-Match"], True),
        (["ofac_hit"], True),
        (["watch_list"], True),
    ],
)
def test_given_an_owner_who_is_reviewed_when_he_pays_then_only_the_banks_word_is_a_fraud_risk(
    reasons: list[str], *, risk: bool
) -> None:
    story = Story()
    story.owner("bacc_1", "enti_1", 0)
    unsaid = story.wire("outgoing", 1_000, 1)
    story.identity("enti_1", HOUR_US, review_reasons=reasons)

    assert unsaid["entity.fraudRisk"] is None
    assert story.wire("outgoing", 1_000, 2 * HOUR_US)["entity.fraudRisk"] is risk
    assert story.wire("outgoing", 1_000, HOUR_US - 1, told_at=3 * HOUR_US)["entity.fraudRisk"] is None


def test_given_frozen_returns_when_their_counterparty_is_met_again_then_those_of_our_entries_count() -> None:
    story = Story()
    for n, way in enumerate(("outgoing DEBIT", "outgoing CREDIT", "incoming DEBIT")):
        story.ach(way, 5_000, n, id=f"trf_{way}")
        story.again(f"trf_{way}", DAY_US, **returned("R16"))

    wired = story.wire("outgoing", 1_000, 400 * DAY_US, account="bacc_2")

    assert told(wired, "counterparty.frozenReturns", "counterparty.priorReturns") == (2, 3)


def test_given_returned_prenotes_when_accounts_are_probed_then_entries_that_we_sent_count() -> None:
    story = Story()
    codes = (
        ("outgoing CREDIT", "R03"),
        ("outgoing DEBIT", "R04"),
        ("incoming DEBIT", "R02"),
        ("outgoing CREDIT", "R01"),
    )
    for n, (way, code) in enumerate(codes):
        story.ach(way, 1, n, id=f"trf_{n}", party=f"cpty_{n}")
        story.again(f"trf_{n}", DAY_US, **returned(code))

    debit = story.ach("outgoing DEBIT", 5_000, 2 * DAY_US)

    assert told(debit, "entity.probingReturns30d", "entity.returns30d", "entity.priorReturns") == (2, 1, 4)


def test_given_debits_of_ours_and_of_theirs_when_the_next_is_sent_then_ours_count_without_it() -> None:
    story = Story()
    for n, cents in enumerate((99, 100, 5_000)):
        story.ach("outgoing DEBIT", cents, n)
    story.ach("incoming DEBIT", 5_000, 5)
    story.ach("outgoing CREDIT", 5_000, 6)

    debit = story.ach("outgoing DEBIT", 5_000, HOUR_US)

    names = ("entity.achDebits", "entity.achDebits30d", "entity.achDebits60d", "entity.forwardDebits24h")
    assert told(debit, *names, "entity.microEntries24h") == (3, 3, 3, 2, 1)


def test_given_book_transfers_between_known_accounts_when_money_walks_then_it_is_one_chain_and_a_trip() -> None:
    story = Story()
    for account in ("bacc_1", "bacc_2", "bacc_3"):
        story.say("account.overdrafted", {"bank_account_id": account}, 0)
    story.book("bacc_1", "bacc_2", 100_000, HOUR_US)
    second = story.book("bacc_2", "bacc_3", 100_000, 2 * HOUR_US)
    back = story.book("bacc_3", "bacc_1", 95_000, 3 * HOUR_US)

    names = ("typology.layeringHops", "typology.roundTrip", "typology.layeringLeastCents")
    assert told(second, *names) == (2, False, 100_000)
    assert told(back, *names) == (2, True, 95_000)  # the chain of three would end where it began


def test_given_accounts_that_money_walked_through_when_one_entity_turns_out_to_own_two_then_it_is_one_side() -> None:
    story = Story()
    for account in ("bacc_1", "bacc_2", "bacc_3"):
        story.say("account.overdrafted", {"bank_account_id": account}, 0)
    story.wire("incoming", 100_000, HOUR_US, account="bacc_1", party="cpty_1")
    apart = story.book("bacc_2", "bacc_3", 100_000, 2 * HOUR_US)
    for account in ("bacc_1", "bacc_2"):
        story.owner(account, "enti_1", 3 * HOUR_US)

    joined = story.book("bacc_2", "bacc_3", 100_000, 4 * HOUR_US)

    assert (apart["typology.layeringHops"], joined["typology.layeringHops"]) == (0, 2)


def test_given_one_who_pays_several_when_they_all_pay_one_then_they_are_middles() -> None:
    story = Story()
    for n in (1, 2, 3):
        story.say("account.overdrafted", {"bank_account_id": f"bacc_{n}"}, 0)
        story.book("bacc_9", f"bacc_{n}", 50_000, n)
    for n in (1, 2):
        story.wire("outgoing", 49_000, n * HOUR_US, account=f"bacc_{n}")

    third = story.wire("outgoing", 49_000, 3 * HOUR_US, account="bacc_3")

    assert told(third, "typology.scatterGatherMiddles", "fanIn24hCount") == (3, 3)


def test_given_a_check_that_bounced_when_others_land_then_it_is_no_ach_return() -> None:
    story = Story()
    story.check("incoming", 330_000, 0)
    kind, data = "check.outgoing_debit.returned", story.told["trf_0"][1]
    story.say(kind, data | {"status": "returned", "return_reason": "A"}, DAY_US)

    after = story.wire("outgoing", 1_000, 2 * DAY_US)

    assert told(after, "entity.priorReturns", "counterparty.priorReturns", "entity.priorTransfers") == (0, 0, 1)


def test_given_an_international_wire_when_it_is_sent_back_then_it_is_scored_again_without_a_return_code() -> None:
    story = Story()
    story.abroad("USD", 330_000, 0, id="trf_s")
    at = story.told["trf_s"][1]["created_at"]

    again = story.again("trf_s", DAY_US, status="RETURNED", returned_at=at)

    assert told(again, "status", "entity.priorReturns") == ("RETURNED", 0)
    assert story.again("trf_s", 2 * DAY_US, returned_at=at) is None
