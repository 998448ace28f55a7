"""History in other currencies that is loaded around the activation of daily rates, and then rescored."""

from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.core.entries.actions import PolicyEntry
from clearhold.features.core.instants import DAY_US, HOUR_US, format_instant
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.money import UsdRate
from clearhold.features.measurement.assessment import vector_of
from tests.flows.backfill.test_recomputing import LOADED_AT, Event, a_wire
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.recomputed import Streamed

SUBMITTED: Final = "swift.outgoing_transfer.submitted"
COMPLETED: Final = "swift.outgoing_transfer.completed"


def euros(number: int, *, amount: int = 30_000, at: int | None = None, kind: str = SUBMITTED, **over: Any) -> Event:
    """An international wire in euros for which the bank states no US dollars."""
    own_at = T0 + number * 3 * HOUR_US if at is None else at
    usual: bank.Data = {
        "id": f"swft_{number}",
        "amount": amount + number * 100,
        "currency_code": "EUR",
        "instructed_amount": amount,
        "instructed_currency_code": "EUR",
        "settled_amount": None,
        "settled_currency_code": None,
        "entity_id": f"enti_{number % 3}",
        "created_at": bank.rfc3339(T0 + number * 3 * HOUR_US),
        "updated_at": bank.rfc3339(own_at),
    }
    return kind, bank.an_international_wire(**usual | over), own_at


def dollars(count: int = 40) -> list[Event]:
    chance = Random(2)
    return [a_wire(f"wire_{number}", T0 + 2 * number * HOUR_US, chance) for number in range(count)]


def log_of(*parts: Event | str) -> list[LogEntry]:
    """Events, and versions of the rates where they come into force, each appended a second after the one before."""
    entries = list[LogEntry]()
    for offset, part in enumerate(parts, 1):
        appended_at = LOADED_AT + offset * 1_000_000
        if isinstance(part, str):
            entries.append(LogEntry(0, offset, EntryKind.POLICY, "prg_1", appended_at, rates(part)))
            continue
        kind, data, at = part
        entries.append(
            bank.a_bank_entry(
                kind, data, offset=offset, created_at=at, appended_at=appended_at, event_id=f"{data['id']}/{kind}/{at}"
            )
        )
    return entries


def rates(version: str) -> bytes:
    """The rate of the first version is 1.1 on every day, of the second 1.2."""
    rate = f"1.{version[-1]}"
    days = [format_instant(T0 + number * DAY_US)[:10] for number in range(30)]
    body = {"rates": [{"currency": "EUR", "day": day, "rate": rate} for day in days]}
    return msgspec.json.encode(
        PolicyEntry(tenant_id="tenant_1", version=version, body=body, action_id=f"action_{version}", of_program=False)
    )


def shown_rate(stream: Streamed, transfer_id: str) -> UsdRate | None:
    row = stream.program.transfers.row_of(transfer_id)
    assert row is not None
    return stream.program.rates.get(row)


def assert_scores_rest_on_the_rates_shown(stream: Streamed, events: Sequence[Event]) -> None:
    found = stream.recomputed()
    for _, data, _ in events:
        rate = shown_rate(stream, data["id"])
        cents = None if rate is None else Decimal(data["amount"]) * Decimal(rate.rate)
        assert vector_of(found[data["id"]].vector).amount_cents == cents, data["id"]


@pytest.mark.parametrize("backwards", [False, True])
def test_given_a_file_after_the_activation_when_rescored_then_it_is_scored_as_if_loaded_in_order(
    *, backwards: bool
) -> None:
    first, second = dollars(), [euros(number) for number in range(20)]
    ordered = Streamed(log_of("fx-v1", *sorted([*first, *second], key=lambda event: event[2])))
    late = Streamed(log_of(*first, "fx-v1", *(second[::-1] if backwards else second)))

    assert not ordered.needs_replay
    assert late.needs_replay
    assert late.recomputed() == ordered.newest
    assert all(shown_rate(late, data["id"]) is not None for _, data, _ in second)
    assert_scores_rest_on_the_rates_shown(late, second)


@pytest.mark.parametrize("backwards", [False, True])
def test_given_two_files_around_an_activation_when_rescored_then_each_transfer_counts_at_the_rates_it_landed_with(
    *, backwards: bool
) -> None:
    events = [euros(number) for number in range(20)]
    before, after = events[10:], events[:10]
    stream = Streamed(log_of(*dollars(), *before, "fx-v1", *(after[::-1] if backwards else after)))

    assert stream.needs_replay
    assert [shown_rate(stream, data["id"]) is not None for _, data, _ in events] == [True] * 10 + [False] * 10
    assert_scores_rest_on_the_rates_shown(stream, events)


def test_given_rates_that_come_after_transfers_in_order_then_they_change_no_vector() -> None:
    events = [euros(number) for number in range(20)]
    stream = Streamed(log_of(*events[:10], "fx-v1", *events[10:15], "fx-v2", *events[15:]))

    assert not stream.needs_replay
    assert stream.changes() == {}
    assert_scores_rest_on_the_rates_shown(stream, events)


@pytest.mark.parametrize("before", [(), ("fx-v1",)])
def test_given_an_older_snapshot_after_an_activation_when_rescored_then_the_rate_of_the_first_delivery_counts(
    before: tuple[str, ...],
) -> None:
    newer = euros(1, at=T0 + DAY_US, kind=COMPLETED, status="COMPLETED")
    stream = Streamed(log_of(*before, newer, "fx-v2", euros(1), euros(2)))

    assert stream.needs_replay
    rate = shown_rate(stream, "swft_1")
    assert (None if rate is None else rate.version) == (before[0] if before else None)
    assert_scores_rest_on_the_rates_shown(stream, [newer, euros(2)])


def test_given_a_corrected_amount_after_an_activation_when_rescored_then_the_rate_of_the_correction_counts() -> None:
    corrected = euros(3, amount=90_000, at=T0 + 2 * DAY_US, kind=COMPLETED, status="COMPLETED")
    stream = Streamed(log_of("fx-v1", euros(3), "fx-v2", corrected, euros(1), euros(2)))

    assert stream.needs_replay
    rate = shown_rate(stream, "swft_3")
    assert rate is not None
    assert rate.version == "fx-v2"
    assert_scores_rest_on_the_rates_shown(stream, [corrected, euros(1), euros(2)])
