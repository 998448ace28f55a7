"""The Parquet segments of one stream of the log: immutable files that never overlap, each named after its predecessor.

File    ``day=2026-03-02/{after}-{last}.parquet``, zstd, checksummed pages: the entries with ``after`` < offset <=
        ``last``. ``after`` is the end of the segment before, so the names show a missing file; the predecessor's
        SHA-256 in the metadata shows a replaced one. The day is the UTC day on which the entries were appended
Errors  ``DamagedSegmentError`` for a file whose bytes have changed since it was written
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clearhold.features.core.instants import DAY_US, datetime_of
from clearhold.features.core.log_entry import LogEntry
from clearhold.store.durable_files import durable_file, sha256_of
from clearhold.store.seals import EntrySeals

ENTRIES_PER_ROW_GROUP: Final = 1_000  # the unit that a search for one entry, or one step of a reader, decompresses
_OFFSET_DIGITS: Final = 20
_PREDECESSOR: Final = b"predecessor_sha256"
_COLUMNS: Final[Sequence[tuple[str, pa.DataType]]] = (
    ("shard", pa.int32()),
    ("offset", pa.int64()),
    ("kind", pa.string()),
    ("program_id", pa.string()),
    ("appended_at", pa.timestamp("us", tz="UTC")),
    ("body", pa.binary()),
    ("seal", pa.binary()),
)
_SCHEMA: Final = pa.schema(_COLUMNS)
# Neither body nor seal: a body's minimum and maximum would be written whole, four times, and outside the checksums.
_WITH_STATISTICS: Final = ["shard", "offset", "kind", "program_id", "appended_at"]
_OFFSET_COLUMN: Final = _SCHEMA.get_field_index("offset")
_LAST: Final = attrgetter("last")


class DamagedSegmentError(Exception):
    """A segment is damaged or unreadable."""


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One file; ``after`` is the end of its predecessor, 0 for the first."""

    after: int
    last: int
    path: Path


class Gap(NamedTuple):
    """Missing entries: those with ``after`` < offset <= ``upto``."""

    after: int
    upto: int


class SegmentFiles:
    """One stream's segments. One thread writes; any may read beside it."""

    def __init__(self, folder: Path, *, stream: str = "", seals: EntrySeals | None = None) -> None:
        """``stream`` is the stream's key in Redis, which its seals name. Without ``seals`` none is checked."""
        self._folder, self._stream, self._seals = folder, stream, seals
        self._segments = sorted(map(_segment, folder.glob("day=*/*.parquet")), key=_LAST)

    @property
    def last_offset(self) -> int:
        """The highest offset in the segments, 0 without any."""
        return self._segments[-1].last if self._segments else 0

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(self._segments)

    @property
    def name(self) -> str:
        """The name of the stream: that of its folder."""
        return self._folder.name

    @property
    def entries(self) -> int:
        """The number of entries in all segments, by their metadata."""
        return sum(_rows_in(segment) for segment in self._segments)

    def gaps(self) -> list[Gap]:
        """Where a segment does not begin at the end of the one before; DamagedSegmentError for an overlap."""
        gaps, last = [], 0
        for segment in self._segments:
            if segment.after < last:
                raise DamagedSegmentError(f"The log segment {segment.path} overlaps with the one before.")
            if segment.after > last:
                gaps.append(Gap(last, segment.after))
            last = segment.last
        return gaps

    def replaced(self) -> list[Path]:
        """The segments whose bytes do not match their successors' digests: reads every file."""
        pairs = pairwise(self._segments)
        return [each.path for each, follower in pairs if _predecessor_of(follower) != sha256_of(each.path).encode()]

    def write(self, entries: Sequence[LogEntry]) -> None:
        """Append entries, given in order; already written ones are skipped. It writes one file a day, in order, so that
        a crash in between leaves the earlier files, and ``last_offset`` is the place to resume from.
        """
        last = self.last_offset
        missing = [entry for entry in entries if entry.offset > last]
        if any(later.offset <= earlier.offset for earlier, later in pairwise(missing)):
            raise ValueError(f"The entries for {self._folder.name} are not in the order of their offsets.")
        for day, of_day in groupby(missing, key=lambda entry: entry.appended_at // DAY_US):
            self._write_segment(day, list(of_day))

    def read(self, after: int, upto: int | None = None) -> Iterator[LogEntry]:
        """Entries with ``after`` < offset <= ``upto``, in order, with one row group in memory at a time."""
        segments = self._segments
        for at in range(bisect_left(segments, after + 1, key=_LAST), len(segments)):
            if upto is not None and segments[at].after >= upto:
                return
            for entry in _entries(segments[at], after):
                if upto is not None and entry.offset > upto:
                    return
                yield self._checked(entry)

    def find(self, offset: int) -> LogEntry | None:
        """The entry at exactly this offset."""
        return next((entry for entry in self.read(offset - 1, offset)), None)

    def find_all(self, offsets: Sequence[int]) -> list[LogEntry]:
        """The entries at these offsets, given in order, as far as they exist: each row group is read once, and only
        these entries of it are decoded.
        """
        entries: list[LogEntry] = []
        by_segment = groupby(offsets, key=lambda offset: bisect_left(self._segments, offset, key=_LAST))
        for at, of_segment in by_segment:
            if at < len(self._segments):
                entries += map(self._checked, _entries_at(self._segments[at], list(of_segment)))
        return entries

    def _checked(self, entry: LogEntry) -> LogEntry:
        return entry if self._seals is None else self._seals.checked(self._stream, entry)

    def _write_segment(self, day: int, entries: list[LogEntry]) -> None:
        after, last = self.last_offset, entries[-1].offset
        name = f"{after:0{_OFFSET_DIGITS}d}-{last:0{_OFFSET_DIGITS}d}.parquet"
        path = self._folder / f"day={datetime_of(day * DAY_US).date().isoformat()}" / name
        predecessor = sha256_of(self._segments[-1].path).encode() if self._segments else b""
        arrays = [pa.array([getattr(entry, field.name) for entry in entries], type=field.type) for field in _SCHEMA]
        with durable_file(path) as file:
            pq.write_table(
                pa.Table.from_arrays(arrays, schema=_SCHEMA.with_metadata({_PREDECESSOR: predecessor})),
                file,
                row_group_size=ENTRIES_PER_ROW_GROUP,
                compression="zstd",
                use_dictionary=False,  # bodies do not repeat, and zstd compresses the rest
                write_statistics=_WITH_STATISTICS,
                write_page_checksum=True,
            )
        self._segments.append(Segment(after=after, last=last, path=path))


def _segment(path: Path) -> Segment:
    after, last = path.stem.split("-")
    return Segment(after=int(after), last=int(last), path=path)


def _rows_in(segment: Segment) -> int:
    with _damage_named(segment):
        return int(pq.read_metadata(segment.path).num_rows)


def _predecessor_of(segment: Segment) -> bytes | None:
    with _damage_named(segment):
        metadata = pq.read_metadata(segment.path).metadata or {}
    return metadata.get(_PREDECESSOR)


def _entries_at(segment: Segment, offsets: Sequence[int]) -> Iterator[LogEntry]:
    """The entries of one file at these offsets; other row groups are not decompressed."""
    with _damage_named(segment), pq.ParquetFile(segment.path, page_checksum_verification=True) as file:
        for group in range(file.num_row_groups):
            statistics = file.metadata.row_group(group).column(_OFFSET_COLUMN).statistics
            within = offsets
            if statistics is not None and statistics.min is not None and statistics.max is not None:
                within = offsets[bisect_left(offsets, statistics.min) : bisect_right(offsets, statistics.max)]
            if within:
                table = file.read_row_group(group)
                yield from _entries_of(table.filter(pc.field("offset").isin(within)))


def _entries_of(table: pa.Table) -> Iterator[LogEntry]:
    values = [column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in table.columns]
    for row in zip(*(column.to_pylist() for column in values), strict=True):
        yield LogEntry(*row)


def _entries(segment: Segment, after: int) -> Iterator[LogEntry]:
    """The entries of one file after ``after``; row groups that end before it are not decompressed."""
    with _damage_named(segment), pq.ParquetFile(segment.path, page_checksum_verification=True) as file:
        for group in range(file.num_row_groups):
            offsets = file.metadata.row_group(group).column(_OFFSET_COLUMN).statistics
            if offsets is not None and offsets.max is not None and offsets.max <= after:
                continue
            for entry in _entries_of(file.read_row_group(group)):
                if not segment.after < entry.offset <= segment.last:
                    raise DamagedSegmentError(f"The log segment {segment.path} has entries of a different segment.")
                if entry.offset > after:
                    yield entry


@contextmanager
def _damage_named(segment: Segment) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DamagedSegmentError(f"The log segment {segment.path} cannot be read: {error}") from error
