"""Where money goes, what an attempt counts for and whom a return accuses, on events as the bank sends them."""

from typing import Final

import pytest

from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from tests.support import bank_events as bank
from tests.support.bank_stories import ach, card, returned_ach, wire
from tests.support.clock import T0
from tests.support.stories import ShardStory, detector_story

CITY: Final = {"company_name": "CITY POWER"}


def a_program_with_a_baseline() -> ShardStory:
    story = detector_story()
    for place in range(6):
        wire(story, f"bacc_9{place}", "outgoing", 100_00, -(place + 20) * DAY, counterparty_id="cpty_9")
    return story


def opened(story: ShardStory) -> set[str]:
    assert not story.all(QuarantineRow)
    return {alert.detector for alert in story.all(AlertRow)}


def signals(story: ShardStory) -> set[str]:
    """Of the last transfer, whether the program has history enough for a score or not."""
    return {reason.signal for reason in trs_v1.DEFAULT.fired(story.vector)}


def test_given_money_that_was_pulled_in_when_it_is_sent_on_then_it_came_in_and_left() -> None:
    story = a_program_with_a_baseline()

    pulled = ach(story, "bacc_1", "outgoing DEBIT", 500_000, 0)
    sent = wire(story, "bacc_1", "outgoing", 490_000, 10 * HOUR, counterparty_id="cpty_1")

    assert (pulled.entity_in_cents_48h, pulled.entity_out_cents_48h) == (500_000, 0)
    assert (sent.entity_in_cents_48h, sent.entity_out_cents_48h) == (500_000, 490_000)
    assert "rapid_in_out" in opened(story)


def test_given_a_utility_that_pulls_money_out_when_more_is_sent_then_nothing_was_passed_on() -> None:
    story = a_program_with_a_baseline()

    ach(story, "bacc_1", "incoming DEBIT", 500_000, 0, **CITY)
    sent = wire(story, "bacc_1", "outgoing", 490_000, 10 * HOUR, counterparty_id="cpty_1")

    assert (sent.entity_in_cents_48h, sent.entity_out_cents_48h) == (0, 990_000)
    assert "rapid_in_out" not in opened(story)


def test_given_instalments_that_a_lender_pulls_then_its_customers_pay_it_and_it_fans_in_not_out() -> None:
    story = a_program_with_a_baseline()

    for place in range(5):
        vector = ach(story, "bacc_1", "outgoing DEBIT", 100_00, place * HOUR, counterparty_id=f"cpty_{place}")

    assert (vector.fan_in_count_24h, vector.fan_out_count_24h) == (5, 1)
    assert {"fan_in"} == opened(story) & {"fan_in", "fan_out"}
    (alert,) = story.alerts("fan_in")
    assert (alert.subject_type, alert.subject_id) == ("account", "bacc_1")


@pytest.mark.parametrize(
    ("way", "named"), [("incoming DEBIT", CITY), ("outgoing DEBIT", {"receiver_name": "CITY POWER"})]
)
def test_given_debits_of_others_that_we_return_then_nobody_here_is_accused(way: str, named: dict[str, str]) -> None:
    story = a_program_with_a_baseline()
    for place in range(2):
        returned_ach(story, "bacc_1", "incoming DEBIT", "R10", place * 2 * DAY, **CITY)

    v = ach(story, "bacc_1", way, 100_00, 10 * DAY, **named)

    assert (v.entity_unauthorized_returns_60d, v.entity_returns_30d) == (0, 0)
    assert (v.counterparty_unauthorized_returns_60d, v.counterparty_prior_unauthorized_returns) == (0, 0)
    assert v.counterparty_prior_returns == 2
    assert v.counterparty_stop_return_days is None
    assert not opened(story) & {"unauthorized_return", "return_code_abuse", "unauthorized_return_rate"}


def test_given_two_debits_sent_that_came_back_when_a_third_comes_in_then_only_those_sent_count() -> None:
    story = a_program_with_a_baseline()
    for place in range(2):
        returned_ach(story, "bacc_1", "outgoing DEBIT", "R10", place * 2 * DAY, counterparty_id="cpty_1")

    theirs = ach(story, "bacc_1", "incoming DEBIT", 100_00, 5 * DAY, counterparty_id="cpty_1")
    silent = signals(story)
    ach(story, "bacc_1", "outgoing DEBIT", 100_00, 5 * DAY, counterparty_id="cpty_1")

    assert (theirs.entity_unauthorized_returns_60d, theirs.counterparty_unauthorized_returns_60d) == (2, 2)
    assert not silent & {"unauthorized_return", "redebit_after_return"}
    assert {"unauthorized_return", "redebit_after_return"} <= signals(story)
    assert "unauthorized_return" in opened(story)


def test_given_debits_of_a_year_ago_when_a_wire_goes_to_the_counterparty_then_their_returns_say_nothing() -> None:
    story = a_program_with_a_baseline()
    for day in (-400, -390):
        returned_ach(story, "bacc_1", "outgoing DEBIT", "R10", day * DAY, counterparty_id="cpty_old")
    before = len(story.all(AlertRow))

    v = wire(story, "bacc_2", "outgoing", 200_00, 0, counterparty_id="cpty_old")
    ach(story, "bacc_2", "outgoing DEBIT", 200_00, HOUR, counterparty_id="cpty_old")

    assert (v.counterparty_prior_unauthorized_returns, v.counterparty_unauthorized_returns_60d) == (2, 0)
    assert "unauthorized_return" not in signals(story)
    assert not [row for row in story.all(AlertRow)[before:] if row.detector == "unauthorized_return"]


def test_given_credits_that_came_back_when_another_is_sent_then_it_is_no_abuse_of_returns() -> None:
    story = a_program_with_a_baseline()
    for place, code in enumerate(("R23", "R17")):
        returned_ach(story, "bacc_1", "outgoing CREDIT", code, place * DAY, counterparty_id=f"cpty_{place}")

    v = ach(story, "bacc_1", "outgoing CREDIT", 100_00, 5 * DAY, counterparty_id="cpty_1")

    assert (v.entity_returns_30d, v.entity_ach_debits_30d, v.entity_prior_returns) == (0, 0, 2)
    assert "return_code_abuse" not in signals(story) | opened(story)


def test_given_old_debits_that_come_back_late_when_none_was_sent_since_then_their_share_is_not_measured() -> None:
    story = a_program_with_a_baseline()
    for place in range(2):
        data = bank.an_ach_transfer(
            id=f"acht_{place}", type="DEBIT", created_at=bank.rfc3339(T0), updated_at=bank.rfc3339(T0)
        )
        story.deliver("ach.outgoing_transfer.settled", data)
        story.return_debit(data, "R10", (40 + place) * DAY)

    v = ach(story, "bacc_1", "outgoing CREDIT", 100_00, 42 * DAY, counterparty_id="cpty_7")

    assert (v.entity_returns_30d, v.entity_ach_debits_30d) == (2, 0)
    assert "return_code_abuse" not in signals(story) | opened(story)


def test_given_an_entry_that_came_back_by_ofac_when_money_goes_there_again_then_it_is_a_persons_matter() -> None:
    story = a_program_with_a_baseline()
    returned_ach(story, "bacc_1", "outgoing CREDIT", "R16", 0, counterparty_id="cpty_1")
    at_its_delivery = story.alert("sanctions_return")

    v = wire(story, "bacc_2", "outgoing", 100_00, 200 * DAY, counterparty_id="cpty_1")

    assert v.counterparty_frozen_returns == 1
    assert "sanctions_return" in signals(story)
    assert at_its_delivery.opened_at == T0 + DAY
    for alert in story.alerts("sanctions_return"):
        assert (alert.subject_id, alert.severity, alert.hard_signal) == ("cpty_1", "high", True)
    assert [alert.opened_at for alert in story.alerts("sanctions_return")] == [T0 + DAY, T0 + 200 * DAY]


def test_given_a_denied_owner_when_its_card_is_declined_then_it_tries_and_does_not_move() -> None:
    story = a_program_with_a_baseline()
    story.deliver("identity.verification.denied", bank.an_entity(id="enti_1", verification_status="DENIED"))
    story.deliver("account.frozen", bank.an_account(id="bacc_1", owners=["enti_1"]), at=T0 + HOUR)

    v = card(story, "bacc_1", 50_00, DAY, status="DECLINED", decision="DECLINED", decision_reason="INSUFFICIENT_FUNDS")

    assert (v.moved, v.entity_verification_status) == (False, "DENIED")
    assert (v.velocity_24h_count, v.velocity_24h_sum_cents) == (0, 0)
    assert "kyc_denied_attempt" in signals(story)
    assert "kyc_denied_moving" not in signals(story) | opened(story)


def test_given_a_rejected_wire_to_a_stranger_then_it_counts_for_nothing_and_opens_nothing() -> None:
    story = a_program_with_a_baseline()

    v = wire(story, "bacc_1", "outgoing", 9_500_00, 0, counterparty_id="cpty_1", status="REJECTED")

    counts = (v.velocity_24h_count, v.velocity_24h_sum_cents, v.structuring_count_24h, v.fan_in_count_24h)
    assert (v.moved, *counts, v.entity_out_cents_48h, v.entity_new_counterparties_24h) == (False, 0, 0, 0, 0, 0, 0)
    assert (v.counterparty_first_time, v.pair_first_time) == (True, True)
    assert (signals(story), opened(story)) == (set(), set())


def test_given_a_transfer_that_moved_when_it_is_canceled_after_all_then_it_is_an_attempt() -> None:
    story = a_program_with_a_baseline()
    wire(story, "bacc_1", "outgoing", 5_000_00, 0, id="wire_1", counterparty_id="cpty_1")

    wire(story, "bacc_1", "outgoing", 5_001_00, HOUR, id="wire_1", counterparty_id="cpty_1", status="CANCELED")

    assert (story.vector.moved, story.vector.velocity_24h_count) == (False, 0)


def test_given_a_new_program_when_its_first_transfer_is_large_then_nothing_says_so() -> None:
    story = detector_story()

    v = wire(story, "bacc_1", "outgoing", 5_000_00, 0, counterparty_id="cpty_1")

    assert v.program_p95_cents is None
    assert not (opened(story) | signals(story)) & {"first_time_counterparty_large", "velocity_spike", "amount_spike"}
