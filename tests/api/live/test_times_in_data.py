"""Impossible times in an object are ignored and reported, and change neither a program's age nor a return."""

from datetime import timedelta
from typing import Any

import pytest

from tests.support.live_feed import DAY, WIRE, LiveBank, LiveFeed, now, text_of

ZERO = "0001-01-01T00:00:00Z"
UNTRUE = [ZERO, "1970-01-01T00:00:00Z", "1989-12-31T23:59:59Z", "2199-01-01T00:00:00Z"]
UNCLEAR = [(now() - 30 * DAY).strftime(form) for form in ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")]


def next_average(feed: LiveFeed, created_at: str | None) -> tuple[Any, ...]:
    """Measures of the wire after one with this creation time: daily average, the entity's age, and counts."""
    feed.send_usual(range(5, 15), amount=100_000)
    if created_at is not None:
        odd = {"id": "wire_odd", "amount": 100_000, "entity_id": "enti_1", "counterparty_id": "cpty_usual"}
        feed.send(WIRE, odd | {"created_at": created_at}, now() - 4 * DAY)
    else:
        feed.send_usual([4], amount=100_000)
    feed.send(
        WIRE, {"id": "wire_next", "amount": 100_000, "entity_id": "enti_1", "counterparty_id": "cpty_usual"}, now()
    )
    features = feed.settle().features("wire_next")
    return (
        features["program.dailyAvgCents30d"],
        features["entity.ageDays"],
        features["entity.count30d"],
        features["program.n90d"],
    )


@pytest.mark.parametrize("created_at", [*UNTRUE, *UNCLEAR], ids=range(6))
def test_given_a_transfer_with_an_untrue_time_of_its_own_when_the_next_lands_then_the_events_time_counted(
    live_bank: LiveBank, created_at: str
) -> None:
    usual, odd = live_bank.feed(), live_bank.feed()

    assert next_average(odd, created_at) == next_average(usual, None)
    assert odd.transfer("wire_odd")["bankCreatedAt"][:10] == text_of(now() - 4 * DAY)[:10]


@pytest.mark.parametrize(
    ("field", "shown"),
    [("returned_at", "returnedAt"), ("effective_on", "effectiveAt"), ("settlement_date", "effectiveAt")],
)
@pytest.mark.parametrize("time", [ZERO, "1970-01-01T00:00:00Z", "0001-01-01"])
def test_given_an_untrue_time_in_a_transfer_when_read_then_it_is_absent_and_named(
    feed: LiveFeed, field: str, shown: str, time: str
) -> None:
    data = {"id": "acht_1", "type": "DEBIT", "amount": 5_000, "status": "SETTLED", "entity_id": "enti_1"}
    feed.send("ach.outgoing_transfer.settled", data | {field: time, "return_details": []}, now())

    event = feed.event()

    assert feed.transfer("acht_1")[shown] is None
    assert (event["result"], event["path"]) == ("applied", f"data.{field}")


def test_given_a_return_whose_update_is_the_zero_time_when_read_then_it_is_returned(feed: LiveFeed) -> None:
    data = {"id": "acht_1", "type": "DEBIT", "amount": 5_000, "status": "SETTLED", "entity_id": "enti_1"}
    feed.send("ach.outgoing_transfer.settled", data, now() - 3 * DAY)
    back = {"status": "RETURNED", "return_details": [{"return_code": "R10", "created_at": ZERO}], "updated_at": ZERO}
    feed.send("ach.outgoing_transfer.returned", data | back | {"created_at": None}, now() - DAY)

    event, transfer = feed.event(), feed.transfer("acht_1")

    assert (event["result"], transfer["status"], transfer["returnCode"]) == ("applied", "RETURNED", "R10")
    assert transfer["returnedAt"][:10] == text_of(now() - DAY)[:10]


@pytest.mark.parametrize("time", [ZERO, "1970-01-01T00:00:00Z", "2299-01-01T00:00:00Z"])
def test_given_a_screening_at_an_untrue_time_when_read_then_the_person_was_never_screened(
    feed: LiveFeed, time: str
) -> None:
    data = {"id": "enti_1", "verification_status": "VERIFIED", "requires_screening": True, "last_screened_at": time}
    feed.send("identity.verification.verified", data, now() - 20 * DAY)
    assert feed.event()["path"] == "data.last_screened_at"
    feed.send_usual(range(1, 8))
    feed.settle()

    assert feed.bank.get(f"/api/entities/enti_1?programId={feed.id}")["lastScreenedAt"] is None
    assert "screening_missing" in feed.ask(entityId="enti_1", counterpartyId="cpty_usual")["degradedReasons"]


def test_given_a_leap_second_when_read_then_it_is_the_next_second(feed: LiveFeed) -> None:
    data = {"id": "wire_1", "amount": 100, "entity_id": "enti_1", "created_at": "2016-12-31T23:59:60Z"}
    feed.send(WIRE, data, now())

    assert feed.event()["path"] is None
    assert feed.transfer("wire_1")["bankCreatedAt"] == "2017-01-01T00:00:00.000Z"


@pytest.mark.parametrize("time", ["T12:00:00+02:00", "T10:00:00.000000Z", "T10:00:00-00:00"])
def test_given_a_time_with_an_offset_when_read_then_it_is_that_instant(feed: LiveFeed, time: str) -> None:
    day = (now() - 6 * DAY).date()
    feed.send(WIRE, {"id": "wire_1", "amount": 100, "entity_id": "enti_1", "created_at": f"{day}{time}"}, now())

    assert feed.event()["path"] is None
    assert feed.transfer("wire_1")["bankCreatedAt"] == f"{day}T10:00:00.000Z"


@pytest.mark.parametrize("ahead", [timedelta(hours=20), timedelta(hours=25)])
def test_given_a_time_ahead_of_its_event_when_read_then_it_is_not_after_the_event(
    feed: LiveFeed, ahead: timedelta
) -> None:
    data = {"id": "wire_1", "amount": 100, "entity_id": "enti_1", "created_at": text_of(now() + ahead)}
    feed.send(WIRE, data, now())

    assert feed.event()["path"] == "data.created_at"
    assert feed.transfer("wire_1")["bankCreatedAt"] < text_of(now() + timedelta(seconds=2))
