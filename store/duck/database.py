"""Opening the one DuckDB file: settings, schema, and the folding of its write-ahead log into it.

Unit    sizes in bytes
Errors  ``StartupError`` when the file is no database, or another process has it open
"""

from pathlib import Path
from typing import Final

import duckdb

from store.duck.schema import ddl
from store.startup import StartupError

# A fold that runs inside a commit stops the writer for as long as it takes (half a second was seen), one asked for
# from another thread lets commits go on. So the commit's own threshold is far above the one of ``fold_wal``.
FOLD_WAL_OVER_BYTES: Final = 64 << 20
FOLD_IN_COMMIT_OVER: Final = "512MB"
THREADS: Final = 2  # The flow and the API want the cores too; more threads made small appends slower, not faster.
MEMORY_LIMIT: Final = "2GB"

# One row a shard and transaction piles up; only the newest of each shard says anything.
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
_PATH: Final = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"


def open_database(path: Path) -> duckdb.DuckDBPyConnection:
    """Open or make the file. All DDL happens here; whoever wires it closes the connection."""
    try:
        connection = duckdb.connect(path, config=_CONFIG)
    except duckdb.Error as error:
        raise StartupError(f"{path} cannot be opened: {error}") from error
    for statement in ddl():
        connection.execute(statement)
    connection.execute(_KEEP_NEWEST_OFFSETS)
    connection.execute("PRAGMA disable_checkpoint_on_shutdown")  # a stop is quick; the next start reads the log back
    return connection


def fold_wal(connection: duckdb.DuckDBPyConnection, *, over_bytes: int = FOLD_WAL_OVER_BYTES) -> bool:
    """Fold the write-ahead log into the file if it has outgrown ``over_bytes``; call it from a thread that may wait."""
    with connection.cursor() as cursor:
        (path,) = cursor.execute(_PATH).fetchall()[0]
        wal = Path(f"{path}.wal")
        if not wal.exists() or wal.stat().st_size <= over_bytes:
            return False
        cursor.execute("CHECKPOINT")
        return True
