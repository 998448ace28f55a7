"""Accepted holes in the log: a file in the lake, so that an operator is asked once about each.

File    ``lake/accepted-losses.ndjson``
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb
import msgspec
import structlog

from clearhold.store.duck.schema import TABLES, LogOffsetRow
from clearhold.store.errors import StartupError
from clearhold.store.record.chain_file import append_durably, cut_torn_line
from clearhold.store.record.rows import RecordChainRow
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
