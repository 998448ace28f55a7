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
