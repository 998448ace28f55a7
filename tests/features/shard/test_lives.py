"""The order in which a replay applies entries with the same own time."""

import msgspec
import pytest

from clearhold.features.core.instants import DAY_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.shard.backfill import OwnTimes, order_of_lives
from tests.support import bank_events as bank
from tests.support.clock import T0


def entry(transfer_id: str, status: str | None, *, event_id: str | None = None, updated_at: int = T0) -> LogEntry:
    data = bank.a_wire(id=transfer_id, status=status, updated_at=bank.rfc3339(updated_at))
    return bank.a_bank_entry("wire.outgoing_transfer.updated", data, event_id=event_id or f"{transfer_id}/{status}")


def words(entries: list[LogEntry]) -> list[str]:
    ordered = [msgspec.json.decode(entries[place].body)["data"] for place in order_of_lives(entries)]
    return [f"{data['id']} {data['status']}" for data in ordered]


def test_given_two_objects_then_each_one_keeps_its_places_in_the_log() -> None:
    entries = [entry("a", "COMPLETED"), entry("b", "REJECTED"), entry("a", "INITIATED"), entry("b", "PENDING")]

    assert words(entries) == ["a INITIATED", "b PENDING", "a COMPLETED", "b REJECTED"]


def test_given_an_older_version_of_one_instant_then_it_comes_first_whatever_its_state() -> None:
    entries = [entry("a", "PENDING"), entry("a", "REJECTED", updated_at=T0 - SECOND_US)]

    assert words(entries) == ["a REJECTED", "a PENDING"]


def test_given_states_of_equal_rank_or_none_then_arrival_decides() -> None:
    entries = [entry("a", "CANCELLED"), entry("a", None), entry("a", "CANCELED")]

    assert order_of_lives(entries) == [0, 1, 2]


def test_given_a_word_that_is_not_listed_then_it_comes_before_all_others() -> None:
    assert words([entry("a", "INITIATED"), entry("a", "ODD")]) == ["a ODD", "a INITIATED"]


@pytest.mark.parametrize("repeated", ["COMPLETED", "PENDING"])
def test_given_an_event_id_again_then_the_first_event_under_it_still_comes_first(repeated: str) -> None:
    entries = [
        entry("a", "COMPLETED", event_id="evnt_1"),
        entry("a", repeated, event_id="evnt_1"),
        entry("a", "INITIATED", event_id="evnt_2"),
    ]

    assert words(entries) == ["a INITIATED", "a COMPLETED", f"a {repeated}"]


@pytest.mark.parametrize("body", [b"", b"[]", b'{"id":"evnt_1","type":"wire.outgoing_transfer.updated"}', b"\xff"])
def test_given_what_cannot_be_read_then_it_keeps_its_place(body: bytes) -> None:
    unreadable = LogEntry(0, 1, EntryKind.BANK, "prg_1", T0, body)
    decision = LogEntry(0, 1, EntryKind.DECISION, "prg_1", T0, b"{}")
    entries = [entry("a", "COMPLETED"), unreadable, decision, entry("a", "INITIATED")]

    assert order_of_lives(entries) == [3, 1, 2, 0]


def test_given_a_dispute_or_an_object_that_is_no_transfer_then_it_keeps_its_place() -> None:
    dispute = bank.a_bank_entry("card.dispute.created", {"id": "a", "status": "PENDING"}, event_id="evnt_d")
    request = bank.a_bank_entry("wire.return_request.created", {"id": "a", "status": "PENDING"}, event_id="evnt_r")

    assert order_of_lives([entry("a", "COMPLETED"), dispute, request]) == [0, 1, 2]


@pytest.mark.parametrize(
    "body",
    [
        b'{"id":"evt_2","type":"account.updated","created_at":"2026-01-02T00:00:00Z","data":{"id":"bacc_1","name":"\xff"}}',
        b'{"id":"evt_2","type":"account.\xff","created_at":"2026-01-02T00:00:00Z","data":{}}',
        b'{"id":"evt_2","type":"account.updated","created_at":"\xff","data":{}}',
    ],
)
def test_given_an_entry_that_is_not_utf_8_when_own_times_are_read_then_it_stays_behind_the_newest_fact(
    body: bytes,
) -> None:
    times = OwnTimes()
    first = b'{"id":"evt_1","type":"account.updated","created_at":"2026-01-01T00:00:00Z","data":{"id":"bacc_1"}}'
    now = T0 + DAY_US

    before, after = (times.of(LogEntry(0, 1, EntryKind.BANK.value, "prg_1", now, each)) for each in (first, body))

    assert after == before
    assert times.first_owners == {}
