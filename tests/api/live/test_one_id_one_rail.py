"""One id is one transfer of one rail; a refund under its purchase's id is a transfer of its own."""

from typing import Any

import pytest

from tests.support.live_feed import DAY, WIRE, LiveFeed, now

WIRE_STARTED = "wire.outgoing_transfer.initiated"


def shown(feed: LiveFeed, transfer_id: str) -> tuple[Any, ...]:
    transfer = feed.transfer(transfer_id)
    return tuple(transfer[name] for name in ("rail", "direction", "type", "amountCents", "status"))


@pytest.mark.parametrize(
    ("kind", "over"),
    [
        ("ach.outgoing_transfer.initiated", {"type": "DEBIT"}),
        ("realtime.outgoing_transfer.completed", {"status": "completed"}),
        ("swift.outgoing_transfer.initiated", {"currency_code": "EUR"}),
        ("book.transfer.completed", {"sender_bank_account_id": "bacc_1", "receiver_bank_account_id": "bacc_2"}),
        ("check.incoming_debit.issued", {"positive_pay_amount": 7_000}),
        ("card.authorization.approved", {"merchant": {"id": "mrch_1"}}),
    ],
)
def test_given_a_wire_when_an_event_of_another_rail_has_its_id_then_it_is_unusable_and_the_wire_stays(
    feed: LiveFeed, kind: str, over: dict[str, Any]
) -> None:
    feed.send(WIRE_STARTED, {"id": "same", "amount": 5_000, "entity_id": "enti_1"}, now() - DAY)
    feed.settle()
    before = shown(feed, "same")

    feed.send(kind, {"id": "same", "amount": 7_000, "entity_id": "enti_1"} | over, now())

    event = feed.event()
    assert (event["result"], event["path"]) == ("unusable", "data.id")
    assert shown(feed, "same") == before == ("wire", "outgoing", None, "5000", "INITIATED")


def test_given_a_wire_when_its_next_state_has_its_id_then_it_is_applied(feed: LiveFeed) -> None:
    feed.send(WIRE_STARTED, {"id": "same", "amount": 5_000, "entity_id": "enti_1"}, now() - DAY)
    feed.send(WIRE, {"id": "same", "amount": 5_000, "entity_id": "enti_1"}, now())

    assert feed.event()["result"] == "applied"
    assert feed.transfer("same")["status"] == "COMPLETED"


def card(feed: LiveFeed, kind: str, cents: int, days_ago: float, **over: Any) -> None:
    data = {"id": "ctxn_1", "amount": cents, "card_id": "card_1", "entity_id": "enti_1", "merchant": {"id": "mrch_1"}}
    feed.send(kind, data | {"created_at": None, "updated_at": None} | over, now() - days_ago * DAY)


@pytest.mark.parametrize("refunded", [3_000, 12_000])
@pytest.mark.parametrize("first", ["card.authorization.approved", "card.transaction.settled"])
def test_given_a_purchase_when_its_refund_comes_under_its_id_then_it_is_a_transfer_of_its_own(
    feed: LiveFeed, first: str, refunded: int
) -> None:
    card(feed, first, 12_000, 3)
    feed.settle()
    before = shown(feed, "ctxn_1")

    card(feed, "card.transaction.refunded", refunded, 1)

    event = feed.event()
    others = [transfer for id_, transfer in feed.transfers().items() if id_ != "ctxn_1"]
    assert shown(feed, "ctxn_1") == before
    assert [(each["rail"], each["direction"], each["amountCents"]) for each in others] == [
        ("card", "incoming", str(refunded))
    ]
    assert event["result"] == "applied"
    assert event["subject"] == {"type": "transfer", "id": others[0]["id"]}
    assert others[0]["id"] != "ctxn_1"


def test_given_a_purchase_and_its_refund_when_the_next_transfer_lands_then_both_amounts_are_counted(
    feed: LiveFeed,
) -> None:
    card(feed, "card.transaction.settled", 12_000, 0.6)
    card(feed, "card.transaction.refunded", 3_000, 0.5)

    feed.send(WIRE, {"id": "wire_1", "amount": 100, "entity_id": "enti_1"}, now() - 0.1 * DAY)
    feed.settle()

    features = feed.features("wire_1")
    assert (features["velocity24hCount"], features["velocity24hSumCents"]) == (3, 15_100)


def test_given_a_refund_that_comes_before_its_purchase_when_both_are_there_then_each_is_a_transfer(
    feed: LiveFeed,
) -> None:
    card(feed, "card.transaction.refunded", 3_000, 1)
    card(feed, "card.transaction.settled", 12_000, 3)
    feed.settle()

    found = sorted((each["direction"], each["amountCents"]) for each in feed.transfers().values())
    assert found == [("incoming", "3000"), ("outgoing", "12000")]
