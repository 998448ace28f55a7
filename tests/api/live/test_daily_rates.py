"""An amount without a US dollar amount counts at the bank's rate of that day, and answers name rate and day."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.support.live_feed import DAY, WIRE, LiveBank, LiveFeed, now
from tests.support.running_service import RunningService

SWIFT = "swift.outgoing_transfer.initiated"


@pytest.fixture
def bank(live_service: RunningService) -> Iterator[LiveBank]:
    """A new tenant, because other tests would change its rates."""
    with closing(LiveBank(live_service)) as bank:
        yield bank


def rates_in_force(bank: LiveBank, *rates: tuple[str, int, str]) -> None:
    """Put a new version of the rates in force, with two persons. A rate is its currency, days ago, and value."""
    body = {"rates": [{"currency": c, "day": str((now() - ago * DAY).date()), "rate": rate} for c, ago, rate in rates]}
    number = 1 + len(bank.get("/api/policies?prefix=fx"))
    written = bank.post("/api/policies", {"version": f"fx-v{number}", "body": body})
    action = bank.post(f"/api/policies/{written['id']}/activate", {"note": "The rates of today."})
    assert bank.post(f"/api/actions/{action['id']}/approve", {"approverId": "ben"})["status"] == "executed"


def wire(feed: LiveFeed, wire_id: str, currency: str, amount: int, **over: Any) -> dict[str, Any]:
    sides = {"entity_id": "enti_1", "counterparty_id": "cpty_1", "beneficiary_address": {"country_code": "DE"}}
    feed.send(SWIFT, {"id": wire_id, "amount": amount, "currency_code": currency} | sides | over, now())
    feed.settle()
    return feed.transfer(wire_id)


@pytest.mark.parametrize(
    ("currency", "amount", "rate", "cents"),
    [("EUR", 900_000, "1.0871", 978_390), ("JPY", 150_000, "0.0067", 100_500), ("KWD", 1_000, "3.25", 325)],
)
def test_given_a_rate_of_the_day_when_a_wire_in_that_currency_lands_then_it_counts_at_it(
    bank: LiveBank, currency: str, amount: int, rate: str, cents: int
) -> None:
    rates_in_force(bank, (currency, 0, rate))
    feed = bank.feed()
    feed.send_usual(range(1, 8))

    transfer = wire(feed, "swft_1", currency, amount)

    assert (transfer["amountCents"], transfer["currency"]) == (str(amount), currency)
    assert transfer["scoreInputs"]["features"]["amountCents"] == cents
    assert transfer["score"] is not None
    assert (transfer["usdRate"]["rate"], transfer["usdRate"]["day"]) == (rate, str(now().date()))
    feed.send(WIRE, {"id": "wire_next", "amount": 100, "entity_id": "enti_1"}, now())
    feed.settle()
    assert feed.features("wire_next")["velocity24hSumCents"] == cents + 100


@pytest.mark.parametrize(("ago", "counts"), [(1, True), (7, True), (8, False), (-1, False)])
def test_given_a_rate_of_another_day_when_a_wire_lands_then_it_counts_if_it_is_earlier_by_at_most_seven_days(
    bank: LiveBank, ago: int, *, counts: bool
) -> None:
    rates_in_force(bank, ("EUR", ago, "1.1"))
    feed = bank.feed()
    feed.send_usual(range(1, 8))
    feed.settle()

    question = {"rail": "intl_wire", "amountCents": "1000", "currency": "EUR", "entityId": "enti_1"}
    asked = feed.ask(**question, counterpartyId="cpty_1", counterparty={"name": "Nord", "countryCode": "DE"})
    transfer = wire(feed, "swft_1", "EUR", 1_000)

    assert transfer["scoreInputs"]["features"].get("amountCents") == (1_100 if counts else None)
    assert (asked["score"], asked["band"]) == (transfer["score"], transfer["scoreBand"])
    assert ("amount_not_in_usd" in asked["degradedReasons"]) is not counts
    assert asked["usdRate"] == transfer["usdRate"]


@pytest.mark.parametrize(("currency", "amount"), [("EUR", 1_000), ("JPY", 10_000), ("USD", 1_100)])
def test_given_a_cap_when_an_amount_counts_at_a_rate_then_question_and_transfer_say_the_same_us_dollars(
    bank: LiveBank, currency: str, amount: int
) -> None:
    rates_in_force(bank, ("EUR", 0, "1.1"), ("JPY", 0, "0.0011"))
    feed = bank.feed()
    wanted = {"kind": "per_transaction", "capCents": "1000", "note": "Agreed."}
    cap = bank.post(f"/api/limits/program/{feed.id}", wanted)
    assert bank.post(f"/api/actions/{cap['id']}/approve", {"approverId": "ben"})["status"] == "executed"

    question = {"rail": "intl_wire", "amountCents": str(amount), "currency": currency, "entityId": "enti_1"}
    asked = feed.ask(**question, counterparty={"name": "Nord", "countryCode": "DE"})
    wire(feed, "swft_1", currency, amount)

    (reason,) = [each for each in asked["reasons"] if each["id"] == "limit:per_transaction"]
    (alert,) = [each for each in feed.alerts(transferId="swft_1") if each["detector"] == "program_limit_breach"]
    assert reason["sentence"].startswith("One outgoing transfer of USD 11.00, over")
    assert reason["sentence"] in alert["summary"]


def test_given_rates_of_several_days_when_a_wire_lands_then_the_newest_of_them_counts(bank: LiveBank) -> None:
    rates_in_force(bank, ("EUR", 5, "1.5"), ("EUR", 2, "1.2"), ("GBP", 0, "1.3"), ("EUR", 6, "1.6"))
    feed = bank.feed()

    assert wire(feed, "swft_1", "EUR", 1_000)["usdRate"]["rate"] == "1.2"
    assert wire(feed, "swft_2", "GBP", 1_000)["usdRate"]["rate"] == "1.3"
    assert wire(feed, "swft_3", "CHF", 1_000).get("usdRate") is None


def test_given_a_rate_when_the_bank_states_dollars_itself_then_they_go_before_the_rate(bank: LiveBank) -> None:
    rates_in_force(bank, ("EUR", 0, "1.1"))
    feed = bank.feed()

    transfer = wire(feed, "swft_1", "EUR", 1_000, settled_amount=977, settled_currency_code="USD")

    assert transfer["scoreInputs"]["features"]["amountCents"] == 977
    assert transfer.get("usdRate") is None


def test_given_a_wire_that_had_no_rate_when_one_comes_into_force_then_only_later_wires_count_at_it(
    bank: LiveBank,
) -> None:
    feed = bank.feed()
    feed.send_usual(range(1, 8))
    assert wire(feed, "swft_1", "EUR", 1_000)["score"] is None

    rates_in_force(bank, ("EUR", 0, "1.1"))
    after = wire(feed, "swft_2", "EUR", 1_000)
    bank.post(f"/api/skoor/backfill/{feed.id}")

    assert after["scoreInputs"]["features"]["amountCents"] == 1_100
    assert feed.transfer("swft_1")["score"] is None
    assert feed.transfer("swft_2")["scoreInputs"] == after["scoreInputs"]


def test_given_a_currency_that_cannot_be_read_when_there_are_rates_then_none_of_them_counts(bank: LiveBank) -> None:
    rates_in_force(bank, ("JPY", 0, "0.0067"), ("EUR", 0, "1.1"))

    transfer = wire(bank.feed(), "swft_1", "392", 1_000)

    assert (transfer["score"], transfer.get("usdRate")) == (None, None)
