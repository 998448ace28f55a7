"""What a start begins with: the newest snapshot that the tables have reached, or nothing, and never a failure."""

from pathlib import Path

import msgspec
import pytest

from clearhold.features.core.log_entry import EntryKind, LogEntry, no_rows
from clearhold.features.shard.shard import Shards, ShardState
from clearhold.flows.scorer.scoring import NoQuestions, Scoring, newest_states
from clearhold.flows.stream.dataflow import RowBatch
from clearhold.flows.stream.snapshotting import framed, load_state
from clearhold.store.state_snapshots import StateSnapshots
from tests.support.bank_events import a_counterparty, an_event
from tests.support.clock import T0

OTHERS = (("shard", 0, 77), ("preflights", "prg_1", "another shape"))


@pytest.mark.parametrize("parts", [[msgspec.msgpack.encode(part) for part in OTHERS], [b"\xc1"], []])
def test_given_a_state_of_another_shape_when_loaded_then_the_shard_begins_anew(
    tmp_path: Path, parts: list[bytes]
) -> None:
    snapshots = StateSnapshots(tmp_path, format_version=1)
    snapshots.write(0, 77, [len(part).to_bytes(8, "big") + part for part in parts])

    state = load_state(snapshots, 0, committed_offset=77)

    assert state.applied_offset == 0
    assert not state.programs


class NoRows:
    """A sink that nothing comes to."""

    def put(self, batch: RowBatch) -> None:
        raise AssertionError(batch)


def a_state(shard: int, upto: int) -> ShardState:
    state = ShardState(shard)
    for offset in range(1, upto + 1):
        body = an_event("counterparty.created", a_counterparty(id=f"cpty_{offset}"), event_id=f"evnt_{offset}")
        state.apply(LogEntry(shard, offset, EntryKind.BANK.value, "prg_1", T0, body), no_rows)
    return state


@pytest.mark.parametrize(("committed", "expected"), [(9, 7), (7, 7), (6, 4), (4, 4), (3, 0), (0, 0)])
def test_given_states_that_were_loaded_first_when_it_is_known_how_far_the_tables_are_then_none_is_ahead_of_them(
    tmp_path: Path, committed: int, expected: int
) -> None:
    snapshots = StateSnapshots(tmp_path, format_version=1)
    for upto in (4, 7):
        snapshots.write(1, upto, framed(a_state(1, upto).dump()))
    shards, owned = Shards(2), (0, 1)
    newest = newest_states(snapshots, owned)
    assert [state.applied_offset for state in newest] == [0, 7]

    scoring = Scoring(shards, owned, committed={1: committed}, epochs={}, sink=NoRows(), attendant=NoQuestions())
    scoring.restore(newest, snapshots)

    assert [shards.applied_offset(shard) for shard in owned] == [0, expected]
    assert list(shards.state(1).dump()) == list(a_state(1, expected).dump())
