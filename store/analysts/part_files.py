"""Writes a part: DuckDB copies the rows of a SELECT into a file, which gets its name when it is complete on disk.

Errors  ``OSError`` and ``duckdb.Error``, after which the file is removed
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
    """Write the rows of a SELECT in its order; returns their number."""
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
    """A path for use between quotes in SQL."""
    return str(path).replace("'", "''")
