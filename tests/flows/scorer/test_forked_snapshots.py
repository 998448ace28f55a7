"""Snapshots by a forked child: of all shards at once, as at the fork, and no more before those are covered."""

import mmap
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from structlog.testing import capture_logs

from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.shard.shard import Shards
from clearhold.flows.scorer import process
from clearhold.flows.scorer.endpoint import ScorerEndpoint
from clearhold.flows.scorer.process import ForkedSnapshots
from clearhold.flows.stream.snapshotting import load_state
from clearhold.store.scheduling import GIVING_WAY
from clearhold.store.state_snapshots import StateSnapshots
from tests.support.bank_events import a_counterparty, an_event
from tests.support.clock import T0
from tests.support.waiting import eventually

OWNED = (0, 1, 2)
ANY_OFFSET = 1_000


class Room(NamedTuple):
    shards: Shards
    stored: StateSnapshots
    folder: Path
    endpoint: ScorerEndpoint
    snapshots: ForkedSnapshots

    def apply(self, shard: int, *offsets: int) -> None:
        for offset in offsets:
            party = a_counterparty(id=f"cpty_{shard}_{offset}")
            body = an_event("counterparty.created", party, event_id=f"evnt_{shard}_{offset}")
            self.shards.apply(LogEntry(shard, offset, EntryKind.BANK.value, f"prg_{shard}", T0, body), lambda _: None)
            self.snapshots.offer(shard, 1)

    def written(self) -> dict[int, int]:
        self.snapshots.look()
        return self.snapshots.written

    def dumped(self, shard: int) -> list[bytes]:
        return list(self.shards.state(shard).dump())


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    """Due after four entries in all."""
    monkeypatch.setattr(process, "DUE_ENTRIES", 4)
    rows, questions = socket.socketpair(), socket.socketpair()
    flag = os.memfd_create("flag")
    os.ftruncate(flag, 1)
    shards, folder = Shards(4), tmp_path / "checkpoints"
    endpoint = ScorerEndpoint(rows[1], questions[1], mmap.mmap(flag, 1), shards)
    stored = StateSnapshots(folder, format_version=1)
    yield Room(shards, stored, folder, endpoint, ForkedSnapshots(shards, OWNED, stored, endpoint))
    os.close(flag)
    for each in (*rows, *questions):
        each.close()


def test_given_entries_of_several_shards_when_they_are_due_together_then_one_fork_writes_each_as_it_was(
    room: Room,
) -> None:
    room.apply(0, 1, 2)
    room.apply(2, 1, 2)
    at_fork = {shard: room.dumped(shard) for shard in (0, 2)}
    room.apply(0, 3)

    eventually(lambda: room.written() == {0: 2, 1: 0, 2: 2})

    for shard, dumped in at_fork.items():
        loaded = load_state(room.stored, shard, committed_offset=ANY_OFFSET)
        assert (loaded.applied_offset, list(loaded.dump())) == (2, dumped)
    assert room.stored.newest(1, upto=ANY_OFFSET) is None


def test_given_a_fork_when_it_writes_then_it_gives_way_and_its_scorer_does_not(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "niceness"
    monkeypatch.setattr(StateSnapshots, "write", lambda *_: told.write_text(str(os.nice(0))))
    before = os.nice(0)

    room.apply(0, 1, 2, 3, 4)
    eventually(lambda: room.written()[0] == 4)

    assert int(told.read_text()) == min(19, before + GIVING_WAY)
    assert os.nice(0) == before


def test_given_snapshots_ahead_of_the_tables_when_more_entries_come_then_no_others_are_taken_before_those_are_covered(
    room: Room,
) -> None:
    room.apply(0, 1, 2, 3, 4)
    eventually(lambda: room.written()[0] == 4)

    room.endpoint.committed[0] = 3
    room.apply(1, *range(1, 9))
    assert room.written() == {0: 4, 1: 0, 2: 0}

    room.endpoint.committed[0] = 4
    room.apply(1, 9)
    eventually(lambda: room.written() == {0: 4, 1: 9, 2: 0})


def test_given_a_disk_that_refuses_when_snapshots_are_due_then_the_next_ones_hold_what_these_would_have(
    room: Room,
) -> None:
    shutil.rmtree(room.folder)
    room.folder.touch()
    with capture_logs() as logs:
        room.apply(0, 1, 2, 3, 4)
        eventually(lambda: room.written() and logs)
    assert logs == [{"event": "snapshots_missing", "offsets": {0: 4}, "log_level": "warning"}]
    assert room.written() == dict.fromkeys(OWNED, 0)

    room.folder.unlink()
    room.folder.mkdir()
    room.apply(0, 5, 6, 7, 8)
    eventually(lambda: room.written()[0] == 8)


def test_given_a_child_that_still_writes_when_the_scorer_ends_then_all_that_is_committed_is_on_disk(room: Room) -> None:
    room.apply(0, 1, 2, 3, 4)
    room.apply(1, 1)
    room.apply(2, 1)
    room.endpoint.committed |= {0: 4, 1: 1}

    room.snapshots.take_all()

    assert {shard: room.stored.newest(shard, upto=ANY_OFFSET) is not None for shard in OWNED} == {
        0: True,
        1: True,
        2: False,
    }
