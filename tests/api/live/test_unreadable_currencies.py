"""A currency that cannot be read is not US dollars: the bank's own dollar amount counts, else nothing is measured."""

from typing import Any

import pytest

from tests.support.live_feed import DAY, LiveBank, LiveFeed, now

SWIFT = "swift.outgoing_transfer.initiated"
UNREADABLE: list[Any] = ["392", 392, "EURO", "\u00a5", "USDC", "US$", "U S D", True]
IN_DOLLARS = {"settled_amount": 970_000, "settled_currency_code": "USD"}


def wire_in(feed: LiveFeed, currency: object, **over: Any) -> None:
    sides = {"entity_id": "enti_1", "beneficiary_name": "Kita", "beneficiary_address": {"country_code": "JP"}}
    data = {"id": "swft_1", "amount": 150_000_000, "currency_code": currency} | sides | over
    feed.send(SWIFT, data, now() - DAY / 2)
    feed.settle()


@pytest.mark.parametrize("currency", UNREADABLE)
def test_given_an_unreadable_currency_when_the_bank_states_dollars_then_they_count_and_the_field_is_named(
    feed: LiveFeed, currency: object
) -> None:
    feed.send_usual(range(1, 8))

    wire_in(feed, currency, **IN_DOLLARS)

    assert feed.features("swft_1")["amountCents"] == 970_000
    assert feed.transfer("swft_1")["score"] is not None
    assert feed.event()["path"] == "data.currency_code"


@pytest.mark.parametrize("currency", UNREADABLE)
def test_given_an_unreadable_currency_when_the_bank_states_no_dollars_then_there_is_no_score_and_no_sum(
    live_bank: LiveBank, currency: object
) -> None:
    feed = live_bank.feed()
    feed.send_usual(range(1, 8))

    wire_in(feed, currency)

    transfer = feed.transfer("swft_1")
    assert (transfer["score"], transfer["scoreBand"]) == (None, "unscored")
    assert transfer["scoreInputs"]["features"].get("amountCents") is None
    feed.send("wire.outgoing_transfer.completed", {"id": "wire_1", "amount": 100, "entity_id": "enti_1"}, now())
    feed.settle()
    assert feed.features("wire_1")["velocity24hSumCents"] < 100_000


@pytest.mark.parametrize(("settled", "instructed", "cents"), [("392", "USD", 960_000), ("USD", "EURO", 970_000)])
def test_given_one_of_two_amounts_in_readable_dollars_when_read_then_that_one_counts(
    feed: LiveFeed, settled: str, instructed: str, cents: int
) -> None:
    feed.send_usual(range(1, 8))

    money = {"settled_amount": 970_000, "settled_currency_code": settled}
    wire_in(feed, "392", **money, instructed_amount=960_000, instructed_currency_code=instructed)

    assert feed.features("swft_1")["amountCents"] == cents


@pytest.mark.parametrize("currency", ["usd", " USD ", None, ""])
def test_given_dollars_in_small_letters_or_no_currency_when_read_then_they_are_dollars(
    feed: LiveFeed, currency: str | None
) -> None:
    wire_in(feed, currency)

    assert feed.features("swft_1")["amountCents"] == 150_000_000
    assert feed.event()["path"] is None
