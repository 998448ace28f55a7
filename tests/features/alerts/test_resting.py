"""What an alert rests on and how current it is, from events as the bank sends them."""

from typing import Any

import msgspec
import pytest

from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.instants import format_instant
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision, evidence_of
from tests.support.clock import T0
from tests.support.programs import NOON, auto_closed_alert, warmed_program
from tests.support.stories import ShardStory, detector_story

MINUTE = HOUR // 60


def wire_of(story: ShardStory, name: str, cents: int, at: int, **over: Any) -> None:
    """An outgoing wire of account bacc_1, known by what a bank sends."""
    data = bank.a_wire(
        id=name, amount=cents, created_at=bank.rfc3339(T0 + at), updated_at=bank.rfc3339(T0 + at), **over
    )
    way = "incoming" if over.get("is_incoming") else "outgoing"
    story.deliver(f"wire.{way}_transfer.completed", data, at=T0 + at)


def debit_of(story: ShardStory, name: str, at: int, **over: Any) -> bank.Data:
    data = bank.an_ach_transfer(
        id=name, type="DEBIT", created_at=bank.rfc3339(T0 + at), updated_at=bank.rfc3339(T0 + at), **over
    )
    story.deliver("ach.outgoing_transfer.settled", data, at=T0 + at)
    return data


def rests_on(story: ShardStory, alert: AlertRow) -> list[str]:
    """The ids of the transfers that an alert rests on, as the interface shows them for its log offsets."""
    ids = {str(row.offset): row.id for row in story.all(TransferRow)}
    return [ids[offset] for offset in evidence_of(alert)["restsOn"]]


def test_given_three_transfers_just_under_a_line_then_the_alert_names_all_three() -> None:
    story = detector_story()
    for place in range(3):
        wire_of(story, f"wire_{place}", 950_000, place * HOUR, counterparty_id=f"cpty_{place}")

    alert = story.alert("structuring_pattern")

    assert alert.subject_type == "account"
    assert rests_on(story, alert) == ["wire_0", "wire_1", "wire_2"]
    assert evidence_of(alert)["restsOnCount"] == 3


def test_given_nine_transfers_just_under_a_line_then_the_alert_is_as_of_the_ninth() -> None:
    story = detector_story()
    for place in range(9):
        wire_of(story, f"wire_{place}", 950_000, place * 10 * MINUTE)

    alert = story.alert("structuring_pattern")
    evidence = evidence_of(alert)

    assert "9 transfers in 24 h" in alert.summary
    assert (evidence["hits"], evidence["restsOnCount"], evidence["totalCents"]) == (7, 9, str(7 * 950_000))
    assert rests_on(story, alert) == [f"wire_{place}" for place in range(9)]
    assert evidence["lastAt"] == format_instant(T0 + 80 * MINUTE)


def test_given_two_accomplices_with_one_counterparty_then_their_structuring_is_an_alert_on_it() -> None:
    story = detector_story()
    for place in range(4):
        account = f"bacc_{place % 2}"
        wire_of(story, f"wire_{place}", 950_000, place * HOUR, bank_account_id=account)

    alert = story.alert("structuring_pattern")

    assert (alert.subject_type, alert.subject_id) == ("counterparty", "cpty_1")
    assert evidence_of(alert)["actorIds"] == ["bacc_0", "bacc_1"]
    assert len(rests_on(story, alert)) == 4


def test_given_money_in_and_out_then_the_alert_names_both() -> None:
    story = detector_story()
    wire_of(story, "wire_in", 500_000, 0, is_incoming=True, counterparty_id="cpty_in")
    wire_of(story, "wire_out", 490_000, 20 * HOUR, counterparty_id="cpty_out")

    assert rests_on(story, story.alert("rapid_in_out")) == ["wire_in", "wire_out"]


def test_given_a_second_unauthorized_return_then_the_alert_names_the_returned_debits() -> None:
    story = detector_story()
    sent = [debit_of(story, f"acht_{place}", place * HOUR, counterparty_id=f"cpty_{place}") for place in range(3)]
    for data in sent[:2]:
        story.return_debit(data, "R10", 2 * DAY)
    debit_of(story, "acht_later", 3 * DAY)

    for alert in story.alerts("unauthorized_return"):
        assert rests_on(story, alert)[:2] == ["acht_0", "acht_1"]


def test_given_returns_that_tell_of_abuse_then_the_alert_names_the_returned_debits() -> None:
    story = detector_story()
    sent = [debit_of(story, f"acht_{place}", place * HOUR, counterparty_id=f"cpty_{place}") for place in range(3)]
    for data in sent[:2]:
        story.return_debit(data, "R01", DAY)
    debit_of(story, "acht_later", 2 * DAY, counterparty_id="cpty_9")

    assert rests_on(story, story.alert("return_code_abuse"))[:2] == ["acht_0", "acht_1"]


def test_given_an_entry_that_came_back_as_r16_then_the_alert_names_it_then_and_at_the_next_transfer() -> None:
    story = detector_story()
    story.return_debit(debit_of(story, "acht_0", 0), "R16", DAY)
    returned = rests_on(story, story.alert("sanctions_return"))

    wire_of(story, "wire_1", 10_00, 3 * DAY)
    wire_of(story, "wire_2", 10_00, 4 * DAY, bank_account_id="bacc_2")

    alert = story.alert("sanctions_return")
    assert returned == ["acht_0"]
    assert (alert.opened_at, evidence_of(alert)["hits"]) == (T0 + DAY, 3)
    assert rests_on(story, alert) == ["acht_0", "wire_2"]


def test_given_an_entry_that_came_back_as_r16_when_it_is_told_again_then_it_is_counted_once() -> None:
    story = detector_story()
    sent = debit_of(story, "acht_0", 0)
    story.return_debit(sent, "R16", DAY)
    story.return_debit(sent | {"amount": 126_00}, "R16", 2 * DAY)

    assert evidence_of(story.alert("sanctions_return"))["hits"] == 1


def test_given_transfers_without_another_side_then_they_are_named_too() -> None:
    story = detector_story()
    nobody: bank.Data = {"counterparty_id": None, "receiver_name": None, "company_name": None}
    for place in range(10):
        at = bank.rfc3339(T0 + place * HOUR)
        data = bank.an_ach_transfer(id=f"acht_{place}", amount=50, created_at=at, updated_at=at, **nobody)
        story.deliver("ach.outgoing_transfer.settled", data, at=T0 + place * HOUR)

    alert = story.alert("micro_entry_abuse")

    assert rests_on(story, alert) == [f"acht_{place}" for place in range(10)]


def test_given_declined_attempts_on_a_card_then_the_alert_names_them() -> None:
    story = detector_story()
    for place in range(3):
        story.card("bacc_1", 20_00, place * MINUTE, "DECLINED", "INVALID_CARD")

    assert len(rests_on(story, story.alert("card_testing"))) == 3


def test_given_an_approved_attempt_without_us_cents_among_declined_ones_then_it_is_not_named_as_a_small_one() -> None:
    story = detector_story()
    foreign = bank.a_card_authorization(
        id="ctxn_foreign", card_id=None, bank_account_id="bacc_1", entity_id=None, amount=900_000, currency_code="JPY"
    )
    at = T0 + HOUR
    story.deliver("card.authorization.approved", foreign | {"created_at": bank.rfc3339(at), "updated_at": None}, at=at)
    for place in range(1, 4):
        story.card("bacc_1", 50_00, HOUR + place * MINUTE, status="DECLINED", reason="INSUFFICIENT_FUNDS")

    assert len(rests_on(story, story.alert("card_testing"))) == 3
    assert "ctxn_foreign" not in rests_on(story, story.alert("card_testing"))


def test_given_more_transfers_than_are_named_then_the_newest_hundred_are_and_all_are_counted() -> None:
    story = detector_story()
    for place in range(130):
        wire_of(story, f"wire_{place}", 10_00 + place * 5_00, place * MINUTE)

    alert = story.alert("velocity_spike")

    assert rests_on(story, alert) == [f"wire_{place}" for place in range(30, 130)]
    assert evidence_of(alert)["restsOnCount"] == 130


@pytest.mark.parametrize("detector", ["repeated_amount", "velocity_spike"])
def test_given_detectors_that_follow_no_money_then_their_evidence_shows_no_path(detector: str) -> None:
    story = detector_story().introduce("enti_1", "enti_2", "enti_3")
    for place in range(6):
        story.wire("enti_1", "enti_2", 1_000_00, place * HOUR)
        story.wire("enti_2", "enti_3", 990_00, place * HOUR + MINUTE)

    assert story.alerts(detector)
    assert all(evidence_of(row)["path"] is None for row in story.versions(detector))


def test_given_a_dump_after_alerts_when_it_is_loaded_then_later_evidence_is_the_same() -> None:
    story = detector_story()
    for place in range(4):
        wire_of(story, f"wire_{place}", 950_000, place * HOUR)
        story.card("bacc_9", 20_00, place * MINUTE, "DECLINED", "INVALID_CARD")
    loaded = ShardState.loaded(iter(list(story.state.dump())))

    for place in (4, 5):
        wire_of(story, f"wire_{place}", 950_000, place * HOUR)
        story.card("bacc_9", 20_00, (place + 1) * MINUTE, "DECLINED", "INVALID_CARD")
    rows: list[msgspec.Struct] = []
    for entry in story.entries[-4:]:
        loaded.apply(entry, rows.append)

    assert [row for row in rows if isinstance(row, AlertRow)] == [
        row for row in story.all(AlertRow) if row.offset >= story.entries[-4].offset
    ]


def test_given_a_policy_closed_alert_that_a_person_reopens_then_it_is_routed_to_a_person() -> None:
    story, alert = auto_closed_alert()

    story.submit(a_decision(alert, "hold", NOON + 7 * HOUR))

    again = story.alert("repeated_amount")
    assert (alert.route, again.route, again.status) == ("automated", "reviewed", "held")


def test_given_a_score_in_review_then_its_alert_holds_the_reasons_that_add_up_to_it() -> None:
    story = warmed_program()
    story.wire("enti_1", "cpty_2", 9_500_00, NOON)

    scored = [row for row in story.all(AlertRow) if row.score_at_alert is not None]

    assert scored
    for row in scored:
        assert sum(reason["weight"] for reason in evidence_of(row)["scoreReasons"]) == row.score_at_alert


def test_given_transfers_of_the_past_then_their_alert_is_from_history_until_a_live_one_joins_it() -> None:
    story = detector_story()
    for place in range(3):
        at = bank.rfc3339(T0 + place * HOUR)
        data = bank.a_wire(id=f"wire_{place}", amount=950_000, created_at=at, updated_at=at)
        story.deliver("wire.outgoing_transfer.completed", data, at=T0 + place * HOUR, appended_at=T0 + 4 * DAY)

    loaded = story.alert("structuring_pattern")
    assert (loaded.from_history, loaded.opened_at) == (True, T0 + 4 * DAY)
    assert evidence_of(loaded)["fromHistory"] is True

    wire_of(story, "wire_3", 950_000, 4 * DAY)
    assert story.alert("structuring_pattern").from_history is False


def test_given_a_transfer_two_days_late_then_its_alert_is_not_from_history() -> None:
    story = detector_story()
    at = bank.rfc3339(T0)
    data = bank.a_wire(amount=950_000, created_at=at, updated_at=at)

    story.deliver("wire.outgoing_transfer.completed", data, at=T0, appended_at=T0 + 2 * DAY)

    assert not any(row.from_history for row in story.all(AlertRow))


def test_given_a_transfer_that_comes_to_review_when_it_is_scored_again_then_an_alert_opens_on_it() -> None:
    story = detector_story()
    for place in range(6):
        wire_of(story, f"wire_{place}", 10_00, place * DAY)
    data = bank.a_wire(id="wire_x", amount=11_00, created_at=bank.rfc3339(T0 + 7 * DAY))
    story.deliver("wire.outgoing_transfer.pending", data | {"updated_at": None}, at=T0 + 7 * DAY)
    assert not story.all(AlertRow)

    abroad = data | {"beneficiary_address": {"country_code": "MM"}, "updated_at": bank.rfc3339(T0 + 8 * DAY)}
    story.deliver("wire.outgoing_transfer.completed", abroad, at=T0 + 8 * DAY)

    assert (story.one(TransferRow).score or 0) >= 30
    assert [row.transfer_id for row in story.last(AlertRow) if row.subject_type == "transfer"] == ["wire_x"] * 2
