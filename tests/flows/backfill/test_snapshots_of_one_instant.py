"""Snapshots with equal times, delivered in any order and rescored: the scores are those of the true order of states."""

from itertools import permutations
from random import Random
from typing import Any, Final

import pytest

from clearhold.features.core.instants import HOUR_US
from tests.flows.backfill.test_recomputing import Event, a_wire, loaded
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.recomputed import Streamed

TIED_AT: Final = T0 + 21 * HOUR_US
STAMPS: Final[dict[str, Any]] = {"created_at": bank.rfc3339(TIED_AT), "updated_at": bank.rfc3339(TIED_AT)}
SIDES: Final[dict[str, Any]] = {"entity_id": "enti_1", "counterparty_id": "cpty_1"}

ACH: Final = bank.an_ach_transfer(id="tied", amount=70_000, **SIDES, **STAMPS)
WIRE: Final = bank.a_wire(id="tied", amount=70_000, **SIDES, **STAMPS)
REALTIME: Final = bank.a_realtime_transfer(id="tied", amount=70_000, **SIDES, **STAMPS)
ENTITY: Final = bank.an_entity(id="enti_1", **STAMPS)
PARTY: Final = bank.a_counterparty(id="cpty_1", **STAMPS)
ACCOUNT: Final = bank.an_account(id="bacc_1", **STAMPS)

LIVES: Final[dict[str, list[tuple[str, bank.Data]]]] = {
    "ach canceled": [
        ("ach.outgoing_transfer.initiated", ACH | {"status": "INITIATED"}),
        ("ach.outgoing_transfer.canceled", ACH | {"status": "CANCELED"}),
    ],
    "ach returned": [
        ("ach.outgoing_transfer.settled", ACH | {"status": "SETTLED"}),
        (
            "ach.outgoing_transfer.returned",
            ACH | {"status": "RETURNED", "return_details": [bank.a_return("R10", TIED_AT)]},
        ),
    ],
    "wire reviewed": [
        ("wire.outgoing_transfer.manual_review", WIRE | {"status": "MANUAL_REVIEW", "amount": 60_000}),
        ("wire.outgoing_transfer.completed", WIRE | {"status": "COMPLETED"}),
    ],
    "wire rejected": [
        ("wire.outgoing_transfer.initiated", WIRE | {"status": "INITIATED"}),
        ("wire.outgoing_transfer.submitted", WIRE | {"status": "SUBMITTED"}),
        ("wire.outgoing_transfer.rejected", WIRE | {"status": "REJECTED"}),
    ],
    "realtime completed": [
        ("realtime.outgoing_transfer.initiated", REALTIME | {"status": "INITIATED"}),
        ("realtime.outgoing_transfer.completed", REALTIME | {"status": "COMPLETED"}),
    ],
    "realtime rejected": [
        ("realtime.outgoing_transfer.initiated", REALTIME | {"status": "INITIATED"}),
        ("realtime.outgoing_transfer.rejected", REALTIME | {"status": "REJECTED"}),
    ],
    "entity denied": [
        ("identity.created", ENTITY | {"verification_status": "PENDING"}),
        ("identity.verification.denied", ENTITY | {"verification_status": "DENIED"}),
    ],
    "counterparty renamed": [
        ("counterparty.created", PARTY | {"name": "Cedar Freight LLC"}),
        ("counterparty.updated", PARTY | {"name": "Birch Supply Co"}),
    ],
    "account with another owner": [
        ("account.unfrozen", ACCOUNT | {"owners": ["enti_1"], "status": "OPEN"}),
        ("account.frozen", ACCOUNT | {"owners": ["enti_2"], "status": "FROZEN"}),
    ],
}


def told(life: list[tuple[str, bank.Data]], *, other: int = 1) -> Streamed:
    """Wires before and after, and one between the snapshots with equal times."""
    chance = Random(5)
    on_account = {"entity_id": None, "bank_account_id": "bacc_1"}
    usual = [a_wire(f"wire_{number}", T0 + 2 * number * HOUR_US, chance) for number in range(24)]
    owned = [a_wire(f"own_{number}", T0 + (40 + number) * HOUR_US, chance, **on_account) for number in range(4)]
    tied: list[Event] = [(kind, data, TIED_AT) for kind, data in life]
    tied.insert(other, a_wire("other", TIED_AT, chance, **SIDES))
    return Streamed(loaded(sorted([*usual, *tied, *owned], key=lambda event: event[2])))


@pytest.mark.parametrize("life", LIVES)
def test_given_snapshots_of_one_instant_when_rescored_then_any_order_of_delivery_gives_the_same_scores(
    life: str,
) -> None:
    lived = told(LIVES[life])

    assert not lived.needs_replay
    assert lived.changes() == {}
    for order in list(permutations(LIVES[life]))[1:]:
        delivered = told(list(order))
        assert delivered.needs_replay
        assert delivered.recomputed() == lived.newest
