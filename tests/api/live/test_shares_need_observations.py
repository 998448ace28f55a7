"""A rate shows its value and n always; with few observations it is unmeasured, gives no points and opens nothing."""

from typing import Any

import pytest

from tests.support.live_feed import DAY, LiveFeed, now

Data = dict[str, Any]
RATE, SHARE = "ach_overall_return_rate", "card_decline_rate"


def debits(feed: LiveFeed, count: int, returned: int, *, code: str = "R10", direction: str = "outgoing") -> None:
    """ACH debits of the last days, the first of them returned."""
    for number in range(count):
        data: Data = {"id": f"acht_{number}", "type": "DEBIT", "amount": 5_000, "bank_account_id": "bacc_1"}
        data |= {"counterparty_id": f"cpty_{number}", "is_incoming": direction == "incoming", "status": "SETTLED"}
        at = now() - DAY * (2 + number / 8)
        feed.send(f"ach.{direction}_transfer.settled", data, at)
        if number < returned:
            back: Data = {"status": "RETURNED", "return_details": [{"return_code": code}], "created_at": None}
            feed.send(f"ach.{direction}_transfer.returned", data | back, at + DAY)
    feed.settle()


def snapshot(feed: LiveFeed) -> tuple[Data, Data | None, list[str]]:
    """The indicators, the program's current score, and the detectors of the program's alerts."""
    feed.bank.post(f"/api/kri/snapshot/{feed.id}")
    report = feed.bank.get(f"/api/reports/program/{feed.id}")
    return report["kris"], report["current"], [a["detector"] for a in feed.alerts() if a["subjectType"] == "program"]


@pytest.mark.parametrize(
    ("count", "status"), [(1, "unmeasured"), (5, "unmeasured"), (19, "unmeasured"), (20, "breach")]
)
@pytest.mark.parametrize("code", ["R10", "R03"])
def test_given_one_returned_debit_when_measured_then_it_is_a_breach_from_twenty_debits_on(
    feed: LiveFeed, code: str, count: int, status: str
) -> None:
    debits(feed, count, 1, code=code)

    kris, current, detectors = snapshot(feed)

    detector = {"R10": "unauthorized_return_rate", "R03": "administrative_return_rate"}[code]
    kri = kris[f"ach_{detector}"]
    assert (kri["value"], kri["n"], kri["status"]) == (pytest.approx(1 / count, abs=1e-4), count, status)
    is_breach = status == "breach"
    assert (detector in detectors) is is_breach
    signals = [] if current is None else [reason["signal"] for reason in current["reasons"]]
    assert (f"ach_{detector}_breach" in signals) is is_breach


def test_given_few_observations_when_measured_then_a_value_of_none_is_not_zero(feed: LiveFeed) -> None:
    debits(feed, 3, 0)

    kris, _, _ = snapshot(feed)

    assert (kris[RATE]["value"], kris[RATE]["n"], kris[RATE]["status"]) == (0, 3, "unmeasured")
    assert (kris[SHARE]["value"], kris[SHARE]["n"], kris[SHARE]["status"]) == (None, 0, "unmeasured")


def cards(feed: LiveFeed, count: int, declined: int) -> None:
    for number in range(count):
        word = "declined" if number < declined else "approved"
        data = {"id": f"ctxn_{number}", "amount": 900, "card_id": f"card_{number}", "bank_account_id": f"bacc_{number}"}
        data |= {
            "merchant": {"id": "mrch_1"},
            "decision_reason": "SUSPECTED_FRAUD" if number < declined else "APPROVED",
        }
        feed.send(f"card.authorization.{word}", data, now() - DAY * (1 + number))
    feed.settle()


@pytest.mark.parametrize(("count", "status"), [(10, "unmeasured"), (20, "breach")])
def test_given_declined_cards_when_measured_then_their_share_needs_twenty_authorizations(
    feed: LiveFeed, count: int, status: str
) -> None:
    cards(feed, count, count // 2)

    kris, _, _ = snapshot(feed)

    for name in (SHARE, "card_fraud_decline_share"):
        assert (kris[name]["value"], kris[name]["n"], kris[name]["status"]) == (0.5, count, status)


@pytest.mark.parametrize(("least", "status"), [(3, "breach"), (50, "unmeasured")])
def test_given_a_policy_with_another_least_number_when_measured_then_it_decides(
    feed: LiveFeed, least: int, status: str
) -> None:
    bank = feed.bank
    debits(feed, 24 if least > 20 else 5, 1)
    versions = bank.get("/api/policies?prefix=kri")
    body = next(each["body"] for each in versions if each["version"] == "kri-v1") | {"minObservations": least}
    number = 1 + max(int(each["version"].removeprefix("kri-v")) for each in versions)
    written = bank.post("/api/policies", {"version": f"kri-v{number}", "programId": feed.id, "body": body})
    action = bank.post(f"/api/policies/{written['id']}/activate", {"note": "Agreed."})
    assert bank.post(f"/api/actions/{action['id']}/approve", {"approverId": "ben"})["status"] == "executed"

    kris, _, _ = snapshot(feed)

    assert kris["ach_unauthorized_return_rate"]["status"] == status
