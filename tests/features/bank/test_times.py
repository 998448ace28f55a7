"""Times in an object: possible ones are read, impossible ones are ignored and reported."""

from typing import Any, Final

import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US, SECOND_US, parse_instant
from clearhold.features.core.rows.events import EventRow, TransferRow
from clearhold.features.core.rows.parties import EntityRow
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

SETTLED: Final = "ach.outgoing_transfer.settled"
NO_TIMES: Final = (
    "0001-01-01T00:00:00Z",
    "1970-01-01T00:00:00Z",
    "1989-12-31T23:59:59Z",
    "2026-03-02T10:00:00",
    "2026-03-02T10:00:00+0000",
    "2026-03-02T10:00:00,5Z",
    "2026-W10-1T10:00:00Z",
    "2026-061",
    "20260302T100000Z",
    "2026-03-02T10:00Z",
    "2026-03-02T12:00:60Z",
    "2026-03-02T24:00:00Z",
    "2026-03-02T12:00:60.000Z",
    "2026-03-02T12:61:00.000Z",
    "2026-03-02T12:00:00.00+Z",
    "2026-03-02T12:00:00.00\u0663Z",
    "1772445600",
    "9999-12-31T23:59:59Z",
)


def settled(**over: Any) -> ShardStory:
    later = T0 + 5 * DAY_US
    return ShardStory().deliver(SETTLED, bank.an_ach_transfer(status="SETTLED", **over), at=later)


@pytest.mark.parametrize("text", NO_TIMES)
@pytest.mark.parametrize("field", ["created_at", "initiated_at", "updated_at", "effective_on", "returned_at"])
def test_given_a_time_that_cannot_be_believed_then_it_is_absent_and_named(field: str, text: str) -> None:
    with_it, without = settled(**{field: text}), settled(**{field: None})

    shown, expected = with_it.one(TransferRow), without.one(TransferRow)
    assert shown.bank_created_at == expected.bank_created_at
    assert (shown.effective_at, shown.returned_at) == (expected.effective_at, expected.returned_at)
    assert with_it.program.transfers.read(0) == without.program.transfers.read(0)
    assert (with_it.one(EventRow).result, with_it.one(EventRow).path) == ("applied", f"data.{field}")


def test_given_two_times_that_cannot_be_believed_then_both_are_named() -> None:
    row = settled(created_at="0001-01-01T00:00:00Z", initiated_at="2026-03-02T10:00:00").one(EventRow)

    assert row.path == "data.created_at"
    assert "data.initiated_at" in str(row.reason)
    assert row.created_at == T0 + 5 * DAY_US


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        ("2016-12-31T18:59:60.25-05:00", "2017-01-01T00:00:00.25Z"),
        ("1990-01-01T00:00:00Z", "1990-01-01T00:00:00Z"),
        ("2026-03-02 10:00:00z", "2026-03-02T10:00:00Z"),
    ],
)
def test_given_a_time_of_another_form_that_is_one_then_it_is_read(text: str, at: str) -> None:
    story = settled(created_at=text)

    assert story.one(TransferRow).bank_created_at == parse_instant(at)
    assert story.one(EventRow).path is None


@pytest.mark.parametrize(
    ("field", "ahead", "is_read"),
    [
        ("created_at", DAY_US, True),
        ("created_at", DAY_US + SECOND_US, False),
        ("returned_at", DAY_US, True),
        ("returned_at", DAY_US + SECOND_US, False),
        ("effective_on", 3 * DAY_US, True),
        ("effective_on", 367 * DAY_US, False),
        ("updated_at", 5 * MINUTE_US, True),
        ("updated_at", HOUR_US, False),
    ],
)
def test_given_a_time_ahead_of_its_event_then_only_a_near_one_is_read(field: str, ahead: int, *, is_read: bool) -> None:
    stated = bank.rfc3339(T0 + 5 * DAY_US + ahead)
    row = settled(**{field: stated}).one(EventRow)

    is_absent = row.path == f"data.{field}" and "read as absent" in str(row.reason)
    assert is_absent is not is_read


@pytest.mark.parametrize("text", NO_TIMES)
def test_given_an_entity_with_such_times_then_they_are_absent_and_the_first_is_named(text: str) -> None:
    data = bank.an_entity(created_at=text, last_screened_at=text, updated_at=text)

    story = ShardStory().deliver("identity.verification.verified", data)

    assert story.one(EntityRow).last_screened_at is None
    assert story.one(EntityRow).created_at == T0
    assert story.one(EventRow).path == "data.last_screened_at"
    assert story.program.actors[0].profile.updated_at == T0


def test_given_a_return_with_the_year_one_then_its_event_orders_it_and_the_return_counts() -> None:
    story = settled()
    returned = bank.an_ach_transfer(
        status="RETURNED", updated_at="0001-01-01T00:00:00Z", return_details=[bank.a_return("R10", T0 + 6 * DAY_US)]
    )

    story.deliver("ach.outgoing_transfer.returned", returned, at=T0 + 6 * DAY_US)

    assert (story.one(EventRow).result, story.one(EventRow).path) == ("applied", "data.updated_at")
    assert (story.one(TransferRow).status, story.one(TransferRow).return_code) == ("RETURNED", "R10")


def test_given_a_settled_transfer_with_the_return_time_of_the_year_one_then_it_is_not_returned() -> None:
    story = settled(returned_at="0001-01-01T00:00:00Z")

    assert story.one(TransferRow).returned_at is None
    assert not story.program.returned


def test_given_a_program_when_a_transfer_has_the_year_one_then_its_averages_stay() -> None:
    averages = []
    for stated in (None, "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"):
        story = ShardStory()
        for day in range(10):
            wire = bank.a_wire(id=f"wire_{day}", entity_id="enti_1", created_at=None, updated_at=None)
            story.deliver("wire.outgoing_transfer.completed", wire, at=T0 + day * DAY_US)
        odd = bank.a_wire(id="wire_odd", entity_id="enti_2", created_at=stated, updated_at=None)
        story.deliver("wire.outgoing_transfer.completed", odd, at=T0 + 10 * DAY_US)
        last = bank.a_wire(id="wire_last", entity_id="enti_1", created_at=None, updated_at=None)
        story.deliver("wire.outgoing_transfer.completed", last, at=T0 + 11 * DAY_US)
        averages.append(story.vector.program_daily_avg_cents_30d)

    assert averages[0] is not None
    assert averages[1:] == averages[:1] * 2
