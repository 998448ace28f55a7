"""Writes a part: DuckDB copies the rows of a SELECT into a file, which is whole on disk before it has its name.

Errors  ``OSError`` and ``duckdb.Error``, after which nothing is left of the file
"""

import os
from pathlib import Path
from typing import Final

import duckdb

from store.durable_files import fsync_folder, make_durable_folder

UNFINISHED: Final = ".unfinished"
ROWS_PER_GROUP: Final = 50_000
_COPY: Final = """
    COPY ({select}) TO '{path}'
    (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {group}, USE_TMP_FILE false)
"""


def write_part(cursor: duckdb.DuckDBPyConnection, select: str, path: Path) -> int:
    """Write what a SELECT yields, in its order; returns the number of rows."""
    make_durable_folder(path.parent)
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        statement = _COPY.format(select=select, path=quoted(unfinished), group=ROWS_PER_GROUP)
        (rows,) = cursor.execute(statement).fetchall()[0]
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    unfinished.replace(path)
    fsync_folder(path.parent)
    return int(rows)


def quoted(path: Path | str) -> str:
    """A path as it stands between quotes in SQL."""
    return str(path).replace("'", "''")
