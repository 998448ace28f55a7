"""The state against the oracle on streams of one piece each, as many as ``CLEARHOLD_ORACLE_STREAMS`` says."""

import pytest

from tests.oracle.effort import STREAMS
from tests.oracle.pieces import TELLERS, stream_of
from tests.support.oracle_agreement import disagreements


@pytest.mark.parametrize("piece", TELLERS)
def test_given_streams_of_a_piece_when_applied_then_every_vector_is_the_oracles(piece: str) -> None:
    found = {seed: lines for seed in range(STREAMS) if (lines := disagreements(stream_of(piece, seed)))}

    assert not found, f"{len(found)} of {STREAMS} streams differ, the first: {next(iter(found.items()))}"
