"""Entries whose rows are committed change the state alike when no rows are built for them."""

from random import Random

import msgspec
import pytest

from clearhold.features.core.log_entry import Emit, LogEntry, no_rows
from clearhold.features.shard.shard import ShardState
from tests.oracle.random_streams import stream_of


def state_after(entries: list[LogEntry], emit: Emit) -> list[bytes]:
    state = ShardState(0)
    for entry in entries:
        state.apply(entry, emit)
    return list(state.dump())


@pytest.mark.parametrize("seed", range(6))
def test_given_a_stream_when_no_rows_are_built_then_the_state_is_the_same(seed: int) -> None:
    entries, rows = stream_of(Random(seed), 40), list[msgspec.Struct]()

    with_rows = state_after(entries, rows.append)

    assert rows
    assert state_after(entries, no_rows) == with_rows
