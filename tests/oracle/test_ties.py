"""Snapshots of one second in any order give the same final state, and the same vectors of later transfers."""

import json
from random import Random
from typing import Any

import msgspec

from clearhold.features.catalogue.vector import TransferFeaturesRow, values_by_name
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.shard.shard import ShardState
from tests.oracle.effort import STREAMS
from tests.oracle.pieces import TiedTeller
from tests.oracle.random_parties import ACCOUNTS
from tests.support import bank_events as bank
from tests.support.oracle_agreement import rows_of

GROUPS = 8
ACQUAINTANCE = {
    *("pair.firstTime", "entity.newParties6h", "payer.newPayees90d", "payee.newPayers90d", "program.rarePairs90d"),
    *("payer.newPayees7d", "payer.newPayees30d", "payee.newPayers7d", "payee.newPayers30d", "payer.newPayers30d"),
    *("payer.newPayeesOverUsualPercent", "payee.newPayersOverUsualPercent", "payer.newPayersOverUsualPercent"),
    *("payer.received30dCents", "payer.sent30dCents", "first.chain14dHops", "first.middles30d"),
}
"""Whether two parties have met is decided by the first snapshot of a transfer, so the order may change these."""


def groups_of(seed: int) -> list[list[LogEntry]]:
    """The events of each group are of one object and one second."""
    teller, groups = TiedTeller(Random(seed), "prg_1", lonely=True), []
    for _ in range(GROUPS):
        teller.now += teller.chance.choice((HOUR_US, 5 * HOUR_US, DAY_US))
        before = len(teller.entries)
        teller.chance.choices((teller.tie, teller.tied_identity, teller.tied_party), (6, 1, 1))[0]()
        groups.append(teller.entries[before:])
    return groups


def probes(at: int) -> list[LogEntry]:
    """A wire from each account, a day after the last event."""
    entries = []
    for number, account in enumerate(ACCOUNTS):
        stamps = {"created_at": bank.rfc3339(at + number), "updated_at": bank.rfc3339(at + number)}
        data = bank.a_wire(id=f"probe_{number}", bank_account_id=account, amount=12_345) | stamps
        kind = "wire.outgoing_transfer.completed"
        offset = (10_000 + number) << 20
        entries.append(bank.a_bank_entry(kind, data, offset=offset, created_at=at + number, appended_at=at + number))
    return entries


def renumbered(entries: list[LogEntry]) -> list[LogEntry]:
    return [msgspec.structs.replace(entry, offset=(number + 1) << 20) for number, entry in enumerate(entries)]


def end_of(groups: list[list[LogEntry]]) -> dict[str, Any]:
    """The newest version of every transfer, and the vectors of the probes."""
    entries = renumbered([entry for group in groups for entry in group])
    rows = rows_of(state := ShardState(0), entries)
    found: dict[str, Any] = {}
    for row in rows:
        if isinstance(row, TransferRow):
            found[row.id] = (row.status, row.amount_cents, row.return_code, row.entity_id, row.counterparty_id)
    for row in rows_of(state, probes(max(entry.appended_at for entry in entries) + DAY_US)):
        if isinstance(row, TransferFeaturesRow):
            values = values_by_name(row.vector)
            found[row.transfer_id] = {name: value for name, value in values.items() if name not in ACQUAINTANCE}
    return found


def test_given_snapshots_of_one_second_when_they_come_in_another_order_then_the_end_and_all_sums_are_the_same() -> None:
    found: dict[int, list[str]] = {}
    for seed in range(STREAMS * 2):
        chance, groups = Random(seed), groups_of(seed)
        first, second = end_of(groups), end_of([chance.sample(group, len(group)) for group in groups])
        lines = [f"{id_}: {second[id_]} is not {first[id_]}" for id_ in first if first[id_] != second[id_]]
        for id_ in first.keys() & {f"probe_{number}" for number in range(len(ACCOUNTS))}:
            lines += [f"{id_}.{n}: {second[id_][n]} is not {v}" for n, v in first[id_].items() if v != second[id_][n]]
        if lines:
            found[seed] = [line for line in lines if "{" not in line] or lines

    assert not found, f"{len(found)} streams differ, the first: {next(iter(found.items()))}"


def test_given_tied_streams_when_they_are_made_then_groups_have_several_events_of_one_second() -> None:
    for seed in range(20):
        for group in groups_of(seed):
            times = {json.loads(entry.body)["created_at"] for entry in group}
            updates = {json.loads(entry.body)["data"]["updated_at"] for entry in group}
            assert (len(times), len(updates)) == (1, 1)
            assert len(group) > 1
