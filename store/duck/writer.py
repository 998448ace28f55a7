"""The one writer of the tables: commits the rows of a batch and the shards' log offsets in one transaction.

A row goes into the table of its type (``schema.TABLES``). Facts for the record (``ChainFactRow``) have no table: the
chain writer turns them into links, which are committed in the same transaction and appended to the chains' files after.

Errors  whatever DuckDB raises, after a rollback: either all rows of a batch are stored with its offsets, or no row
"""

from collections.abc import Mapping
from typing import Final

import duckdb
import pyarrow as pa

from clearhold.store.duck.schema import TABLES, LogOffsetRow
from clearhold.store.record.chain import ChainWriter
from clearhold.store.record.rows import FACT_TYPE, RecordChainRow
from clearhold.store.tables.row_tables import RowTables, row_tables, rows_of

_INSERTS: Final[Mapping[str, str]] = {
    row_type.__name__: f"INSERT INTO {name} BY NAME SELECT * FROM arrow_rows"  # noqa: S608 - table names are the schema's own
    for name, row_type in TABLES
}
_COMMITTED: Final = 'SELECT shard, max("offset") FROM log_offsets GROUP BY shard ORDER BY shard'
_EPOCHS: Final = "SELECT shard, max(epoch) FROM log_offsets GROUP BY shard ORDER BY shard"
NO_EPOCHS: Final[Mapping[int, int]] = {}


class BatchWriter:
    """Owns one cursor and is used from one thread. When ``commit`` returns, the batch survives a power cut."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, chains: ChainWriter | None = None) -> None:
        """``chains`` links the facts; without it, batches with facts are refused."""
        self._cursor = connection.cursor()
        self._chains = chains
        self._in_doubt = False

    def commit(
        self,
        rows: RowTables,
        offsets: Mapping[int, int],
        committed_at: int,
        *,
        epochs: Mapping[int, int] = NO_EPOCHS,
    ) -> None:
        """Append rows by their type and, for each shard, the offset of the last entry applied and its owner's epoch.

        A failed batch may be passed again: if it was committed after all, it is not written twice.
        """
        if self._in_doubt and self._was_committed(offsets):
            return
        links = self._links_of(rows)
        marks = [
            LogOffsetRow(shard=shard, offset=offset, epoch=epochs.get(shard, 0), committed_at=committed_at)
            for shard, offset in offsets.items()
        ]
        own = row_tables({LogOffsetRow: marks, RecordChainRow: links})
        # Statements are looked up before the transaction opens, so that a row of an unknown type costs nothing.
        tables = [
            (_INSERTS[name], table) for name, table in (*rows.items(), *own.items()) if name != FACT_TYPE.__name__
        ]
        self._cursor.begin()
        try:
            for insert, table in tables:
                self._append(insert, table)
        except BaseException:
            self._cursor.rollback()
            raise
        self._in_doubt = (
            True  # A failure from here on, such as in folding the write-ahead log, may come after the fsync.
        )
        self._cursor.commit()
        if links and self._chains is not None:
            self._chains.settle(links)
        self._in_doubt = False

    def _links_of(self, rows: RowTables) -> list[RecordChainRow]:
        facts = rows.get(FACT_TYPE.__name__)
        if facts is None:
            return []
        if self._chains is None:
            raise ValueError("This writer has no chains to link facts to.")
        return self._chains.rows_of(rows_of(FACT_TYPE, facts))

    def _was_committed(self, offsets: Mapping[int, int]) -> bool:
        """Whether the last failed batch is in the tables after all; if so, the chains' files are completed."""
        committed = committed_offsets(self._cursor)
        was_committed = bool(offsets) and all(committed.get(shard, 0) >= offset for shard, offset in offsets.items())
        if was_committed and self._chains is not None:
            self._chains.open()
        self._in_doubt = not was_committed
        return was_committed

    def _append(self, insert: str, arrow_rows: pa.Table) -> None:  # noqa: ARG002 - see below
        """The statement reads ``arrow_rows`` by name from this frame: 1.5 ms a table less than registering a view."""
        self._cursor.execute(insert)


def committed_offsets(connection: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """The last committed log offset of each shard; a shard without commits is absent."""
    return dict(connection.cursor().execute(_COMMITTED).fetchall())


def committed_epochs(connection: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """The newest epoch with a commit of each shard; 0 for the first owner."""
    return dict(connection.cursor().execute(_EPOCHS).fetchall())
