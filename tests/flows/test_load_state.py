"""A whole snapshot of a state that this version does not read: a replay, not a service that cannot start."""

from pathlib import Path

import msgspec
import pytest

from flows.snapshotting import load_state
from store.state_snapshots import StateSnapshots

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
