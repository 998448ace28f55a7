"""A person or a payee is told in parts: what a newer part leaves out comes from an older one, in any order."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import permutations

import pytest

from tests.support.live_feed import CHANGED_ACCOUNT, Data, LiveFeed, now, reason_ids, text_of

Part = tuple[str, Data, int]  # the event's type, its object, and the hours since it happened

DETAILS: Data = {
    "type": "PERSON",
    "requires_screening": True,
    "is_high_risk": True,
    "person_details": {
        "first_name": "Dana",
        "last_name": "Rivers",
        "pep_status": "yes",
        "address": {"country_code": "GBR"},
    },
}
CREATED: Part = ("identity.created", DETAILS | {"verification_status": "PENDING"}, 3)
REVIEWED: Part = (
    "identity.verification.manual_review",
    {"verification_status": "MANUAL_REVIEW", "person_details": {"pep_status": "potential"}},
    2,
)
VERIFIED: Part = ("identity.verification.verified", {"verification_status": "VERIFIED"}, 1)
READ = ("name", "verificationStatus", "pepStatus", "isHighRisk", "requiresScreening", "countryCode")
PAYEE: Data = {
    "name": "Cedar Freight",
    "routing_number": "021000021",
    "account_number": "000123454321",
    "address": {"country_code": "IR"},
}


def tell(feed: LiveFeed, parts: Sequence[Part], object_id: str) -> list[str]:
    """Deliver the parts in this order; return the result of each."""
    at = now()
    events = [feed.send(kind, part | {"id": object_id}, at - timedelta(hours=hours)) for kind, part, hours in parts]
    return [feed.event(event)["result"] for event in events]


def person_of(feed: LiveFeed) -> Data:
    found: Data = feed.bank.get(f"/api/entities/enti_1?programId={feed.id}")
    return found


@pytest.mark.parametrize("parts", [*permutations((CREATED, REVIEWED, VERIFIED))])
def test_given_a_person_told_in_parts_when_they_come_in_any_order_then_nothing_is_lost(
    feed: LiveFeed, parts: tuple[Part, ...]
) -> None:
    tell(feed, parts, "enti_1")

    person = person_of(feed)

    assert [person[each] for each in READ] == ["Dana Rivers", "VERIFIED", "potential", True, True, "GB"]


def test_given_a_person_who_was_verified_when_the_creation_of_the_same_second_comes_then_its_details_count(
    feed: LiveFeed,
) -> None:
    feed.send_usual([3], entity_id="enti_1")
    at = now()
    feed.send("identity.verification.verified", {"id": "enti_1", "verification_status": "VERIFIED"}, at)
    event = feed.send(CREATED[0], CREATED[1] | {"id": "enti_1"}, at)

    assert feed.event(event)["result"] == "applied"
    person = person_of(feed)
    assert [person[each] for each in READ] == ["Dana Rivers", "VERIFIED", "yes", True, True, "GB"]
    assert person["raw"]["verification_status"] == "VERIFIED"
    assert "screening_stale_or_hit" in [alert["detector"] for alert in feed.alerts()]


def test_given_an_older_object_when_newer_ones_state_all_that_it_states_then_it_changes_nothing(feed: LiveFeed) -> None:
    corrected: Part = (VERIFIED[0], DETAILS | {"verification_status": "VERIFIED", "is_high_risk": False}, 1)

    assert tell(feed, (corrected, CREATED, REVIEWED), "enti_1") == ["applied", "stale", "stale"]

    person = person_of(feed)
    assert (person["pepStatus"], person["isHighRisk"]) == ("yes", False)


@pytest.mark.parametrize("hours", [3, 1])
def test_given_a_payee_that_was_renamed_when_its_creation_comes_late_then_its_account_and_country_are_on_file(
    feed: LiveFeed, hours: int
) -> None:
    parts = [("counterparty.updated", {"name": "Cedar Freight LLC"}, 1), ("counterparty.created", PAYEE, hours)]

    assert tell(feed, [*parts, parts[1]], "cpty_1") == ["applied", "applied", "stale"]

    payee = feed.bank.get(f"/api/counterparties/cpty_1?programId={feed.id}")
    assert payee["name"] == "Cedar Freight LLC"
    assert (payee["routingNumber"], payee["accountLast4"], payee["countryCode"]) == ("021000021", "4321", "IR")


@pytest.mark.parametrize("late", [0, 2])
def test_given_a_payee_that_moved_when_an_older_wire_to_it_completes_then_it_stays_where_it_is_now(
    feed: LiveFeed, late: int
) -> None:
    """``late`` is how long ago the payee moved, in hours; the wire is of three hours ago."""
    at = now()
    wire: Data = {
        "id": "swft_1",
        "amount": 5_000,
        "counterparty_id": "cpty_1",
        "beneficiary_name": "Cedar Freight",
        "beneficiary_address": {"country_code": "DE"},
        "created_at": text_of(at - timedelta(hours=3)),
    }
    feed.send("swift.outgoing_transfer.initiated", wire, at - timedelta(hours=3))
    moved = PAYEE | {"id": "cpty_1", "name": "Cedar Freight LLC"}
    feed.send("counterparty.updated", moved, at - timedelta(hours=late))
    feed.send("swift.outgoing_transfer.completed", wire, at - timedelta(hours=1))
    feed.settle()

    payee = feed.bank.get(f"/api/counterparties/cpty_1?programId={feed.id}")

    assert (payee["name"], payee["countryCode"]) == ("Cedar Freight LLC", "IR")
    assert "TRS-GEO-01" in reason_ids(feed.ask(counterpartyId="cpty_1")["reasons"])


def test_given_a_payee_with_a_new_account_when_an_older_wire_to_the_old_one_completes_then_the_new_one_is_on_file(
    feed: LiveFeed,
) -> None:
    at = now()
    feed.send_usual(range(2, 10))
    wire: Data = {
        "id": "wire_1",
        "amount": 10_000,
        "entity_id": "enti_1",
        "counterparty_id": "cpty_1",
        "beneficiary_account_number": "0004444",
        "creditor_agent_routing_number": "021000021",
        "created_at": text_of(at - timedelta(hours=3)),
    }
    feed.send("wire.outgoing_transfer.initiated", wire, at - timedelta(hours=3))
    feed.send("counterparty.updated", {"id": "cpty_1", "account_number": "0009999"}, at - timedelta(hours=2))
    feed.send("wire.outgoing_transfer.completed", wire, at - timedelta(hours=1))
    feed.settle()

    payee = feed.bank.get(f"/api/counterparties/cpty_1?programId={feed.id}")

    assert payee["accountLast4"] == "9999"
    assert payee["earlierAccounts"] == [{"routingNumber": "021000021", "accountLast4": "4444"}]
    assert CHANGED_ACCOUNT in reason_ids(feed.ask(entityId="enti_1", counterpartyId="cpty_1")["reasons"])
