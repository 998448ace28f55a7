"""A counterparty's id with other account details is a changed account, and both accounts stay on file."""

import pytest

from tests.support.live_feed import CHANGED_ACCOUNT, WIRE, Data, LiveBank, LiveFeed, now, reason_ids


def same_id(feed: LiveFeed, number: str, routing: str) -> list[str]:
    sides = {"beneficiary_name": "Supp", "beneficiary_account_number": number, "creditor_agent_routing_number": routing}
    data: Data = {
        "id": f"wire_{number}_{routing}",
        "amount": 10_020,
        "entity_id": "enti_1",
        "counterparty_id": "cpty_s",
    }
    feed.send(WIRE, data | sides, now())
    feed.settle()
    return feed.reasons(data["id"])


@pytest.fixture
def supplier(live_bank: LiveBank) -> LiveFeed:
    """Ten wires to one counterparty, by its id, on one account."""
    feed = live_bank.feed()
    sides = {"beneficiary_name": "Supp", "beneficiary_account_number": "0004444"}
    feed.send_usual(range(2, 12), counterparty_id="cpty_s", creditor_agent_routing_number="021000021", **sides)
    return feed.settle()


@pytest.mark.parametrize(
    ("number", "last4", "routing", "changed"),
    [
        ("0009999", "9999", "026009593", True),
        ("0009999", "9999", "021000021", True),
        ("0004444", "4444", "026009593", True),
        ("0004444", "4444", "021000021", False),
        ("000-44 44", "4444", "021000021", False),
    ],
)
def test_given_a_counterparty_id_when_it_comes_with_other_details_then_its_account_was_changed(
    supplier: LiveFeed, number: str, last4: str, routing: str, *, changed: bool
) -> None:
    party = {"name": "Supp", "routingNumber": routing, "accountLast4": last4}
    asked = supplier.ask(amountCents="10020", entityId="enti_1", counterpartyId="cpty_s", counterparty=party)

    landed = same_id(supplier, number, routing)

    assert (CHANGED_ACCOUNT in landed) is changed
    assert reason_ids(asked["reasons"]) == landed


def test_given_a_counterparty_id_with_other_details_when_the_first_ones_come_again_then_both_are_on_file(
    supplier: LiveFeed,
) -> None:
    assert CHANGED_ACCOUNT in same_id(supplier, "0009999", "026009593")

    assert CHANGED_ACCOUNT not in same_id(supplier, "00004444", "021000021")
    assert CHANGED_ACCOUNT not in same_id(supplier, "00009999", "026009593")


def points_of_change(feed: LiveFeed) -> list[int]:
    """The points of the counterparty's score for other account details."""
    current = feed.actor("counterparty", "cpty_s")["current"]
    return [reason["weight"] for reason in current["reasons"] if reason["id"] == "CRS-CPY-03"]


def label(feed: LiveFeed, transfer_id: str, label: str) -> None:
    body = {"transferId": transfer_id, "programId": feed.id, "label": label, "reason": "The supplier was called."}
    feed.bank.post("/api/labels", body)


def test_given_a_changed_account_when_a_person_explains_its_payment_then_its_points_end_until_it_is_bad(
    supplier: LiveFeed,
) -> None:
    same_id(supplier, "0009999", "026009593")
    assert points_of_change(supplier) == [15]

    label(supplier, "wire_0009999_026009593", "ok")
    assert points_of_change(supplier) == []

    label(supplier, "wire_0009999_026009593", "bad")
    assert points_of_change(supplier) == [15]


def test_given_two_changed_accounts_when_the_later_one_is_explained_then_the_points_of_the_first_stand(
    supplier: LiveFeed,
) -> None:
    same_id(supplier, "0009999", "026009593")
    same_id(supplier, "0008888", "026009593")

    label(supplier, "wire_0008888_026009593", "ok")
    assert points_of_change(supplier) == [15]

    label(supplier, "wire_0009999_026009593", "ok")
    assert points_of_change(supplier) == []


def test_given_details_that_the_bank_stated_when_their_first_payment_is_explained_then_their_points_end(
    supplier: LiveFeed,
) -> None:
    stated = {"id": "cpty_s", "name": "Supp", "routing_number": "026009593", "account_number": "0009999"}
    supplier.send("counterparty.updated", stated, now())
    supplier.settle()
    assert points_of_change(supplier) == [15]

    same_id(supplier, "0009999", "026009593")
    label(supplier, "wire_0009999_026009593", "ok")

    assert points_of_change(supplier) == []
