"""Whether directory, segments, Redis and database belong to one log and join without a hole; and the accepted holes.

The id of a log is minted once: it is in the directory's layout, in Redis and in DuckDB, and all three must agree.
Without it a forgotten variable would start an empty bank on a directory with a full one. A shard's log is its segments
and then the entries in Redis. Redis has the offset up to which it was trimmed, each segment the end of its predecessor,
and the database its committed offset.

File    ``lake/accepted-losses.ndjson``, so that an operator is asked once about each hole
Errors  ``StartupError``, one sentence that says what to do; ``DamagedSegmentError`` for segments that overlap
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import duckdb
import msgspec
import redis
import structlog

from clearhold.features.core.instants import format_instant
from clearhold.store.data_dir import LAYOUT, DataDir, LogIdentity
from clearhold.store.duck.database import TABLES, LogOffsetRow, committed_offsets
from clearhold.store.errors import StartupError
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.lake.segment_files import Gap
from clearhold.store.record.chain_file import RecordChainRow, append_durably, cut_torn_line
from clearhold.store.redis_log.reader import (
    IDENTITY,
    TENANTS,
    LogReader,
    control_key,
    log_time_of,
    shard_key,
    stream_id_of,
)
from clearhold.store.redis_log.reader import identity_in as identity_in_redis
from clearhold.store.tables import columns_of

_TABLE: Final = "log_identity"
_DDL: Final = f"CREATE TABLE IF NOT EXISTS {_TABLE} (log_id VARCHAR NOT NULL, shards INTEGER NOT NULL)"
# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_HAS_TABLE: Final = f"SELECT count(*) FROM duckdb_tables() WHERE table_name = '{_TABLE}'"
_READ: Final = f"SELECT log_id, shards FROM {_TABLE}"
_INSERT: Final = f"INSERT INTO {_TABLE} VALUES (?, ?)"


class LogInRedis:
    """A Redis and its log; ``name`` is its description in sentences."""

    def __init__(self, client: redis.Redis, name: str) -> None:
        self._client, self.name = client, name

    def identity(self) -> LogIdentity | None:
        return identity_in_redis(self._client)

    def holds_streams(self, shards: int) -> bool:
        """Whether a log was ever written here, even one without an id."""
        return bool(self._client.exists(TENANTS, *map(shard_key, range(shards))))

    def claim(self, identity: LogIdentity) -> None:
        """Write the id unless there is one; StartupError when another directory was faster."""
        self._client.set(IDENTITY, msgspec.json.encode(identity), nx=True)
        if self.identity() != identity:
            raise StartupError(f"Another data directory has just taken {self.name}. Give each one a separate Redis.")


def identity_in(database: duckdb.DuckDBPyConnection) -> LogIdentity | None:
    """The log that the tables were made from; None for new tables."""
    with database.cursor() as cursor:
        if cursor.execute(_HAS_TABLE).fetchall() == [(0,)]:
            return None
        row = cursor.execute(_READ).fetchone()
    return None if row is None else LogIdentity(log_id=row[0], shards=row[1])


def mark_database(database: duckdb.DuckDBPyConnection, identity: LogIdentity) -> None:
    """Note in the tables which log they are made from; once."""
    with database.cursor() as cursor:
        cursor.execute(_DDL)
        if cursor.execute(_READ).fetchone() is None:
            cursor.execute(_INSERT, [identity.log_id, identity.shards])


def check_database(data_dir: DataDir, database: duckdb.DuckDBPyConnection) -> None:
    """Refuse tables that were made from another log."""
    other = identity_in(database)
    if other == data_dir.identity or (other is None and not committed_offsets(database)):
        return
    _check_shards(data_dir, other)
    raise StartupError(
        f"{data_dir.duckdb_path} was made from another log than that of {data_dir.path}. Put this directory's own "
        "file back, or set it aside and run clearhold rebuild."
    )


def check_redis(data_dir: DataDir, log: LogInRedis, *, has_history: bool, accept_loss: bool) -> None:
    """Refuse a Redis with another log than the directory's, or without one although the directory has a history.

    ``accept_loss`` allows the latter: the log was lost.
    """
    other = log.identity()
    if other == data_dir.identity:
        return
    _check_shards(data_dir, other)
    is_used = other is not None or log.holds_streams(data_dir.shards)
    if is_used and has_history:
        raise StartupError(
            f"{data_dir.path} and {log.name} belong to two different logs. Start with the pair that belongs together: "
            f"{_advice(data_dir)}"
        )
    if is_used:
        raise StartupError(
            f"{data_dir.path} is new, but {log.name} holds the log of another data directory. Start with that "
            "directory, or give this one an empty Redis."
        )
    if has_history and not accept_loss:
        raise StartupError(
            f"{data_dir.path} belongs to a log that {log.name} does not hold: it is empty. If that is not the Redis "
            f"it was used with, {_advice(data_dir)} If its contents are lost, add --accept-loss: tenants, programs and "
            "keys come back from the lake, and losses are named."
        )


def has_history_in(data_dir: DataDir, database: duckdb.DuckDBPyConnection | None) -> bool:
    """Whether the directory was ever used with its log; ``database`` None when it cannot be opened."""
    return (
        (database is not None and identity_in(database) is not None)
        or any(data_dir.lake_dir.glob("log/*/day=*/*.parquet"))
        or any(data_dir.record_dir.glob("*/*.ndjson"))
    )


def _check_shards(data_dir: DataDir, other: LogIdentity | None) -> None:
    """Refuse a layout whose number of shards was changed: every program would be looked for in the wrong place."""
    if other is not None and other.log_id == data_dir.identity.log_id and other.shards != data_dir.shards:
        raise StartupError(
            f"{data_dir.path / LAYOUT} was changed: it names {data_dir.shards} shards, and the log has {other.shards}. "
            "Put it back from a backup."
        )


def _advice(data_dir: DataDir) -> str:
    embedded = _holds_a_log(data_dir.redis_dir)
    where = f"unset CLEARHOLD_REDIS_URL for the log in {data_dir.redis_dir}, or " if embedded else ""
    return f"{where}set CLEARHOLD_REDIS_URL to the Redis of this directory."


def _holds_a_log(redis_dir: Path) -> bool:
    """Whether an embedded Redis has written here: its log in one file, or, from version 7 on, in a folder."""
    files = [redis_dir / "appendonly.aof", *redis_dir.glob("appendonlydir/*.aof")]
    return any(file.is_file() and file.stat().st_size > 0 for file in files)


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
            tail=reader.end_of(control_key(tenant_id)),
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
