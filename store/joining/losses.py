"""Whether segments, log and database join without a hole, for every shard and control stream; and the accepted holes.

A shard's log is its segments and then the entries in Redis. Redis has the offset up to which it was trimmed, each
segment the end of its predecessor, and the database its committed offset.

File    ``lake/accepted-losses.ndjson``, so that an operator is asked once about each hole
Errors  ``DamagedSegmentError`` for segments that overlap
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import duckdb
import msgspec
import structlog

from clearhold.features.core.instants import format_instant
from clearhold.store.duck.database import TABLES, LogOffsetRow
from clearhold.store.errors import StartupError
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.lake.segment_files import Gap
from clearhold.store.record.chain_file import RecordChainRow, append_durably, cut_torn_line
from clearhold.store.redis_log.offsets import log_time_of, stream_id_of
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.tables.columns import columns_of

FILE: Final = "accepted-losses.ndjson"


class Hole(msgspec.Struct, frozen=True, kw_only=True, rename="camel", order=True):
    """Of ``stream``, the entries with ``after`` < offset <= ``upto`` are missing.

    A stream is named after its folder in the lake: ``shard=03`` or ``tenant=<id>``.
    """

    stream: str
    after: int
    upto: int

    def covers(self, other: "Hole") -> bool:
        return self.stream == other.stream and self.after <= other.after and other.upto <= self.upto

    def holds(self, offset: int) -> bool:
        return self.after < offset <= self.upto


class AcceptedLosses:
    """Read when opened; appended durably."""

    def __init__(self, lake_dir: Path, *, tidies: bool = True) -> None:
        """``tidies`` for the one process that may remove leftovers of a crash."""
        self._path = lake_dir / FILE
        if tidies:
            cut_torn_line(self._path)
        try:
            content = self._path.read_bytes() if self._path.exists() else b""
            self.holes = tuple(msgspec.json.Decoder(Hole).decode_lines(content))
        except msgspec.MsgspecError as error:
            raise StartupError(f"{self._path} is damaged: {error}.") from error

    def accept(self, hole: Hole) -> None:
        append_durably(self._path, msgspec.json.encode(hole) + b"\n")
        self.holes = (*self.holes, hole)

    def unaccepted(self, holes: list[Hole]) -> list[Hole]:
        return [hole for hole in holes if not any(accepted.covers(hole) for accepted in self.holes)]


_ATTACH: Final = "ATTACH '{path}' AS before (READ_ONLY)"
_KEEP: Final = """
    INSERT INTO {table} BY NAME SELECT * FROM before.{table} WHERE shard = ? AND "offset" > ? AND "offset" <= ?
"""
_PLACED: Final = {"shard", "offset"}

log = structlog.get_logger()


def keep_lost_rows(database: duckdb.DuckDBPyConnection, before: Path, lost: Sequence[tuple[int, Hole]]) -> None:
    """Copy the old database's rows of lost entries, by shard; an unreadable database is skipped, and logged.

    Links are not included: they come from the chains' files.
    """
    if not lost or not before.exists():
        return
    tables = [
        name
        for name, row_type in TABLES
        if row_type not in {LogOffsetRow, RecordChainRow}
        and {column.name for column in columns_of(row_type)} >= _PLACED
    ]
    with database.cursor() as cursor:
        try:
            cursor.execute(_ATTACH.format(path=str(before).replace("'", "''")))
            for shard, hole in lost:
                for table in tables:
                    cursor.execute(_KEEP.format(table=table), [shard, hole.after, hole.upto])
            cursor.execute("DETACH before")
        except duckdb.Error as error:
            log.warning("lost_rows_not_kept", path=str(before), error=f"{type(error).__name__}: {error}")


SHOWN_HOLES = 3


class StreamEnds(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a stream in each place, as offsets; 0 where it is empty. ``trimmed`` is where Redis begins."""

    stream: str
    segments: int
    gaps: Sequence[Gap] = ()
    trimmed: int = 0
    tail: int = 0
    committed: int = 0

    @property
    def known(self) -> int:
        """The highest offset known outside of Redis."""
        return max(self.segments, self.committed)

    @property
    def is_behind(self) -> bool:
        """Whether Redis ends before the other places: it was lost, or is an older copy."""
        return self.tail < self.known

    def holes(self) -> list[Hole]:
        """The entries that are in none of the places."""
        gaps = list(self.gaps)
        if self.trimmed > self.segments:
            gaps.append(Gap(self.segments, self.trimmed))
        begin = max(self.segments, self.trimmed, self.tail)
        if begin < self.committed:
            gaps.append(Gap(begin, self.committed))
        return [Hole(stream=self.stream, after=gap.after, upto=gap.upto) for gap in gaps]


def shard_ends(
    reader: LogReader, segments: LogSegments, committed: Mapping[int, int], *, shards: int
) -> list[StreamEnds]:
    """The ends of every shard; ``committed`` are the database's offsets, empty if it cannot be opened."""
    return [
        StreamEnds(
            stream=segments.shard(shard).name,
            segments=segments.shard(shard).last_offset,
            gaps=segments.shard(shard).gaps(),
            trimmed=reader.trimmed(shard),
            tail=reader.tail(shard),
            committed=committed.get(shard, 0),
        )
        for shard in range(shards)
    ]


def control_ends(reader: LogReader, segments: LogSegments) -> dict[str, StreamEnds]:
    """The ends of every tenant's control stream, which Redis keeps whole."""
    return {
        tenant_id: StreamEnds(
            stream=segments.control(tenant_id).name,
            segments=segments.control(tenant_id).last_offset,
            gaps=segments.control(tenant_id).gaps(),
            tail=reader.control_tail(tenant_id),
        )
        for tenant_id in sorted({*reader.tenants(), *segments.tenants()})
    }


def sentence_of(holes: Sequence[Hole]) -> str:
    """The holes in words, the first few of them."""
    parts = [
        f"{hole.stream} lacks the entries after {_place(hole.after)} and up to {_place(hole.upto)}"
        for hole in islice(holes, SHOWN_HOLES)
    ]
    more = len(holes) - len(parts)
    return "; ".join(parts) + (f"; and {more} more" if more else "")


def _place(offset: int) -> str:
    return f"{stream_id_of(offset)} ({format_instant(log_time_of(offset))})" if offset else "its beginning"
