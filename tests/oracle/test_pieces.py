"""The state against the oracle on random streams, each with many cases of one kind."""

import pytest

from clearhold.features.shard.shard import ShardState
from tests.oracle.effort import STREAMS
from tests.oracle.pieces import TELLERS, stream_of
from tests.support.oracle_agreement import disagreements, rows_of


@pytest.mark.parametrize("piece", TELLERS)
def test_given_streams_of_a_piece_when_applied_then_every_vector_is_the_oracles(piece: str) -> None:
    found = {seed: lines for seed in range(STREAMS) if (lines := disagreements(stream_of(piece, seed)))}

    assert not found, f"{len(found)} of {STREAMS} streams differ, the first: {next(iter(found.items()))}"


@pytest.mark.parametrize("piece", TELLERS)
def test_given_streams_of_a_piece_when_the_state_is_dumped_and_loaded_in_between_then_nothing_differs(
    piece: str,
) -> None:
    for seed in range(STREAMS // 2):
        entries = stream_of(piece, seed)
        straight, resumed = ShardState(0), ShardState(0)
        expected = rows_of(straight, entries)

        rows = rows_of(resumed, entries[: len(entries) // 2])
        resumed = ShardState.loaded(iter(list(resumed.dump())))
        rows += rows_of(resumed, entries[len(entries) // 2 :])

        assert rows == expected
