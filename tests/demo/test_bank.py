"""The simulated bank: the same bytes for the same seed, in the bank's shapes, with everyone who should be in it."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from clearhold.demo.bank import HISTORY_DAYS, SimulatedBank
from clearhold.demo.moves import Move
from clearhold.demo.parties import LENDING, PAYROLL, REMITTANCE
from clearhold.demo.preflights import preflight_request
from clearhold.demo.reporter import Delivery
from clearhold.demo.stories import DETECTORS_OF, DORMANT, EVERY_STORY, TOLD_ONCE
from clearhold.features.core.instants import DAY_US
from clearhold.features.sandbox.parties import Ending, EventFamily
from tests.demo.bank_shapes import complaints

NOW = 1_790_000_000_000_000


def events_of(deliveries: list[Delivery]) -> list[dict[str, Any]]:
    return [msgspec.json.decode(delivery.body) for delivery in deliveries]


def some_live_moves(bank: SimulatedBank, count: int) -> list[tuple[Move, list[Delivery], bool]]:
    lived = []
    for place in range(count):
        at = NOW + place * 500_000
        move = bank.next_move(at)
        lived.append((move, bank.report(move, at), bank.asks_first(move)))
    return lived


@pytest.fixture(scope="module")
def history() -> list[Delivery]:
    return SimulatedBank(1).history(NOW)


@pytest.fixture(scope="module")
def lived() -> list[tuple[Move, list[Delivery], bool]]:
    bank = SimulatedBank(1)
    bank.history(NOW)
    return some_live_moves(bank, 2_000)


def test_given_the_same_seed_when_played_twice_then_every_byte_is_the_same(
    history: list[Delivery], lived: list[tuple[Move, list[Delivery], bool]]
) -> None:
    again = SimulatedBank(1)

    assert again.history(NOW) == history
    assert some_live_moves(again, 300) == lived[:300]


def test_given_another_seed_when_played_then_the_bytes_differ(history: list[Delivery]) -> None:
    assert SimulatedBank(2).history(NOW) != history


def test_given_a_later_run_on_the_same_data_when_played_then_no_event_id_repeats(history: list[Delivery]) -> None:
    later = [event for _, told, _ in some_live_moves(SimulatedBank(1, run=2), 200) for event in events_of(told)]

    assert {event["id"] for event in later}.isdisjoint(event["id"] for event in events_of(history))


def test_given_the_history_when_checked_then_every_event_has_the_banks_shape(history: list[Delivery]) -> None:
    assert [line for event in events_of(history) for line in complaints(event)] == []


def test_given_the_live_events_when_checked_then_every_event_has_the_banks_shape(
    lived: list[tuple[Move, list[Delivery], bool]],
) -> None:
    assert [line for _, told, _ in lived for event in events_of(told) for line in complaints(event)] == []


def test_given_a_broken_event_when_checked_then_the_checker_says_so(history: list[Delivery]) -> None:
    event = next(event for event in events_of(history) if event["type"] == "ach.outgoing_transfer.settled")
    broken = {**event, "data": {**event["data"], "amount": "12.50", "status": "RETURNED", "entity_id": "enti_1"}}

    assert len(complaints(broken)) == 3


def test_given_the_history_when_counted_then_it_is_months_of_a_few_thousand_transfers_on_every_rail(
    history: list[Delivery],
) -> None:
    events = events_of(history)
    transfers = {(delivery.program, delivery.transfer_id) for delivery in history if delivery.transfer_id}

    assert 3_000 < len(transfers) < 8_000
    assert {program for program, _ in transfers} == {PAYROLL, REMITTANCE, LENDING}
    assert {event["type"].split(".")[0] for event in events} >= {str(family) for family in EventFamily}
    assert history[0].due_at >= NOW - HISTORY_DAYS * DAY_US
    assert history[-1].due_at <= NOW
    assert [delivery.due_at for delivery in history] == sorted(delivery.due_at for delivery in history)


def test_given_the_history_when_read_then_returns_declines_and_a_denial_are_in_it(history: list[Delivery]) -> None:
    events = events_of(history)
    codes = Counter(detail["return_code"] for e in events for detail in e["data"].get("return_details") or ())
    types = Counter(event["type"] for event in events)

    assert codes["R01"] > 5
    assert codes["R10"] + codes["R07"] + codes["R29"] >= 3
    assert types["identity.verification.denied"] == 1
    assert types["card.authorization.declined"] > 5


def test_given_the_history_when_read_then_a_few_events_come_twice_and_a_few_out_of_order(
    history: list[Delivery],
) -> None:
    events = events_of(history)
    ids = Counter(event["id"] for event in events)
    newest: dict[str, str] = {}
    backwards = 0
    for event in events:
        data_id = event["data"]["id"]
        backwards += event["created_at"] < newest.get(data_id, "")
        newest[data_id] = max(event["created_at"], newest.get(data_id, ""))

    assert 10 < sum(count > 1 for count in ids.values()) < len(ids) / 20
    assert 5 < backwards < len(events) / 20


def test_given_the_live_phase_when_watched_then_every_story_is_told_and_most_moves_are_everyday(
    lived: list[tuple[Move, list[Delivery], bool]],
) -> None:
    stories = Counter(move.story for move, _, _ in lived)

    assert stories.keys() - {""} == DETECTORS_OF.keys()
    assert {story.name for story in (*EVERY_STORY, *TOLD_ONCE)} == DETECTORS_OF.keys()
    assert stories[DORMANT] == sum(story.name == DORMANT for story in TOLD_ONCE)
    assert stories[""] > 0.6 * len(lived)


def test_given_a_live_move_when_reported_then_its_first_event_is_created_now_and_the_rest_soon(
    lived: list[tuple[Move, list[Delivery], bool]],
) -> None:
    for move, told, _ in lived:
        created = min(delivery.due_at for delivery in told)
        assert created >= move.at
        assert max(delivery.due_at for delivery in told) - move.at < 60_000_000
    rejected = [move for move, _, _ in lived if move.ending is Ending.REJECTED]
    assert all(move.code == "AC04" for move in rejected)


def test_given_the_dormant_accounts_when_they_wake_then_they_were_silent_for_ninety_days(
    history: list[Delivery], lived: list[tuple[Move, list[Delivery], bool]]
) -> None:
    wakes = [move for move, _, _ in lived if move.story == DORMANT]

    for wake in wakes:
        seen = [
            delivery.due_at
            for delivery, event in zip(history, events_of(history), strict=True)
            if wake.party.account_id
            in (event["data"].get("bank_account_id"), event["data"].get("sender_bank_account_id"))
        ]
        assert seen
        assert wake.at - max(seen) > 90 * DAY_US


def test_given_invoice_fraud_when_told_then_the_name_is_the_vendors_and_the_account_is_not(
    lived: list[tuple[Move, list[Delivery], bool]],
) -> None:
    frauds = [move for move, _, _ in lived if move.story == "changed account details"]

    assert frauds
    for fraud in frauds:
        vendor = fraud.party.others[0]
        assert fraud.other.name == vendor.name
        assert (fraud.other.id, fraud.other.account_number) != (vendor.id, vendor.account_number)


def test_given_live_moves_when_asked_about_then_it_is_about_one_in_ten_and_only_money_going_out(
    lived: list[tuple[Move, list[Delivery], bool]],
) -> None:
    asked = [move for move, _, ask in lived if ask]

    assert 0.06 < len(asked) / len(lived) < 0.14
    assert all(not move.incoming and move.family not in (EventFamily.CARD, EventFamily.BOOK) for move in asked)


def test_given_a_move_when_asked_about_then_the_request_has_the_interfaces_fields() -> None:
    move = next(move for move, _, _ in some_live_moves(SimulatedBank(3), 200) if move.family is EventFamily.SWIFT)

    known = preflight_request("p1", move, on_file=True)
    stranger = preflight_request("p1", move, on_file=False)

    assert known == {
        "programId": "p1",
        "transfer": {
            "rail": "intl_wire",
            "direction": "outgoing",
            "amountCents": str(move.cents),
            "entityId": move.party.id,
            "description": move.note,
            "counterpartyId": move.other.id,
        },
    }
    assert stranger["transfer"]["counterparty"]["accountLast4"] == move.other.account_number[-4:]
    assert "counterpartyId" not in stranger["transfer"]
