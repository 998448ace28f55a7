"""The oracle against stories of owners, questions, currencies, attempts and corrections, worked out by hand."""

from typing import Any

import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.vocabulary import AchType, Direction
from tests.oracle.story import Story, returned, told
from tests.support import bank_events as bank

COUNTS = ("velocity24hCount", "velocity24hSumCents", "entity.priorTransfers")
AS_LANDED = {"status": None}


def test_given_an_account_with_a_history_when_its_owner_is_told_late_then_the_owner_has_it() -> None:
    story = Story()
    for n in range(7):
        story.wire("outgoing", 10_000, n * HOUR_US, account="bacc_X", id=f"trf_x{n}")
    story.identity("enti_D", 7 * HOUR_US, verification_status="DENIED")
    story.owner("bacc_X", "enti_D", 8 * HOUR_US)

    eighth = story.wire("outgoing", 10_000, 9 * HOUR_US, account="bacc_X")

    assert told(eighth, *COUNTS) == (8, 80_000, 7)
    assert told(eighth, "entity.verificationStatus", "pair.firstTime", "fanOutUsualWeek") == ("DENIED", False, None)


def test_given_an_owner_who_is_told_late_when_an_older_transfer_is_scored_again_then_it_is_the_owners() -> None:
    story = Story()
    story.owner("bacc_Y", "enti_D", 0)
    story.wire("outgoing", 10_000, HOUR_US, account="bacc_Y")
    first = story.wire("outgoing", 10_000, 2 * HOUR_US, account="bacc_X", id="trf_x")
    story.owner("bacc_X", "enti_D", 3 * HOUR_US)

    assert story.again("trf_x", 4 * HOUR_US) is None  # nothing of it changed
    again = story.again("trf_x", 5 * HOUR_US, amount=20_000)

    assert told(first, *COUNTS) == (1, 10_000, 0)
    assert told(again, *COUNTS) == (2, 30_000, 1)


def test_given_an_owner_when_a_transfer_of_before_is_told_of_late_then_it_is_the_owners_too() -> None:
    story = Story()
    story.wire("outgoing", 10_000, 0, account="bacc_X")
    story.owner("bacc_X", "enti_D", 10 * HOUR_US)

    late = story.wire("outgoing", 10_000, HOUR_US, account="bacc_X", told_at=11 * HOUR_US)

    assert told(late, *COUNTS) == (2, 20_000, 1)


def test_given_another_owner_later_when_transfers_land_then_only_those_are_his() -> None:
    story = Story()
    story.wire("outgoing", 10_000, 0, account="bacc_X")
    story.owner("bacc_X", "enti_1", HOUR_US)
    story.wire("outgoing", 10_000, 2 * HOUR_US, account="bacc_X")
    story.owner("bacc_X", "enti_2", 3 * HOUR_US)
    story.owner("bacc_Y", "enti_1", 3 * HOUR_US)

    of_second = story.wire("outgoing", 10_000, 4 * HOUR_US, account="bacc_X")
    of_first = story.wire("outgoing", 10_000, 5 * HOUR_US, account="bacc_Y")

    assert told(of_second, *COUNTS) == (1, 10_000, 0)
    assert told(of_first, *COUNTS) == (3, 30_000, 2)


def test_given_two_accounts_that_paid_one_party_when_one_entity_owns_both_then_there_was_one_payer() -> None:
    story = Story()
    story.wire("outgoing", 10_000, 0, account="bacc_X")
    story.wire("outgoing", 10_000, HOUR_US, account="bacc_Y")
    apart = story.wire("outgoing", 10_000, 2 * HOUR_US, account="bacc_Z")
    for account in ("bacc_X", "bacc_Y"):
        story.owner(account, "enti_1", 3 * HOUR_US)

    joined = story.wire("outgoing", 10_000, 4 * HOUR_US, account="bacc_Z")

    assert (apart["fanIn24hCount"], joined["fanIn24hCount"]) == (3, 2)


def test_given_two_first_meetings_when_an_account_joins_its_owner_then_the_earlier_one_stays() -> None:
    story = Story()
    story.book("bacc_0", "bacc_9", 1, 0)  # the program is old enough for acquaintances to be counted
    story.wire("outgoing", 10_000, 20 * DAY_US, account="bacc_X")
    story.owner("bacc_Y", "enti_1", 30 * DAY_US)
    story.wire("outgoing", 10_000, 100 * DAY_US, account="bacc_Y")
    story.owner("bacc_X", "enti_1", 101 * DAY_US)

    other = story.wire("outgoing", 10_000, 115 * DAY_US, account="bacc_Y", party="cpty_2")

    assert told(other, "pair.firstTime", "payer.newPayees90d") == (True, 1)  # cpty_1 was met 95 days ago


def test_given_a_routing_number_and_last_four_when_an_account_and_its_owner_use_them_then_they_are_one() -> None:
    story = Story()
    details: dict[str, Any] = {"beneficiary_account_number": "000111", "creditor_agent_routing_number": "021000021"}
    for n, account in enumerate(("bacc_X", "bacc_Y")):
        story.wire("outgoing", 10_000, n, account=account, party=f"cpty_{account}", **details)
        story.owner(account, "enti_1", n)

    third = story.wire("outgoing", 10_000, HOUR_US, account="bacc_Z", party="cpty_3", **details)

    assert third["counterparty.sharedEntities30d"] == 2


@pytest.mark.parametrize("id_in_object", [None, "cpty_1"])
def test_given_a_payees_object_in_a_later_state_when_another_account_was_stated_then_the_objects_counts_again(
    id_in_object: str | None,
) -> None:
    story = Story()
    held = {"id": id_in_object, "routing_number": "021000021", "account_number": "000111"}
    story.realtime("outgoing", 10_000, 0, id="trf_x", counterparty=held)
    story.ach("incoming CREDIT", 10_000, 1, odfi_routing_number="121145307")
    between = story.ach("outgoing DEBIT", 10_000, 2)

    story.again("trf_x", 3)
    after = story.ach("outgoing DEBIT", 10_000, 4)

    assert [each["counterparty.sharedEntities30d"] for each in (between, after)] == [0, 1]


def test_given_the_words_of_a_wire_in_a_later_state_when_another_account_was_stated_then_the_newer_one_counts() -> None:
    story = Story()
    details: dict[str, Any] = {"beneficiary_account_number": "000111", "creditor_agent_routing_number": "021000021"}
    story.wire("outgoing", 10_000, 0, id="trf_x", **details)
    story.ach("incoming CREDIT", 10_000, 1, odfi_routing_number="121145307")

    story.again("trf_x", 3)

    assert story.ach("outgoing DEBIT", 10_000, 4)["counterparty.sharedEntities30d"] == 0


def test_given_an_account_without_owner_when_it_is_asked_about_then_the_answer_is_as_it_lands() -> None:
    story = Story()
    for n in range(8):
        story.wire("outgoing", 10_000, n * HOUR_US)

    asked = story.ask("wire", 10_000, 9 * HOUR_US, entity_id="bacc_1", counterparty_id="cpty_1")
    landed = story.wire("outgoing", 10_000, 9 * HOUR_US)

    assert told(asked.features, *COUNTS) == (9, 90_000, 8)
    assert asked.features == landed | AS_LANDED


def test_given_an_account_with_an_owner_when_it_is_asked_about_then_the_owner_acts() -> None:
    story = Story()
    story.wire("outgoing", 10_000, 0)
    story.owner("bacc_1", "enti_1", HOUR_US)

    for named in ("bacc_1", "enti_1"):
        asked = story.ask("wire", 10_000, 2 * HOUR_US, entity_id=named, counterparty_id="cpty_1")
        assert told(asked.features, *COUNTS) == (2, 20_000, 1)


def test_given_a_question_with_a_date_or_a_date_time_when_it_is_answered_then_both_are_the_same() -> None:
    story = Story()
    story.wire("outgoing", 10_000, 0)

    dated, timed = (
        story.ask("wire", 10_000, HOUR_US, entity_id="bacc_1", effective_on=on)
        for on in ("2026-11-30", "2026-11-30T00:00:00Z")
    )

    assert dated == timed


def test_given_a_pull_that_is_asked_about_when_money_was_sent_then_it_comes_in() -> None:
    story = Story()
    story.wire("outgoing", 100_000, 0)

    over = {"direction": Direction.OUTGOING, "type": AchType.DEBIT, "entity_id": "bacc_1", "counterparty_id": "cpty_1"}
    asked = story.ask("ach", 90_000, HOUR_US, **over).features

    assert told(asked, "entity.in48hCents", "entity.out48hCents", "typology.roundTrip") == (90_000, 100_000, True)


def test_given_yen_that_settle_in_dollars_when_they_land_then_the_dollars_count() -> None:
    story = Story()
    dollars: dict[str, Any] = {"settled_amount": 6_500, "settled_currency_code": "USD"}
    for n in range(2):
        story.abroad("JPY", 950_000, n * HOUR_US, **dollars)

    third = story.abroad("JPY", 950_000, 2 * HOUR_US, **dollars)

    assert told(third, "amountCents", *COUNTS) == (6_500, 3, 19_500, 2)
    assert told(third, "structuring24hCount", "typology.justBelowThreshold") == (0, False)


@pytest.mark.parametrize(
    ("settled", "instructed", "cents"),
    [("USD", "USD", 111), ("EUR", "USD", 222), (None, "USD", 222), ("EUR", "EUR", None), (None, None, None)],
)
def test_given_another_currency_when_it_lands_then_the_settled_dollars_go_before_the_instructed_ones(
    settled: str | None, instructed: str | None, cents: int | None
) -> None:
    story = Story()
    money: dict[str, Any] = {"settled_amount": 111, "settled_currency_code": settled}
    money |= {"instructed_amount": 222, "instructed_currency_code": instructed}

    assert story.abroad("EUR", 333, 0, **money)["amountCents"] == cents


def test_given_no_dollars_when_a_transfer_lands_then_it_counts_and_has_no_amount() -> None:
    story = Story()
    for n in range(5):
        story.wire("outgoing", 950_000, n, party="cpty_1")

    unknown = story.abroad("JPY", 950_000, HOUR_US)
    after = story.wire("outgoing", 950_000, 2 * HOUR_US)

    assert told(unknown, "amountCents", *COUNTS) == (None, 6, 4_750_000, 5)
    names = ("typology.justBelowThreshold", "typology.roundTrip", "typology.layeringHops", "repeatedAmount24hCount")
    assert told(unknown, *names, "structuring24hCount") == (None, None, None, 0, 5)
    assert told(after, *COUNTS, "entity.out48hCents") == (7, 5_700_000, 6, 5_700_000)
    assert told(after, "program.n90d", "program.transfers90d", "counterparty.n") == (5, 6, 6)
    assert told(after, "structuring24hCount", "repeatedAmount24hCount") == (6, 6)


def test_given_a_wire_without_dollars_when_they_are_told_then_it_is_scored_again_and_counts_from_then() -> None:
    story = Story()
    story.abroad("JPY", 950_000, 0, id="trf_y")
    before = story.wire("outgoing", 1_000, HOUR_US)
    again = story.again("trf_y", 2 * HOUR_US, settled_amount=6_500, settled_currency_code="USD")
    after = story.wire("outgoing", 1_000, 3 * HOUR_US)

    assert told(again, "amountCents", *COUNTS) == (6_500, 1, 6_500, 0)
    assert told(before, *COUNTS) == (2, 1_000, 1)
    assert told(after, *COUNTS) == (3, 8_500, 2)


def test_given_a_denied_owner_when_his_card_is_declined_then_nothing_moved() -> None:
    story = Story()
    story.owner("bacc_1", "enti_1", 0)
    story.identity("enti_1", 0, verification_status="DENIED")

    declined = story.card(2_000, HOUR_US, "DECLINED", "INSUFFICIENT_FUNDS")

    assert told(declined, "moved", "entity.verificationStatus", "card.declines1h") == (False, "DENIED", 1)
    assert told(declined, *COUNTS, "entity.fastOut2bdCents") == (0, 0, 0, 0)


def test_given_a_rejected_wire_when_the_next_one_lands_then_it_is_the_first() -> None:
    story = Story()
    rejected = story.wire("outgoing", 950_000, 0, status="REJECTED")
    second = story.wire("outgoing", 950_000, HOUR_US)

    names = ("structuring24hCount", "entity.newCounterparties24h", "fanOut24hCount", "entity.out48hCents")
    assert told(rejected, "moved", *COUNTS, *names) == (False, 0, 0, 0, 0, 0, 0, 0)
    assert told(rejected, "repeatedAmount24hCount", "program.transfers90d") == (0, 0)
    assert told(second, "moved", *COUNTS, *names) == (True, 1, 950_000, 0, 1, 1, 1, 950_000)
    assert told(second, "counterparty.firstTime", "pair.firstTime", "typology.dormantDays") == (True, True, None)


def test_given_a_rejected_wire_among_others_when_it_is_scored_then_the_others_count() -> None:
    story = Story()
    story.ach("outgoing CREDIT", 50, 0, party="cpty_2")
    rejected = story.wire("outgoing", 500_000, HOUR_US, status="rejected")

    assert told(rejected, *COUNTS) == (1, 50, 1)
    assert told(rejected, "entity.microEntries24h", "roundAmount30dCount", "fanOut24hCount") == (1, 0, 1)
    assert told(rejected, "entity.newCounterparties24h", "entity.count30d") == (1, 1)


def test_given_a_wire_that_is_rejected_later_when_others_land_then_it_counted_until_then() -> None:
    story = Story()
    story.wire("outgoing", 10_000, 0, id="trf_r", status="INITIATED")
    assert story.again("trf_r", 2 * HOUR_US, status="REJECTED") is None

    late = story.wire("outgoing", 10_000, HOUR_US, told_at=3 * HOUR_US)
    after = story.wire("outgoing", 10_000, 4 * HOUR_US)

    assert told(late, *COUNTS) == (2, 20_000, 1)
    assert told(after, *COUNTS) == (2, 20_000, 1)  # the late one, not the rejected one
    assert after["pair.firstTime"] is False  # an acquaintance is for good


def test_given_a_corrected_amount_when_others_land_then_each_sees_what_was_known() -> None:
    story = Story()
    story.wire("outgoing", 10_000, 0, id="trf_r")
    again = story.again("trf_r", 2 * HOUR_US, amount=30_000)

    late = story.wire("outgoing", 1, HOUR_US, told_at=3 * HOUR_US)
    after = story.wire("outgoing", 1, 4 * HOUR_US)

    assert told(again, "amountCents", *COUNTS) == (30_000, 1, 30_000, 0)
    assert (late["velocity24hSumCents"], after["velocity24hSumCents"]) == (10_001, 30_002)


def test_given_a_corrected_counterparty_when_others_land_then_the_old_one_was_dealt_with_until_then() -> None:
    story = Story()
    story.wire("outgoing", 10_000, 0, id="trf_r", party="cpty_1")
    again = story.again("trf_r", 2 * HOUR_US, counterparty_id="cpty_2")

    first, second = (story.wire("outgoing", 1, 4 * HOUR_US + n, party=f"cpty_{n}") for n in (1, 2))

    assert told(again, "counterparty.n", "fanOut24hCount") == (0, 1)
    assert (first["counterparty.n"], second["counterparty.n"]) == (0, 1)


def test_given_a_delivery_that_comes_twice_when_it_is_applied_then_it_counts_once() -> None:
    story = Story()
    data = bank.a_wire(id="trf_d", bank_account_id="bacc_1")
    entry = bank.a_bank_entry("wire.outgoing_transfer.completed", data, event_id="evnt_twice")

    once, twice = story.oracle.apply(entry), story.oracle.apply(entry)

    assert once is not None
    assert twice is None
    assert story.wire("outgoing", 1, HOUR_US)["entity.priorTransfers"] == 1


def test_given_a_dishonoured_return_when_it_is_contested_then_it_is_one_again() -> None:
    story = Story()
    counted = []
    story.ach("outgoing DEBIT", 5_000, 0, id="trf_r")
    for day, codes in enumerate((("R10",), ("R10", "R68"), ("R10", "R68", "R73")), 1):
        story.again("trf_r", day * DAY_US, **returned(*codes))
        debit = story.ach("outgoing DEBIT", 5_000, day * DAY_US + HOUR_US)
        counted.append(told(debit, "entity.unauthorizedReturns60d", "counterparty.priorReturns"))

    assert counted == [(1, 1), (0, 0), (1, 1)]


def test_given_objects_that_are_no_transfers_when_they_come_then_nothing_is_scored() -> None:
    story = Story()

    assert story.say("card.dispute.opened", {"id": "disp_1", "amount": 5_000}, 0) is None
    assert story.say("wire.incoming_return_request.initiated", {"id": "wrrq_1", "amount": 5_000}, 0) is None
    assert story.say("account.overdrafted", {"bank_account_id": "bacc_1"}, 0) is None
    assert told(story.wire("outgoing", 1, HOUR_US), *COUNTS) == (1, 1, 0)


def test_given_two_accounts_with_a_card_each_when_one_entity_owns_both_then_it_has_several_cards() -> None:
    story = Story()
    for n in (1, 2):
        story.card(100, n, "DECLINED", card_id=f"card_{n}", bank_account_id=f"bacc_{n}")
    apart = story.ask("card", 100, HOUR_US - 1, entity_id="bacc_1")
    for n in (1, 2):
        story.owner(f"bacc_{n}", "enti_1", HOUR_US - 1)

    joined = story.ask("card", 100, HOUR_US - 1, entity_id="bacc_1")

    assert (apart.features["card.declines1h"], apart.card_unknown) == (1, False)
    assert (joined.features["card.declines1h"], joined.card_unknown) == (None, True)


def test_given_a_rejected_wire_when_it_would_end_a_chain_then_its_shape_is_told_and_it_is_not_counted() -> None:
    story = Story()
    story.wire("incoming", 100_000, 0)

    rejected = story.wire("outgoing", 100_000, HOUR_US, party="cpty_2", status="REJECTED")

    assert told(rejected, "moved", "typology.layeringHops", "pair.firstTime") == (False, 2, True)
    assert told(rejected, "entity.out48hCents", "entity.peak48hCents", "fanOut24hCount") == (0, None, 0)
