"""Opens the one DuckDB file: settings, schema, and the folding of its write-ahead log into it.

Unit    sizes in bytes
Errors  ``StartupError`` when the file is no database, or another process has it open
"""

from pathlib import Path
from typing import Final

import duckdb

from clearhold.store.duck.schema import TABLES, ddl
from clearhold.store.errors import StartupError
from clearhold.store.tables.columns import columns_of

RENAMED_COLUMNS: Final[dict[str, dict[str, str]]] = {
    # Units, then windows, come last.
    "transfer_features": {
        "structuring_24h_count": "structuring_count_24h",
        "repeated_amount_24h": "repeated_amount_count_24h",
        "round_amount_30d": "round_amount_count_30d",
        "entity_in_48h_cents": "entity_in_cents_48h",
        "entity_out_48h_cents": "entity_out_cents_48h",
        "fan_in_24h": "fan_in_count_24h",
        "fan_in_7d": "fan_in_count_7d",
        "fan_out_8h": "fan_out_count_8h",
        "fan_out_24h": "fan_out_count_24h",
        "fan_out_7d": "fan_out_count_7d",
        "gathered_24h": "gathered_count_24h",
        "gathered_7d": "gathered_count_7d",
        "entity_pulled_2bd_cents": "entity_pulled_cents_2bd",
        "entity_fast_out_2bd_cents": "entity_fast_out_cents_2bd",
        "entity_micro_24h": "entity_micro_entries_24h",
        "program_micro_24h": "program_micro_entries_24h",
        "card_small_1h": "card_small_count_1h",
        "program_card_small_1h": "program_card_small_count_1h",
    },
}
"""Remove an entry only when no directory of its version can exist any more. A rename changes the catalogue and no rows,
and an interrupted start may be repeated: each is done once."""

DROPPED_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "rule_matches": ("alert_id", "opened"),  # for rules that open alerts, the alerts are the matches
}
_COLUMNS: Final = "SELECT column_name FROM duckdb_columns() WHERE NOT internal AND table_name = ?"


def rename_columns(connection: duckdb.DuckDBPyConnection) -> int:
    """Rename the columns that still have an earlier name; returns their number."""
    renamed = 0
    for table, names in RENAMED_COLUMNS.items():
        present = {column for (column,) in connection.execute(_COLUMNS, [table]).fetchall()}
        for former, name in names.items():
            if former in present and name not in present:
                connection.execute(f"ALTER TABLE {table} RENAME COLUMN {former} TO {name}")
                renamed += 1
    return renamed


def drop_columns(connection: duckdb.DuckDBPyConnection) -> int:
    """Drop the columns that no row fills any more; returns their number."""
    dropped = 0
    for table, names in DROPPED_COLUMNS.items():
        present = {column for (column,) in connection.execute(_COLUMNS, [table]).fetchall()}
        for name in present.intersection(names):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {name}")
            dropped += 1
    return dropped


# A fold inside a commit stops the writer meanwhile (half a second was seen); one from another thread lets commits go
# on. So the commit's own threshold is far above the one of ``fold_wal``.
FOLD_WAL_OVER_BYTES: Final = 64 << 20
FOLD_IN_COMMIT_OVER: Final = "512MB"
THREADS: Final = 1  # A query that takes a second core takes it from the flow and from pre-flights.
MEMORY_LIMIT: Final = "2GB"

# Each transaction adds a row for each shard; only the newest of each shard counts.
_KEEP_NEWEST_OFFSETS: Final = """
    DELETE FROM log_offsets WHERE rowid NOT IN (SELECT arg_max(rowid, "offset") FROM log_offsets GROUP BY shard)
"""

_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "threads": THREADS,
    "memory_limit": MEMORY_LIMIT,
    "wal_autocheckpoint": FOLD_IN_COMMIT_OVER,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_PRESENT_COLUMNS: Final = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal"
# The value of a new column in existing rows, where it cannot be null.
_NOTHING: Final = {"BIGINT": "0", "DOUBLE": "0", "VARCHAR": "''", "BOOLEAN": "false", "TIMESTAMP": "make_timestamp(0)"}
_PATH: Final = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"


def open_database(path: Path) -> duckdb.DuckDBPyConnection:
    """Open or create the file. All DDL happens here; the caller closes the connection."""
    try:
        connection = duckdb.connect(path, config=_CONFIG)
    except duckdb.Error as error:
        cure = "" if "lock" in str(error) else " If it is damaged, clearhold rebuild makes it again from the log."
        raise StartupError(f"{path} cannot be opened: {error}{cure}") from error
    changed = rename_columns(connection)  # before any column is missed and added as an empty one
    changed += drop_columns(connection)
    _make_schema(connection)
    if _add_columns(connection) or changed:
        _make_schema(connection)  # views name their columns when they are created
        connection.execute("CHECKPOINT")  # DuckDB cannot replay such a change of a table from its log
    connection.execute(_KEEP_NEWEST_OFFSETS)
    connection.execute("PRAGMA disable_checkpoint_on_shutdown")  # a stop is quick; the next start reads the log back
    return connection


def _make_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """All statements in one transaction, which waits for the disk once."""
    connection.execute(";".join(("BEGIN", *ddl(), "COMMIT")))


def open_to_read(path: Path) -> duckdb.DuckDBPyConnection:
    """Open the file of a stopped service read-only. The caller closes the connection."""
    if not path.is_file():
        raise StartupError(f"There is no database at {path}.")
    try:
        return duckdb.connect(path, read_only=True)
    except duckdb.IOException as error:
        if "lock" in str(error):
            raise StartupError(f"{path} is in use: a service has it open.") from error
        raise StartupError(f"{path} is no database that can be read.") from error
    except duckdb.Error as error:
        raise StartupError(f"{path} cannot be opened: {error}") from error


def _add_columns(connection: duckdb.DuckDBPyConnection) -> int:
    """Add the columns that tables of an earlier version lack; returns their number."""
    present = set(connection.execute(_PRESENT_COLUMNS).fetchall())
    missing = [
        (name, column) for name, kind in TABLES for column in columns_of(kind) if (name, column.name) not in present
    ]
    for name, column in missing:
        nothing = "NULL" if column.nullable else _NOTHING[column.sql_type]
        connection.execute(f'ALTER TABLE {name} ADD COLUMN "{column.name}" {column.sql_type} DEFAULT {nothing}')
    return len(missing)


def fold_wal(connection: duckdb.DuckDBPyConnection, *, over_bytes: int = FOLD_WAL_OVER_BYTES) -> bool:
    """Fold the write-ahead log into the file if it has outgrown ``over_bytes``; call it from a thread that may wait."""
    with connection.cursor() as cursor:
        (path,) = cursor.execute(_PATH).fetchall()[0]
        wal = Path(f"{path}.wal")
        if not wal.exists() or wal.stat().st_size <= over_bytes:
            return False
        cursor.execute("CHECKPOINT")
        return True
