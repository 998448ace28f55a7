"""The oracle's counts of an actor, its counterparties and its cards against values that were worked out by hand."""

import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import oracle_story


def test_given_amounts_within_a_tenth_when_one_more_lands_then_they_repeat_and_have_a_median() -> None:
    story = oracle_story("enti_1")
    for n, cents in enumerate((900, 1_100, 1_101, 899)):
        story.wire("enti_1", "cpty_1", cents, n * HOUR_US)
    four = story.wire("enti_1", "cpty_1", 1_000, 4 * HOUR_US)

    five = story.wire("enti_1", "cpty_1", 1_000, 24 * HOUR_US)
    six = story.wire("enti_1", "cpty_1", 1, 25 * HOUR_US)

    assert (four.repeated_amount_count_24h, four.entity_median_cents_90d) == (3, None)
    assert (five.repeated_amount_count_24h, five.entity_median_cents_90d) == (3, 1_000)
    assert (six.repeated_amount_count_24h, six.entity_median_cents_90d) == (1, 1_000)


def test_given_many_amounts_when_a_median_is_taken_then_it_is_of_the_newest_64() -> None:
    story = oracle_story("enti_1")
    for cents in range(100):
        story.wire("enti_1", "cpty_1", cents, 0)

    vector = story.wire("enti_1", "cpty_1", 99, 0)

    assert (vector.entity_median_cents_90d, vector.repeated_amount_count_24h) == (67, 11)


def test_given_round_amounts_when_cards_and_small_ones_are_among_them_then_those_do_not_count() -> None:
    story = oracle_story("enti_1")
    for cents in (500_000, 400_000, 550_000, 1_200_000):
        story.wire("enti_1", "cpty_1", cents, 0)
    story.deliver("account.created", bank.an_account(id="bacc_1", owners=["enti_1"]))
    card = story.card("bacc_1", 600_000, HOUR_US)

    round_one = story.wire("enti_1", "cpty_1", 600_000, 2 * HOUR_US)
    month = story.wire("enti_1", "cpty_1", 1, 30 * DAY_US)

    assert (card.round_amount_count_30d, round_one.round_amount_count_30d, month.round_amount_count_30d) == (2, 3, 1)
    assert (card.entity_in_cents_48h, card.entity_out_cents_48h) == (0, 2_650_000)


def test_given_money_in_and_out_when_two_days_pass_then_what_was_within_them_counts() -> None:
    story = oracle_story("enti_1")
    story.wire("cpty_1", "enti_1", 1_000, 0)
    story.wire("cpty_1", "enti_1", 200, 1)

    vector = story.wire("enti_1", "cpty_2", 150, 48 * HOUR_US)

    assert (vector.entity_in_cents_48h, vector.entity_out_cents_48h) == (200, 150)


# T0 is a Monday at 15:00: two banking days before it begins the Thursday, 111 hours back.
@pytest.mark.parametrize(("days_on", "since"), [(0, -111), (1, -87), (2, -15), (4, 33), (5, 57), (6, 57), (7, 57)])
def test_given_debits_around_a_midnight_when_two_banking_days_are_counted_then_weekends_do_not(
    days_on: int, since: int
) -> None:
    story = oracle_story("enti_1")
    story.ach("enti_1", 1_000, since * HOUR_US - 1)
    story.ach("enti_1", 200, since * HOUR_US)
    story.ach("enti_1", 30, since * HOUR_US, is_incoming=True)

    vector = story.wire("enti_1", "cpty_1", 7, days_on * DAY_US)

    assert (vector.entity_pulled_cents_2bd, vector.entity_fast_out_cents_2bd) == (200, 7)
    assert vector.entity_ach_debits_all == 2


def test_given_tiny_entries_when_debits_follow_then_only_whole_dollars_are_forward_ones() -> None:
    story = oracle_story("enti_1")
    story.ach("enti_1", 99, 0, type="CREDIT")
    story.ach("enti_2", 1, 0)
    first = story.ach("enti_1", 50, HOUR_US)
    story.ach("enti_1", 100, 2 * HOUR_US)

    vector = story.ach("enti_1", 5_000, 24 * HOUR_US)

    assert (first.entity_micro_entries_24h, first.program_micro_entries_24h, first.entity_forward_debits_24h) == (
        2,
        3,
        0,
    )
    assert (vector.entity_micro_entries_24h, vector.program_micro_entries_24h, vector.entity_forward_debits_24h) == (
        1,
        1,
        1,
    )


def test_given_a_card_that_is_tried_when_it_is_tried_again_then_declines_and_small_ones_count() -> None:
    story = oracle_story()
    story.card("bacc_1", 499, 0, "DECLINED", "INCORRECT_PIN")
    story.card("bacc_1", 500, SECOND_US, "DECLINED", "insufficient_funds")
    story.card("bacc_2", 501, SECOND_US, "DECLINED", "suspected_fraud")
    story.card("bacc_1", 100, SECOND_US, "PENDING", "suspected_fraud")
    all_of_it = story.card("bacc_1", 499, HOUR_US - 1, "DECLINED", "FRAUD_ADVICE")
    later = story.card("bacc_1", 10_000, HOUR_US)
    other = story.wire("enti_1", "cpty_1", 1, HOUR_US)

    assert (all_of_it.card_declines_1h, all_of_it.card_small_count_1h) == (3, 3)
    assert (all_of_it.program_card_attempts_1h, all_of_it.program_card_declines_1h) == (5, 4)
    assert (all_of_it.program_card_small_count_1h, all_of_it.program_card_fraud_declines_24h) == (4, 3)
    assert (later.card_declines_1h, later.card_small_count_1h, later.program_card_attempts_1h) == (2, 2, 5)
    assert (later.program_card_attempts_24h, later.program_card_fraud_declines_30d) == (6, 3)
    assert (other.program_card_attempts_24h, other.card_small_count_1h) == (0, 0)


def test_given_a_card_that_is_declined_later_when_others_land_then_it_counts_from_then_on() -> None:
    story = oracle_story()
    data = bank.a_card_authorization(
        id="trf_x", card_id=None, entity_id=None, created_at=bank.rfc3339(T0 + 1), updated_at=None
    )
    story.deliver("card.authorization.approved", data, at=T0 + 1)
    story.deliver(
        "card.authorization.declined", data | {"status": "DECLINED", "decision_reason": "INCORRECT_PIN"}, at=T0 + 60
    )

    before, after = story.card("bacc_1", 1, 59), story.card("bacc_1", 1, 60)

    assert (before.card_declines_1h, before.program_card_fraud_declines_24h) == (0, 0)
    assert (after.card_declines_1h, after.program_card_fraud_declines_24h) == (1, 1)


def returned(code: str) -> bank.Data:
    return {"status": "RETURNED", "return_details": [bank.a_return(code)]}


def test_given_returns_when_they_age_then_probing_and_stops_are_told_apart() -> None:
    story = oracle_story("enti_1")
    for n, code in enumerate(("R02", "R03", "R10", "R01")):
        story.ach("enti_1", 1_000, n, counterparty_id=f"cpty_{n}", **returned(code))
    story.ach("enti_1", 1_000, 4, counterparty_id="cpty_0", **returned("R20"))
    story.ach("enti_2", 1_000, 4, counterparty_id="cpty_4", **returned("R04"))

    probed = story.ach("enti_1", 1_000, HOUR_US, counterparty_id="cpty_0")
    stopped = story.ach("enti_9", 1_000, 3 * DAY_US, counterparty_id="cpty_2")
    month = story.ach("enti_1", 1_000, 30 * DAY_US + 1, counterparty_id="cpty_0")

    assert (probed.entity_probing_returns_30d, probed.counterparty_stop_return_days) == (2, None)
    assert (stopped.entity_probing_returns_30d, stopped.counterparty_stop_return_days) == (0, 2)
    assert month.entity_probing_returns_30d == 1


def test_given_a_return_that_is_dishonoured_when_others_land_then_it_stops_being_one() -> None:
    story = oracle_story("enti_1")
    data = bank.an_ach_transfer(id="trf_x", entity_id="enti_1", type="DEBIT", updated_at=None) | returned("R10")
    story.deliver("ach.outgoing_transfer.returned", data | {"created_at": bank.rfc3339(T0 + 1)}, at=T0 + 1)
    before = story.ach("enti_1", 1_000, HOUR_US)
    details = [bank.a_return("R10"), bank.a_return("R68")]
    undone = {"status": "RETURN_DISHONORED", "return_details": details, "created_at": bank.rfc3339(T0 + 1)}
    story.deliver("ach.outgoing_transfer.return_dishonored", data | undone, at=T0 + 2 * HOUR_US)

    after = story.ach("enti_1", 1_000, 3 * HOUR_US)

    assert (before.counterparty_stop_return_days, after.counterparty_stop_return_days) == (0, None)


def test_given_strangers_when_they_are_paid_in_a_burst_then_those_of_the_last_day_are_new() -> None:
    story = oracle_story("enti_1")
    story.wire("enti_2", "cpty_1", 1, 0)
    for n in (1, 2, 3):
        story.wire("enti_1", f"cpty_{n}", 1, HOUR_US)
    story.wire("enti_2", "cpty_5", 1, HOUR_US)

    third = story.wire("enti_1", "cpty_4", 1, 24 * HOUR_US)
    late = story.wire("enti_1", "cpty_5", 1, 25 * HOUR_US)

    assert (third.entity_new_counterparties_24h, late.entity_new_counterparties_24h) == (3, 1)


def test_given_one_account_under_three_names_when_entities_pay_it_then_all_of_them_share_it() -> None:
    story = oracle_story()
    for n in (1, 2, 3):
        story.deliver("counterparty.created", bank.a_counterparty(id=f"cpty_{n}", name=f"Name {n}"))
    story.deliver("counterparty.created", bank.a_counterparty(id="cpty_4", routing_number="026009593"))
    for n in (1, 2, 3, 4):
        story.wire(f"enti_{n}", f"cpty_{n}", 1, n)

    shared = story.wire("enti_5", "cpty_1", 1, HOUR_US)
    unknown = story.wire("enti_5", "cpty_1", 1, HOUR_US, entity_id=None)
    alone = story.wire("enti_4", "cpty_4", 1, HOUR_US)
    month = story.wire("enti_1", "cpty_2", 1, 30 * DAY_US + 2)
    bare = story.wire("enti_1", "cpty_9", 1, 30 * DAY_US + 2)

    assert (shared.counterparty_shared_entities_30d, alone.counterparty_shared_entities_30d) == (4, 1)
    assert unknown.counterparty_shared_entities_30d == 4
    assert (month.counterparty_shared_entities_30d, bare.counterparty_shared_entities_30d) == (3, 0)


def test_given_a_profile_when_its_entity_acts_then_its_age_and_its_mark_are_those_known_then() -> None:
    story = oracle_story()
    created = bank.rfc3339(T0 - 10 * DAY_US)
    hit = {"review_reasons": ["dob_mismatch", "Fraud_Risk"], "updated_at": None}
    story.wire("enti_1", "cpty_1", 1, 0)
    unknown = story.wire("enti_1", "cpty_1", 1, DAY_US)
    story.deliver("identity.created", bank.an_entity(created_at=created, updated_at=None), at=T0 + 2 * DAY_US)
    known = story.wire("enti_1", "cpty_1", 1, 2 * DAY_US)
    story.deliver("identity.updated", bank.an_entity(created_at=None, **hit), at=T0 + 3 * DAY_US)

    hit_then = story.wire("enti_1", "cpty_1", 1, 3 * DAY_US)
    late = story.wire("enti_1", "cpty_1", 1, 3 * DAY_US - 1)
    nobody = story.wire("enti_2", "cpty_1", 1, 3 * DAY_US)
    told_at = T0 + 3 * DAY_US + DAY_US // 2
    story.deliver("identity.created", bank.an_entity(id="enti_3", created_at=bank.rfc3339(T0 + 4 * DAY_US)), at=told_at)
    unborn = story.wire("enti_3", "cpty_1", 1, 4 * DAY_US - 1)
    story.deliver("identity.created", bank.an_entity(id="enti_4", created_at=bank.rfc3339(T0 + 4 * DAY_US)), at=told_at)
    newborn = story.wire("enti_4", "cpty_1", 1, 4 * DAY_US)

    assert (unborn.entity_age_days, newborn.entity_age_days) == (None, 0)
    assert (unknown.entity_age_days, unknown.entity_fraud_risk) == (1, None)
    assert (known.entity_age_days, known.entity_fraud_risk) == (12, False)
    assert (hit_then.entity_age_days, hit_then.entity_fraud_risk) == (13, True)
    assert (late.entity_age_days, late.entity_fraud_risk) == (12, False)
    assert (nobody.entity_age_days, nobody.entity_fraud_risk) == (None, None)


def test_given_a_returned_debit_of_nobody_when_its_return_is_said_again_then_nobody_has_returns() -> None:
    story = oracle_story()
    facts: bank.Data = {
        "id": "trf_1",
        "bank_account_id": None,
        "entity_id": None,
        "type": "DEBIT",
        "status": "RETURNED",
    }

    for day, code in enumerate(("R02", "R10")):
        details = [{"return_code": code, "created_at": bank.rfc3339(T0)}]
        updated = bank.rfc3339(T0 + day * DAY_US)
        returned = bank.an_ach_transfer(**facts, return_details=details, updated_at=updated)
        story.deliver("ach.outgoing_transfer.returned", returned, at=T0 + day * DAY_US)

        assert story.vector.entity_returns_30d == 0
