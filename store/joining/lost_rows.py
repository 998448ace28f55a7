"""Keeps rows of lost log entries: when the database is rebuilt, they are copied from the old one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb
import structlog

from clearhold.store.duck.schema import TABLES, LogOffsetRow
from clearhold.store.joining.losses import Hole
from clearhold.store.record.rows import RecordChainRow
from clearhold.store.tables.columns import columns_of

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
