"""The reserve rests on the debits that may still come back, event coverage on the families that were seen."""

from typing import Any

import pytest

from tests.support.live_feed import DAY, WIRE, LiveBank, LiveFeed, now

Data = dict[str, Any]
RESERVE = "bacc_reserve"
FLEET_UNAUTHORIZED = 0.0003


@pytest.fixture
def reserved(live_bank: LiveBank) -> LiveFeed:
    """A program with 1,000.00 in its reserve account."""
    feed = live_bank.feed(programReserveAccountId=RESERVE)
    balances = {"available_amount": 90_000, "locked_amount": 10_000}
    account = {"id": RESERVE, "type": "PROGRAM_RESERVE", "status": "open", "balances": balances}
    feed.send("account.unfrozen", account | {"created_at": None}, now() - 20 * DAY)
    return feed


def debits(feed: LiveFeed, outcomes: str, days_ago: float) -> None:
    """ACH debits of 100.00: ``.`` stands, ``R`` came back, ``C`` was canceled."""
    for number, outcome in enumerate(outcomes):
        data: Data = {"id": f"acht_{days_ago}_{number}", "type": "DEBIT", "amount": 10_000, "is_incoming": False}
        data |= {"bank_account_id": "bacc_1", "counterparty_id": f"cpty_{number}", "status": "SETTLED"}
        at = now() - days_ago * DAY
        feed.send("ach.outgoing_transfer.settled", data, at)
        if outcome == "C":
            feed.send("ach.outgoing_transfer.canceled", data | {"status": "CANCELED", "created_at": None}, at + DAY / 9)
        if outcome == "R":
            more = {"status": "RETURNED", "return_details": [{"return_code": "R01"}], "created_at": None}
            feed.send("ach.outgoing_transfer.returned", data | more, at + DAY / 9)
    feed.settle()


def reserve_coverage(feed: LiveFeed) -> Data:
    feed.bank.post(f"/api/kri/snapshot/{feed.id}")
    kri: Data = feed.bank.get(f"/api/reports/program/{feed.id}")["kris"]["reserve_coverage"]
    return kri


@pytest.mark.parametrize(
    ("outcomes", "standing"),
    [("." * 30, 30), ("R" * 5 + "." * 25, 25), ("R" * 29 + ".", 1), ("C" * 10 + "." * 20, 20)],
)
def test_given_debits_of_weeks_ago_when_measured_then_those_that_came_back_are_no_exposure(
    reserved: LiveFeed, outcomes: str, standing: int
) -> None:
    debits(reserved, outcomes, 15)

    kri = reserve_coverage(reserved)

    assert kri["n"] == standing
    assert kri["value"] == pytest.approx(100_000 / (standing * 10_000 * FLEET_UNAUTHORIZED), rel=1e-3)


def test_given_debits_that_all_came_back_when_measured_then_there_is_nothing_to_cover(reserved: LiveFeed) -> None:
    debits(reserved, "R" * 25, 15)

    kri = reserve_coverage(reserved)

    assert (kri["value"], kri["n"], kri["status"]) == (None, 0, "unmeasured")


def test_given_debits_older_than_60_days_when_measured_then_they_cannot_come_back(reserved: LiveFeed) -> None:
    debits(reserved, "." * 22, 65)
    debits(reserved, "." * 23, 15)

    assert reserve_coverage(reserved)["n"] == 23


@pytest.mark.parametrize(
    ("others", "understood", "seen"),
    [((), 2, 2), (("foo.bar.baz",), 2, 3), (("foo.bar.baz", "foo.bar.qux", "interest.payout.completed"), 2, 4)],
)
def test_given_events_of_some_families_when_measured_then_coverage_is_understood_of_seen(
    feed: LiveFeed, others: tuple[str, ...], understood: int, seen: int
) -> None:
    feed.send(WIRE, {"id": "wire_1", "amount": 100, "entity_id": "enti_1"}, now())
    feed.send("identity.verification.verified", {"id": "enti_1", "verification_status": "VERIFIED"}, now())
    for kind in others:
        feed.send(kind, {"id": "x_1"}, now())
    feed.settle()

    coverage = feed.bank.get(f"/api/metrics?days=2&programId={feed.id}")["eventCoverage"]

    assert coverage["n"] == seen == len(coverage["seen"])
    assert coverage["value"] == pytest.approx(understood / seen)
