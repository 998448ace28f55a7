"""Nothing leaves Redis before a segment holds it, wherever a run ends."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from redis import Redis

from clearhold.features.core.log_entry import LogEntry
from clearhold.store.lake.log_segments import LogSegments, Segmenter, shard_name
from clearhold.store.lake.segment_files import SegmentFiles
from clearhold.store.redis_log.reader import SEQ_BITS, LogGapError, LogReader, shard_key
from tests.support.duck_rows import AT

SHARD = 3


class DiskFullError(OSError):
    pass


class FailingFiles(SegmentFiles):
    """Writes the first page and then has no room left."""

    pages = 0

    def write(self, entries: Sequence[LogEntry]) -> None:
        self.pages += 1
        if self.pages > 1:
            raise DiskFullError
        super().write(entries)


class FailingSegments(LogSegments):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._files = FailingFiles(root / "log" / shard_name(SHARD))

    def shard(self, _: int) -> SegmentFiles:
        return self._files


@pytest.fixture
def reader(log_redis: Redis) -> LogReader:
    return LogReader(log_redis, [SHARD])


@pytest.fixture
def segments(tmp_path: Path) -> LogSegments:
    return LogSegments(tmp_path)


def offset(ms: int) -> int:
    return ms << SEQ_BITS


def append(client: Redis, *at_ms: int) -> None:
    for ms in at_ms:
        fields: dict[str, str | int] = {"k": "bank", "p": "prg_1", "t": AT + ms, "b": str(ms)}
        client.xadd(shard_key(SHARD), fields, id=f"{ms}-0")  # type: ignore[arg-type]


def in_redis(reader: LogReader) -> list[int]:
    return [entry.offset >> SEQ_BITS for entry in reader.range(SHARD, 0, offset(2**40), count=1_000)]


def in_segments(segments: LogSegments) -> list[int]:
    return [entry.offset >> SEQ_BITS for entry in segments.shard(SHARD).read(0)]


def test_given_a_log_when_segmented_then_the_segments_hold_the_very_entries_and_redis_only_the_tail(
    log_redis: Redis, reader: LogReader, segments: LogSegments
) -> None:
    append(log_redis, *range(1, 12))
    before = reader.range(SHARD, 0, offset(9), count=100)

    written = Segmenter(reader, segments, page_entries=4, linger_ms=0).run_once(SHARD, offset(9), offset(7))

    assert written == 9
    assert list(segments.shard(SHARD).read(0)) == before
    assert in_redis(reader) == [8, 9, 10, 11]


def test_given_entries_that_are_not_committed_then_they_stay_in_redis_whatever_the_trim_limit(
    log_redis: Redis, reader: LogReader, segments: LogSegments
) -> None:
    append(log_redis, 1, 2, 3)

    Segmenter(reader, segments, linger_ms=0).run_once(SHARD, offset(2), offset(3))

    assert in_segments(segments) == [1, 2]
    assert in_redis(reader) == [3]


def test_given_less_than_a_page_then_it_waits_until_its_oldest_entry_has_lingered(
    log_redis: Redis, reader: LogReader, segments: LogSegments
) -> None:
    append(log_redis, 1, 2, 3, 4, 5, 1_000)
    segmenter = Segmenter(reader, segments, page_entries=4, linger_ms=1_000)

    assert segmenter.run_once(SHARD, offset(1_000), offset(1_000)) == 4
    assert in_redis(reader) == [5, 1_000]

    append(log_redis, 1_005)
    assert segmenter.run_once(SHARD, offset(1_005), offset(1_005)) == 3
    assert in_segments(segments) == [1, 2, 3, 4, 5, 1_000, 1_005]
    assert in_redis(reader) == []


def test_given_a_crash_after_a_segment_was_written_then_the_next_run_trims_and_writes_nothing_twice(
    log_redis: Redis, reader: LogReader, segments: LogSegments, tmp_path: Path
) -> None:
    append(log_redis, 1, 2, 3)
    segments.shard(SHARD).write(reader.range(SHARD, 0, offset(2), count=10))

    after_restart = LogSegments(tmp_path)
    written = Segmenter(reader, after_restart, linger_ms=0).run_once(SHARD, offset(3), offset(3))

    assert written == 1
    assert in_segments(after_restart) == [1, 2, 3]
    assert in_redis(reader) == []


def test_given_a_disk_that_fills_up_midway_then_nothing_unwritten_is_trimmed_and_a_later_run_completes(
    log_redis: Redis, reader: LogReader, tmp_path: Path
) -> None:
    append(log_redis, 1, 2, 3, 4)

    with pytest.raises(DiskFullError):
        Segmenter(reader, FailingSegments(tmp_path), page_entries=2).run_once(SHARD, offset(4), offset(4))

    assert in_redis(reader) == [1, 2, 3, 4]
    segments = LogSegments(tmp_path)
    Segmenter(reader, segments, page_entries=2).run_once(SHARD, offset(4), offset(4))
    assert in_segments(segments) == [1, 2, 3, 4]
    assert in_redis(reader) == []


def test_given_an_empty_log_then_a_run_does_nothing(reader: LogReader, segments: LogSegments) -> None:
    assert Segmenter(reader, segments).run_once(SHARD, 0, 0) == 0


def test_given_entries_that_another_process_trimmed_when_segmented_then_no_segment_is_written_over_the_hole(
    log_redis: Redis, reader: LogReader, segments: LogSegments
) -> None:
    append(log_redis, *range(1, 9))
    segmenter = Segmenter(reader, segments, page_entries=2, linger_ms=0)
    segmenter.run_once(SHARD, offset(4), offset(2))
    LogReader(log_redis, [SHARD]).trim(SHARD, offset(5))

    with pytest.raises(LogGapError, match="from 5-1 on, and the entries after 4-0"):
        segmenter.run_once(SHARD, offset(8), offset(8))

    assert in_segments(segments) == [1, 2, 3, 4]
    assert in_redis(reader) == [6, 7, 8]
