"""The deliveries that are still to be made, for a node that joins: they follow from no log, and its tables are new.

Folder  ``deliveries.parquet`` and ``attempts.parquet``, rows of the two tables, and ``committed.json``, the offset of
        each shard up to which the deliveries of its entries are among them, or were made before
"""

from pathlib import Path
from typing import Final

import duckdb
import msgspec

from clearhold.store.duck.webhooks import OPEN_IDS

# ruff: noqa: S608 - statements are built from constants and quoted paths

_TABLES: Final = {
    "deliveries": ("webhook_deliveries", f"SELECT * FROM webhook_deliveries WHERE id IN ({OPEN_IDS})"),
    "attempts": ("webhook_attempts", f"SELECT * FROM webhook_attempts WHERE delivery_id IN ({OPEN_IDS})"),
}
_OFFSETS: Final = 'SELECT shard, max("offset") FROM log_offsets GROUP BY shard'
_COMMITTED: Final = "committed.json"


def write_open(database: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Write the folder, from one state of the database."""
    folder.mkdir()
    with database.cursor() as cursor:
        cursor.execute("BEGIN TRANSACTION")
        for name, (_, rows) in _TABLES.items():
            cursor.execute(f"COPY ({rows}) TO '{_path(folder, name)}' (FORMAT parquet)")
        committed = dict(cursor.execute(_OFFSETS).fetchall())
        cursor.execute("COMMIT")
    (folder / _COMMITTED).write_bytes(msgspec.json.encode(committed))


def read_open(database: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Add the rows of a folder to the tables."""
    with database.cursor() as cursor:
        for name, (table, _) in _TABLES.items():
            rows = f"SELECT * FROM read_parquet('{_path(folder, name)}')"
            cursor.execute(f"INSERT INTO {table} BY NAME {rows}")


def covered_by_open(folder: Path) -> dict[int, int]:
    """The offset of each shard up to which a folder has the deliveries."""
    return msgspec.json.decode((folder / _COMMITTED).read_bytes(), type=dict[int, int])


def _path(folder: Path, name: str) -> str:
    """For use between quotes in SQL."""
    return str(folder / f"{name}.parquet").replace("'", "''")
