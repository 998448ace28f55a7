"""When a state snapshot is due: after a number of entries that grows with all that a shard holds, parties as well."""

from pathlib import Path

import pytest

from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.shard.shard import Shards
from clearhold.flows.stream import snapshotting
from clearhold.flows.stream.snapshotting import SnapshotWriter
from clearhold.store.state_snapshots import StateSnapshots
from tests.support.bank_events import a_counterparty, an_event
from tests.support.clock import T0

PARTIES = 40


@pytest.mark.parametrize(("entries", "is_due"), [(PARTIES // 10 - 1, False), (PARTIES // 10, True)])
def test_given_a_shard_of_many_parties_when_entries_are_applied_then_a_tenth_of_its_size_makes_a_snapshot_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: int, *, is_due: bool
) -> None:
    monkeypatch.setattr(snapshotting, "DUE_ENTRIES", 1)
    shards = Shards(1)
    writer = SnapshotWriter(shards, StateSnapshots(tmp_path, format_version=1))
    writer.begin()
    for number in range(1, PARTIES + 1):
        party = a_counterparty(id=f"cpty_{number}")
        body = an_event("counterparty.created", party, event_id=f"evnt_{number}")
        shards.apply(LogEntry(0, number, EntryKind.BANK.value, "prg_1", T0, body), lambda _row: None)
    assert shards.state(0).size == PARTIES

    writer.offer(0, entries)
    writer.close(5.0)

    assert writer.written == {0: PARTIES if is_due else 0}
