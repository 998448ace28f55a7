"""The id of a log, minted once: it is in the directory's layout, in Redis and in DuckDB, and all three must agree.

Without it a forgotten variable would start an empty bank on a directory with a full one.

Errors  ``StartupError``, one sentence that says what to do
"""

from pathlib import Path
from typing import Final

import duckdb
import msgspec
import redis

from clearhold.store.data_dir import LAYOUT, DataDir, LogIdentity
from clearhold.store.duck.database import committed_offsets
from clearhold.store.errors import StartupError
from clearhold.store.redis_log.offsets import IDENTITY, TENANTS, shard_key
from clearhold.store.redis_log.reader import identity_in as identity_in_redis

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
