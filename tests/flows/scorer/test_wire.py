"""Frames and batches as bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.flows.scorer.wire import FRAME_LIMIT, HEADER_BYTES, FrameError, FrameKind, Frames, frame
from clearhold.flows.stream.dataflow import ShardResults, batch_of, decoded, encoded
from tests.support.duck_rows import a_transfer, an_event, some_features

KINDS = st.sampled_from(FrameKind)


@given(frames=st.lists(st.tuples(KINDS, st.binary(max_size=40)), max_size=6), cuts=st.lists(st.integers(1, 30)))
def test_given_frames_in_pieces_of_any_size_when_fed_then_each_comes_out_whole_and_in_order(
    frames: list[tuple[FrameKind, bytes]], cuts: list[int]
) -> None:
    data = b"".join(frame(kind, body) for kind, body in frames)
    reader, found, at = Frames(), [], 0
    for cut in (*cuts, len(data)):
        found += reader.feed(data[at : at + cut])
        at += cut

    assert found == frames


def test_given_a_length_that_no_frame_has_when_fed_then_it_is_refused() -> None:
    with pytest.raises(FrameError):
        Frames().feed((FRAME_LIMIT + 1).to_bytes(8, "big") + bytes(HEADER_BYTES))


def test_given_rows_of_two_shards_when_sent_as_bytes_then_the_batch_is_the_same_and_its_tables_lie_aligned() -> None:
    first, second = ShardResults(3), ShardResults(5)
    for row in (an_event(), an_event(event_id="evnt_\N{SNOWMAN}"), a_transfer(), some_features()):
        first.emit(row)
    second.emit(an_event(offset=9))
    first.offset, first.entries, first.oldest_at = 7, 4, 1_000
    second.offset, second.entries, second.oldest_at = 9, 1, 900
    batch = batch_of([first, second], {3: 2, 5: 1})

    parts = encoded(batch)
    read = decoded(memoryview(b"".join(parts)))

    assert (read.offsets, read.epochs, read.entries, read.oldest_at) == ({3: 7, 5: 9}, {3: 2, 5: 1}, 5, 900)
    assert read.tables == batch.tables
    assert read.tables["EventRow"].num_rows == 3
    at = 0
    for number, part in enumerate(parts):
        assert number % 2 or at % 64 == 0
        at += len(part)


def test_given_a_row_without_columns_when_a_batch_is_made_then_it_is_quarantined_and_counted() -> None:
    results = ShardResults(1)
    results.emit(an_event(offset=5))
    results.emit(an_event(offset=6, created_at=2**70))
    results.emit(a_transfer(offset=7, rail=None))

    batch = batch_of([results], {})

    assert batch.quarantined == 2
    assert batch.tables["EventRow"].column("offset").to_pylist() == [5]
    assert batch.tables["QuarantineRow"].column("offset").to_pylist() == [6, 7]
    assert "TransferRow" not in batch.tables


def test_given_rows_of_two_types_when_they_become_columns_then_questions_are_looked_for_before_each_column() -> None:
    results = ShardResults(1)
    for row in (an_event(), an_event(event_id="evnt_2"), a_transfer()):
        results.emit(row)
    looks: list[int] = []

    batch = batch_of([results], {}, between=lambda: looks.append(1))

    assert len(looks) == sum(table.num_columns for table in batch.tables.values()) > 40
