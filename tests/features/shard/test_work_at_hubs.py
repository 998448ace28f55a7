"""An event at a busy party costs as much after 3,000 transfers as after 600, whatever the order of the events.

Unit  steps of the interpreter; no clock is read
"""

import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import FrameType
from typing import Any, Final, NamedTuple

import pytest

from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.shard.shard import ShardState
from tests.support.bank_events import a_bank_entry, a_card_authorization, a_return, an_ach_transfer, rfc3339
from tests.support.clock import T0

SIZES: Final = (600, 3_000)
PARTIES: Final = 7
STEPS: Final = 6
MOST_RATIO: Final = 1.25


class Event(NamedTuple):
    """The transfer, its own time, the event's, and what the bank says of it."""

    number: int
    created: int
    at: int
    change: str = "first"
    cents: int = 125_00


Kind = Callable[[Event], tuple[str, Any]]
Stream = Callable[[int, int], Iterator[Event]]


def ach(event: Event, entity: str, party: str, *, is_incoming: bool) -> tuple[str, Any]:
    over: dict[str, Any] = {"status": "INITIATED"}
    if event.change == "settled":
        over = {"status": "SETTLED"}
    elif event.change == "returned":
        over = {"status": "RETURNED", "returned_at": rfc3339(event.at), "return_details": [a_return("R01", event.at)]}
    data = an_ach_transfer(
        id=f"acht_{event.number}",
        amount=event.cents,
        entity_id=f"enti_{entity}",
        bank_account_id=f"bacc_{entity}",
        account_number_id=f"acno_{entity}",
        counterparty_id=f"cpty_{party}",
        receiver_name="Harbor" if is_incoming else f"Party {party}",
        company_name=f"Party {party}" if is_incoming else "Harbor",
        entry_class_code="PPD",
        is_incoming=is_incoming,
        created_at=rfc3339(event.created),
        initiated_at=rfc3339(event.created),
        updated_at=rfc3339(event.at),
        **over,
    )
    first = "scheduled" if is_incoming else "initiated"
    verb = first if event.change == "first" else event.change
    return f"ach.{'incoming' if is_incoming else 'outgoing'}_transfer.{verb}", data


def paid_by_one(event: Event) -> tuple[str, Any]:
    return ach(event, "hub", str(event.number * 31 % PARTIES), is_incoming=False)


def received_by_one(event: Event) -> tuple[str, Any]:
    return ach(event, "hub", str(event.number * 31 % PARTIES), is_incoming=True)


def paid_to_one(event: Event) -> tuple[str, Any]:
    return ach(event, str(event.number * 31 % PARTIES), "hub", is_incoming=False)


def at_one_merchant(event: Event) -> tuple[str, Any]:
    kinds = {
        "first": ("authorization.approved", "PENDING"),
        "settled": ("transaction.settled", "SETTLED"),
        "returned": ("authorization.reversed", "VOIDED"),
    }
    verb, status = kinds[event.change]
    party = event.number * 31 % PARTIES
    data = a_card_authorization(
        id=f"ctxn_{event.number}",
        card_id=f"card_{party}",
        entity_id=f"enti_{party}",
        bank_account_id=f"bacc_{party}",
        amount=event.cents,
        status=status,
        created_at=rfc3339(event.created),
        updated_at=rfc3339(event.at),
    )
    return f"card.{verb}", data


def instant(number: int) -> int:
    return T0 + number * SECOND_US


def late_by(transfers: int) -> Stream:
    def stream(size: int, step: int) -> Iterator[Event]:
        created = instant(size + step - transfers) + SECOND_US // 3
        yield Event(size + step, created, created)

    return stream


def at_one_instant(size: int, step: int) -> Iterator[Event]:
    yield Event(size + step, instant(size), instant(size))


def changed(size: int, step: int, change: str, *, back: int = 1, cents: int = 125_00) -> Event:
    number = size - back - 3 * step
    return Event(number, instant(number), instant(size + step), change, cents)


def returned_then_late(size: int, step: int) -> Iterator[Event]:
    yield changed(size, step, "returned")
    yield from late_by(50)(size, step)


def old_ones_returned_then_late(size: int, step: int) -> Iterator[Event]:
    yield changed(size, step, "returned", back=size - 100)
    yield from late_by(50)(size, step)


def settled(size: int, step: int) -> Iterator[Event]:
    yield changed(size, step, "settled")


def of_another_amount(size: int, step: int) -> Iterator[Event]:
    yield changed(size, step, "settled", cents=99_00 + step)


def of_another_amount_then_late(size: int, step: int) -> Iterator[Event]:
    yield changed(size, step, "settled", cents=99_00 + step)
    yield from late_by(300)(size, step)


HUBS: Final = (paid_by_one, received_by_one, paid_to_one, at_one_merchant)
STREAMS: Final = {
    "in order": late_by(0),
    "20 late": late_by(20),
    "400 late": late_by(400),
    "at one instant": at_one_instant,
    "returned, then late": returned_then_late,
    "old ones returned, then late": old_ones_returned_then_late,
    "another status": settled,
    "another amount": of_another_amount,
    "another amount, then late": of_another_amount_then_late,
}


def entry_of(kind: Kind, event: Event, offset: int) -> LogEntry:
    name, data = kind(event)
    appended_at = instant(10_000) + offset
    return a_bank_entry(name, data, offset=offset, created_at=event.at, appended_at=appended_at)


def no_quarantine(row: object) -> None:
    assert not isinstance(row, QuarantineRow)


@cache
def state_of(kind: Kind, size: int) -> list[bytes]:
    state = ShardState(0)
    for number in range(size):
        at = instant(number)
        state.apply(entry_of(kind, Event(number, at, at), number + 1), no_quarantine, ends_page=number % 50 == 0)
    return list(state.dump())


def steps_of(work: Callable[[], None]) -> int:
    """The steps of the interpreter in a call, those of every function below included."""
    steps = 0

    def trace(frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal steps
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps


def steps_an_event(kind: Kind, stream: Stream, size: int) -> float:
    state, counts, offset = ShardState.loaded(iter(state_of(kind, size))), list[int](), size + 1
    for step in range(2 * STEPS):
        for event in stream(size, step):
            entry = entry_of(kind, event, offset)
            offset += 1
            if step < STEPS:  # indexes are built when first needed
                state.apply(entry, no_quarantine)
            else:
                counts.append(steps_of(partial(state.apply, entry, no_quarantine)))
    return sum(counts) / len(counts)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("kind", HUBS)
def test_given_five_times_the_transfers_when_events_come_in_any_order_then_each_costs_about_the_same(
    kind: Kind, name: str
) -> None:
    few, many = (steps_an_event(kind, STREAMS[name], size) for size in SIZES)

    assert many <= MOST_RATIO * few, (few, many)
