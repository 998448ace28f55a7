"""Writes a part: DuckDB copies the rows of a SELECT into a file, which is whole on disk before it has its name.

Errors  ``OSError`` and ``duckdb.Error``, after which nothing is left of the file
"""

from pathlib import Path
from typing import Final
from zlib import crc32

import duckdb

from clearhold.store.durable_files import durable_name

ROWS_PER_GROUP: Final = 50_000
_AT_ONCE: Final = 1 << 20
_COPY: Final = """
    COPY ({select}) TO '{path}'
    (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {group}, USE_TMP_FILE false)
"""


def write_part(cursor: duckdb.DuckDBPyConnection, select: str, path: Path) -> int:
    """Write what a SELECT yields, in its order; returns the number of rows."""
    with durable_name(path) as unfinished:
        statement = _COPY.format(select=select, path=quoted(unfinished), group=ROWS_PER_GROUP)
        (rows,) = cursor.execute(statement).fetchall()[0]
    return int(rows)


def checksum(path: Path) -> int:
    """The CRC-32 of a whole file."""
    total = 0
    with path.open("rb") as file:
        while piece := file.read(_AT_ONCE):
            total = crc32(piece, total)
    return total


def quoted(path: Path | str) -> str:
    """A path as it stands between quotes in SQL."""
    return str(path).replace("'", "''")
