"""Two snapshots of one object in the same second: the later state in the life of the object is kept."""

from typing import Any

import pytest

from tests.support.live_feed import DAY, LiveFeed, now, reason_ids, text_of

Data = dict[str, Any]
Step = tuple[str, Data]

RETURN = {"return_details": [{"return_code": "R10"}]}
DISHONOURED = {"return_details": [{"return_code": "R10"}, {"return_code": "R68"}]}
CONTESTED = {"return_details": [{"return_code": "R10"}, {"return_code": "R68"}, {"return_code": "R73"}]}
DEBIT = {"type": "DEBIT", "is_incoming": False}


def step(kind: str, status: str, **over: Any) -> Step:
    return (f"{kind}.{status.lower()}", {"status": status} | over)


WIRE, REALTIME, ACH = "wire.outgoing_transfer", "realtime.outgoing_transfer", "ach.outgoing_transfer"
CHECK, CARD = "check.incoming_debit", "card.authorization"
LATER = [  # an earlier state, and the later one
    (step(REALTIME, "initiated"), step(REALTIME, "completed")),
    (step(REALTIME, "initiated"), step(REALTIME, "rejected")),
    (step(REALTIME, "manual_review"), step(REALTIME, "manual_review_rejected")),
    (step(WIRE, "INITIATED"), step(WIRE, "REJECTED")),
    (step(WIRE, "INITIATED"), step(WIRE, "COMPLETED")),
    (step(WIRE, "MANUAL_REVIEW"), step(WIRE, "COMPLETED")),
    (step(ACH, "INITIATED", **DEBIT), step(ACH, "CANCELED", **DEBIT)),
    (step(ACH, "SETTLED", **DEBIT), step(ACH, "RETURNED", **DEBIT, **RETURN)),
    (step(ACH, "COMPLETED", **DEBIT), step(ACH, "RETURNED", **DEBIT, **RETURN)),
    (step(ACH, "RETURNED", **DEBIT, **RETURN), step(ACH, "RETURN_DISHONORED", **DEBIT, **DISHONOURED)),
    (step(ACH, "RETURN_DISHONORED", **DEBIT, **DISHONOURED), step(ACH, "RETURN_CONTESTED", **DEBIT, **CONTESTED)),
    (step("swift.outgoing_transfer", "SUBMITTED"), step("swift.outgoing_transfer", "COMPLETED")),
    (step("swift.outgoing_transfer", "COMPLETED"), step("swift.outgoing_transfer", "RETURNED")),
    (("book.transfer.hold_created", {"status": "HOLD"}), ("book.transfer.completed", {"status": "COMPLETED"})),
    (("book.transfer.hold_created", {"status": "HOLD"}), ("book.transfer.canceled", {"status": "CANCELED"})),
    (step(CHECK, "issued"), step(CHECK, "stopped")),
    (step(CHECK, "settled"), step(CHECK, "first_return")),
    ((f"{CARD}.approved", {"status": "PENDING"}), (f"{CARD}.reversed", {"status": "VOIDED"})),
    ((f"{CARD}.approved", {"status": "PENDING"}), ("card.transaction.settled", {"status": "SETTLED"})),
]
IDS = [f"{earlier[0]}-{later[0].rpartition('.')[2]}" for earlier, later in LATER]
UNMOVED = {"REJECTED", "MANUAL_REVIEW_REJECTED", "CANCELED", "STOPPED", "VOIDED"}


def tied(feed: LiveFeed, *steps: Step) -> None:
    """Snapshots of one transfer of 9,000.00, all of the same second."""
    at = now() - DAY
    for kind, over in steps:
        sides = {"bank_account_id": "bacc_1", "sender_bank_account_id": "bacc_1", "receiver_bank_account_id": "bacc_2"}
        merchant = {"merchant": {"id": "mrch_1"}} if kind.startswith("card") else {"counterparty_id": "cpty_1"}
        feed.send(kind, {"id": "trf_1", "amount": 900_000, "currency_code": "USD"} | sides | merchant | over, at)
    feed.settle()


@pytest.mark.parametrize(("earlier", "later"), LATER, ids=IDS)
def test_given_two_states_of_the_same_second_when_they_come_in_either_order_then_the_later_one_stands(
    live_bank: Any, earlier: Step, later: Step
) -> None:
    in_order, reversed_ = live_bank.feed(), live_bank.feed()

    tied(in_order, earlier, later)
    tied(reversed_, later, earlier)

    shown = [
        {name: each[name] for name in ("status", "returnCode", "amountCents", "score", "scoreBand")}
        for each in (feed.transfer("trf_1") for feed in (in_order, reversed_))
    ]
    assert shown[0] == shown[1]
    assert shown[1]["status"] == later[1]["status"].upper()


@pytest.mark.parametrize(("earlier", "later"), LATER, ids=IDS)
def test_given_two_states_of_the_same_second_when_the_next_wire_lands_then_only_money_that_moved_is_counted(
    feed: LiveFeed, earlier: Step, later: Step
) -> None:
    tied(feed, later, earlier)

    feed.send(f"{WIRE}.completed", {"id": "wire_next", "amount": 100, "bank_account_id": "bacc_1"}, now() - DAY / 2)
    feed.settle()

    moved = later[1]["status"].upper() not in UNMOVED
    assert feed.features("wire_next")["velocity24hSumCents"] == (900_100 if moved else 100)


@pytest.mark.parametrize("order", [("RETURNED", "SETTLED"), ("SETTLED", "RETURNED")])
def test_given_a_return_and_a_settlement_of_the_same_second_when_the_next_debit_lands_then_one_return_counts(
    feed: LiveFeed, order: tuple[str, str]
) -> None:
    steps = {"RETURNED": step(ACH, "RETURNED", **DEBIT, **RETURN), "SETTLED": step(ACH, "SETTLED", **DEBIT)}
    tied(feed, *(steps[status] for status in order))

    next_debit = {"id": "acht_next", "amount": 100, "bank_account_id": "bacc_1", "counterparty_id": "cpty_2"}
    feed.send(f"{ACH}.settled", next_debit | DEBIT, now() - DAY / 2)
    feed.settle()

    features = feed.features("acht_next")
    assert (features["entity.priorReturns"], features["entity.unauthorizedReturns60d"]) == (1, 1)


def test_given_a_dishonoured_return_before_its_return_of_the_same_second_when_read_then_no_return_counts(
    feed: LiveFeed,
) -> None:
    dishonoured = step(ACH, "RETURN_DISHONORED", **DEBIT, **DISHONOURED)
    tied(feed, dishonoured, step(ACH, "RETURNED", **DEBIT, **RETURN))

    next_debit = {"id": "acht_next", "amount": 100, "bank_account_id": "bacc_1", "counterparty_id": "cpty_2"}
    feed.send(f"{ACH}.settled", next_debit | DEBIT, now() - DAY / 2)
    feed.settle()

    assert feed.features("acht_next")["entity.priorReturns"] == 0


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("DENIED", "PENDING"), "DENIED"),
        (("PENDING", "DENIED"), "DENIED"),
        (("VERIFIED", "PENDING"), "VERIFIED"),
        (("DENIED", "MANUAL_REVIEW", "PENDING"), "DENIED"),
        (("MANUAL_REVIEW", "VERIFIED", "UNVERIFIED"), "VERIFIED"),
    ],
)
def test_given_words_on_a_person_of_the_same_second_when_read_then_the_final_one_stands(
    feed: LiveFeed, words: tuple[str, ...], wanted: str
) -> None:
    at = text_of(now() - 20 * DAY)
    for word in words:
        suffix = {"UNVERIFIED": "pending"}.get(word, word.lower())
        feed.send(f"identity.verification.{suffix}", {"id": "enti_1", "verification_status": word}, at)
    feed.send_usual(range(1, 7))
    feed.settle()

    answer = feed.ask(entityId="enti_1", counterpartyId="cpty_usual")

    assert feed.bank.get(f"/api/entities/enti_1?programId={feed.id}")["verificationStatus"] == wanted
    assert answer["decision"] == ("hold" if wanted == "DENIED" else "clear")
    assert ("TRS-KYC-01" in reason_ids(answer["reasons"])) is (wanted == "DENIED")


def test_given_two_words_of_equal_rank_and_second_when_read_then_the_one_that_came_last_stands(feed: LiveFeed) -> None:
    at = text_of(now() - DAY)
    for amount in (500, 700):
        feed.send(f"{WIRE}.completed", {"id": "wire_1", "status": "COMPLETED", "amount": amount}, at)
    feed.settle()

    assert feed.transfer("wire_1")["amountCents"] == "700"
