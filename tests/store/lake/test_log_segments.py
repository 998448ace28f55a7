"""Segments give back the very entries, in order, and notice when their bytes have changed."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.log_entry import LogEntry
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.lake.segment_files import ENTRIES_PER_ROW_GROUP, DamagedSegmentError, SegmentFiles
from clearhold.store.redis_log.reader import NO_SHARD
from tests.support.duck_rows import AT

MIDNIGHT = AT - AT % DAY_US


def an_entry(offset: int, *, appended_at: int = AT, body: bytes = b"{}", shard: int = 7) -> LogEntry:
    return LogEntry(shard=shard, offset=offset, kind="bank", program_id="prg_1", appended_at=appended_at, body=body)


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


@pytest.fixture
def segments(tmp_path: Path) -> LogSegments:
    return LogSegments(tmp_path)


def test_given_nothing_then_a_shard_reads_empty(segments: LogSegments) -> None:
    assert segments.shard(7).last_offset == 0
    assert list(segments.shard(7).read(0)) == []
    assert segments.shard(7).find(1) is None


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 2 * ENTRIES_PER_ROW_GROUP + 3), min_size=1, max_size=3),
    wanted=st.sets(st.integers(1, 7_000), max_size=40),
)
def test_given_entries_of_many_files_and_groups_when_some_are_asked_for_then_they_come_in_order_and_no_others(
    sizes: list[int], wanted: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    segments, last = LogSegments(tmp_path_factory.mktemp("lake")), 0
    for size in sizes:
        segments.shard(7).write(
            [an_entry(2 * offset, body=b"%d" % offset) for offset in range(last + 1, last + size + 1)]
        )
        last += size

    entries = segments.shard(7).find_all(sorted(wanted))

    assert entries == [
        an_entry(each, body=b"%d" % (each // 2)) for each in sorted(wanted) if each % 2 == 0 and each <= 2 * last
    ]
    assert segments.shard(8).find_all([1, 2]) == []


@settings(max_examples=25, deadline=None)
@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(1, 9), st.integers(-2 * DAY_US, 2 * DAY_US), st.binary(max_size=9)), max_size=6),
        max_size=5,
    ),
    after=st.integers(0, 60),
    upto=st.none() | st.integers(0, 120),
)
def test_given_random_batches_when_written_then_any_range_reads_back_in_order_also_after_a_restart(
    batches: list[list[tuple[int, int, bytes]]], after: int, upto: int | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("lake")
    segments = LogSegments(root)
    entries: list[LogEntry] = []
    offset = 0
    for batch in batches:
        fresh = []
        for step, shift, body in batch:
            offset += step
            fresh.append(an_entry(offset, appended_at=AT + shift, body=body))
        segments.shard(7).write(fresh)
        entries += fresh

    wanted = [entry for entry in entries if after < entry.offset and (upto is None or entry.offset <= upto)]
    for reader in (segments, LogSegments(root)):
        assert list(reader.shard(7).read(after, upto)) == wanted
        assert reader.shard(7).last_offset == offset
        assert all(reader.shard(7).find(entry.offset) == entry for entry in entries)


def test_given_entries_around_midnight_then_files_follow_the_days_and_never_overlap(
    segments: LogSegments, tmp_path: Path
) -> None:
    late = an_entry(7, appended_at=MIDNIGHT - 1)  # Appended by a clock that was behind: the offsets' order stands.

    segments.shard(7).write([an_entry(5, appended_at=MIDNIGHT - 1), an_entry(6, appended_at=MIDNIGHT), late])

    assert files(tmp_path) == [
        "log/shard=07/day=2026-02-28/00000000000000000000-00000000000000000005.parquet",
        "log/shard=07/day=2026-02-28/00000000000000000006-00000000000000000007.parquet",
        "log/shard=07/day=2026-03-01/00000000000000000005-00000000000000000006.parquet",
    ]
    assert [entry.offset for entry in segments.shard(7).read(0)] == [5, 6, 7]


def test_given_a_range_written_again_then_nothing_changes(segments: LogSegments, tmp_path: Path) -> None:
    segments.shard(7).write([an_entry(5), an_entry(6)])
    before = files(tmp_path)

    segments.shard(7).write([an_entry(5), an_entry(6)])

    assert files(tmp_path) == before


def test_given_a_range_that_overlaps_then_only_its_new_end_is_written(segments: LogSegments) -> None:
    segments.shard(7).write([an_entry(5), an_entry(6)])

    segments.shard(7).write([an_entry(6), an_entry(7)])

    assert [entry.offset for entry in segments.shard(7).read(0)] == [5, 6, 7]


def test_given_entries_out_of_order_then_they_are_refused_and_nothing_is_written(
    segments: LogSegments, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="order"):
        segments.shard(7).write([an_entry(6), an_entry(5)])

    assert files(tmp_path) == []


def test_given_many_row_groups_then_an_entry_in_any_of_them_is_found(segments: LogSegments) -> None:
    count = 3 * ENTRIES_PER_ROW_GROUP + 1
    segments.shard(7).write([an_entry(2 * n, body=b"%d" % n) for n in range(1, count + 1)])

    for n in (1, ENTRIES_PER_ROW_GROUP, ENTRIES_PER_ROW_GROUP + 1, count):
        assert segments.shard(7).find(2 * n) == an_entry(2 * n, body=b"%d" % n)
        assert segments.shard(7).find(2 * n + 1) is None


def test_given_a_crash_while_writing_then_the_half_is_removed_at_start_and_the_rest_is_read(tmp_path: Path) -> None:
    LogSegments(tmp_path).shard(7).write([an_entry(5)])
    whole = next(tmp_path.rglob("*.parquet"))
    half = whole.with_name("00000000000000000006-00000000000000000009.parquet.unfinished")
    half.write_bytes(whole.read_bytes()[:100])

    segments = LogSegments(tmp_path)

    assert not half.exists()
    assert segments.shard(7).last_offset == 5
    segments.shard(7).write([an_entry(6)])
    assert [entry.offset for entry in segments.shard(7).read(0)] == [5, 6]


def test_given_a_crash_between_the_files_of_two_days_then_the_rest_is_written_by_the_next_run(tmp_path: Path) -> None:
    entries = [an_entry(5, appended_at=AT), an_entry(6, appended_at=AT + DAY_US)]
    LogSegments(tmp_path).shard(7).write(entries[:1])  # What the disk holds when the second file was never renamed.

    segments = LogSegments(tmp_path)
    segments.shard(7).write(entries)

    assert list(segments.shard(7).read(0)) == entries


@pytest.mark.parametrize("length", [0, 3, 200, -9, -1])
def test_given_a_truncated_segment_then_reading_it_says_which_one(tmp_path: Path, length: int) -> None:
    LogSegments(tmp_path).shard(7).write([an_entry(5, body=b"x" * 500)])
    path = next(tmp_path.rglob("*.parquet"))
    path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(DamagedSegmentError, match=path.name):
        list(LogSegments(tmp_path).shard(7).read(0))


def test_given_a_flipped_byte_in_a_body_then_reading_it_says_which_one(tmp_path: Path) -> None:
    body = bytes(range(256)) * 8
    LogSegments(tmp_path).shard(7).write([an_entry(5, body=body)])
    path = next(tmp_path.rglob("*.parquet"))
    content = bytearray(path.read_bytes())
    content[content.index(body[:64]) + 10] ^= 1
    path.write_bytes(content)

    with pytest.raises(DamagedSegmentError, match=path.name):
        list(LogSegments(tmp_path).shard(7).read(0))


def test_given_control_entries_written_twice_then_each_tenants_stream_is_stored_once(tmp_path: Path) -> None:
    segments = LogSegments(tmp_path)
    first = [
        LogEntry(NO_SHARD, 4, "tenant", "", AT, b"a", b"a seal"),
        LogEntry(NO_SHARD, 9, "program", "", AT + DAY_US, b"b", b"another seal"),
    ]
    second = [LogEntry(NO_SHARD, 1, "tenant", "", AT, b"c")]
    segments.control("t/1").write(first[:1])

    segments.control("t/1").write(first)
    segments.control("t2").write(second)

    for tenant, entries in (("t%2F1", first), ("t2", second)):
        assert list(SegmentFiles(tmp_path / "log" / f"tenant={tenant}").read(-1, None)) == entries


def three_segments(root: Path) -> list[Path]:
    """A shard's log in three files, oldest first."""
    segments = LogSegments(root)
    for offset in (5, 9, 12):
        segments.shard(7).write([an_entry(offset - 1), an_entry(offset)])
    return sorted(root.rglob("*.parquet"))


@pytest.mark.parametrize(("lost", "gaps"), [(0, [(0, 5)]), (1, [(5, 9)]), (2, [])])
def test_given_a_segment_that_is_deleted_then_its_neighbours_say_what_is_missing(
    tmp_path: Path, lost: int, gaps: list[tuple[int, int]]
) -> None:
    paths = three_segments(tmp_path)
    assert LogSegments(tmp_path).shard(7).gaps() == []

    paths[lost].unlink()

    assert LogSegments(tmp_path).shard(7).gaps() == gaps


def test_given_a_segment_that_was_replaced_then_its_successor_says_so(tmp_path: Path) -> None:
    paths = three_segments(tmp_path)
    assert LogSegments(tmp_path).shard(7).replaced() == []
    other = LogSegments(tmp_path / "other")
    other.shard(7).write([an_entry(4), an_entry(5)])
    other.shard(7).write([an_entry(8, body=b"another"), an_entry(9)])

    paths[1].write_bytes(sorted((tmp_path / "other").rglob("*.parquet"))[1].read_bytes())

    assert LogSegments(tmp_path).shard(7).replaced() == [paths[1]]


def test_given_segments_that_overlap_then_it_is_said(tmp_path: Path) -> None:
    paths = three_segments(tmp_path)
    paths[1].rename(paths[1].with_name("00000000000000000004-00000000000000000009.parquet"))

    with pytest.raises(DamagedSegmentError, match="overlaps"):
        LogSegments(tmp_path).shard(7).gaps()
