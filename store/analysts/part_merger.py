"""Writes the rows of several parts as one file: polars reads them in their order and streams them into it.

polars is loaded by the first merge, on the thread that merges: a start does not wait for it, and the thread that it
computes on inherits the priority. It computes on one, since the cores are for scoring.

Errors  ``OSError``, after which nothing is left of the file; ``InterruptedError`` is the one of ``interrupt``
"""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import IO, Any, Final, cast
from zlib import crc32

import duckdb
import pyarrow.parquet as pq

from clearhold.store.analysts.parts import quoted
from clearhold.store.analysts.tables import LakeColumn
from clearhold.store.durable_files import durable_file, durable_name

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


_THREADS: Final = "POLARS_MAX_THREADS"


class PartMerger:
    """One thread's, but for ``interrupt``."""

    def __init__(self) -> None:
        self._interrupted = Event()

    def merge(self, parts: Sequence[Path], columns: Sequence[LakeColumn], path: Path) -> int:
        """Write one file with these columns, null where a part of an older service lacks one; returns its rows."""
        polars = _polars()
        types = {
            "BIGINT": polars.Int64,
            "BOOLEAN": polars.Boolean,
            "DOUBLE": polars.Float64,
            "TIMESTAMP": polars.Datetime("us"),
            "VARCHAR": polars.String,
        }
        with durable_file(path) as file:
            try:
                polars.scan_parquet(
                    parts,
                    schema={column.name: types[column.sql_type] for column in columns},
                    missing_columns="insert",
                    extra_columns="ignore",
                    hive_partitioning=False,
                ).sink_parquet(cast("IO[bytes]", _Sink(file, self._interrupted)), row_group_size=ROWS_PER_GROUP)
            except polars.exceptions.PolarsError as error:
                if self._interrupted.is_set():
                    raise InterruptedError(f"Merging into {path} was interrupted.") from error
                raise OSError(f"Parts cannot be merged into {path}: {error}") from error
        return int(pq.read_metadata(path).num_rows)

    def interrupt(self) -> None:
        """From another thread: a merge ends with an error at its next write, and so does every later one."""
        self._interrupted.set()


class _Sink:
    """What polars writes to. An error here is the only way to end a query of polars that has begun."""

    def __init__(self, file: IO[bytes], interrupted: Event) -> None:
        self._file, self._interrupted = file, interrupted
        self.flush = file.flush

    def write(self, data: bytes) -> int:
        if self._interrupted.is_set():
            raise InterruptedError
        return self._file.write(data)


def _polars() -> Any:
    os.environ.setdefault(_THREADS, "1")
    return import_module("polars")
