"""Offsets and stream ids name the same thing, in the same order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.store.redis_log.reader import offset_of, stream_id_of

MS = st.integers(min_value=0, max_value=2**43 - 1)
SEQ = st.integers(min_value=0, max_value=2**20 - 1)


@given(MS, SEQ)
def test_given_a_stream_id_when_made_an_offset_then_it_comes_back_and_fits_a_signed_64_bit_column(
    ms: int, seq: int
) -> None:
    offset = offset_of(f"{ms}-{seq}".encode())

    assert stream_id_of(offset) == f"{ms}-{seq}"
    assert 0 <= offset < 2**63


@given(st.tuples(MS, SEQ), st.tuples(MS, SEQ))
def test_given_two_stream_ids_then_their_offsets_stand_in_the_same_order(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    offsets = [offset_of(f"{ms}-{seq}") for ms, seq in (one, other)]

    assert (one < other) == (offsets[0] < offsets[1])


@pytest.mark.parametrize("stream_id", ["1-1048576", "8796093022208-0", "-1-0", "1", "", "x-1", "1-2-3"])
def test_given_what_no_offset_can_hold_then_it_is_refused(stream_id: str) -> None:
    with pytest.raises(ValueError, match=r"offset|int"):
        offset_of(stream_id)


def test_given_a_negative_offset_then_it_is_refused() -> None:
    with pytest.raises(ValueError, match="not negative"):
        stream_id_of(-1)
