"""The one writer of the tables: the rows of a batch and the log offsets they bring the shards to, in one transaction.

A row goes into the table of its type (``schema.TABLES``). Facts for the record (``ChainFactRow``) have no table: the
chain writer turns them into links, which are committed in the same transaction and appended to the chains' files after.

Errors  whatever DuckDB raises, after a rollback: either all rows of a batch are stored with its offsets, or none
"""

from collections.abc import Mapping, Sequence
from typing import Final

import duckdb
import msgspec
import pyarrow as pa

from features.core.rows.events import QuarantineRow
from store.duck.schema import TABLES, LogOffsetRow
from store.record.chain import ChainWriter
from store.record.rows import FACT_TYPE, RecordChainRow
from store.tables.columns import Column, arrow_table, columns_of

_ROW_TYPES: Final[tuple[type[msgspec.Struct], ...]] = (FACT_TYPE, *(row_type for _, row_type in TABLES))
_COLUMNS: Final[Mapping[type[msgspec.Struct], tuple[Column, ...]]] = {kind: columns_of(kind) for kind in _ROW_TYPES}
_INSERTS: Final[Mapping[type[msgspec.Struct], str]] = {
    row_type: f"INSERT INTO {name} BY NAME SELECT * FROM arrow_rows"  # noqa: S608 - table names are the schema's own
    for name, row_type in TABLES
}
_COMMITTED: Final = 'SELECT shard, max("offset") FROM log_offsets GROUP BY shard ORDER BY shard'


Rows = Mapping[type[msgspec.Struct], Sequence[msgspec.Struct]]


class BatchWriter:
    """Owns one cursor and is used from one thread. When ``commit`` returns, the batch survives a power cut."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, chains: ChainWriter | None = None) -> None:
        """``chains`` links the facts; a writer without it refuses a batch with facts."""
        self._cursor = connection.cursor()
        self._chains = chains
        self._in_doubt = False

    def commit(
        self,
        rows: Rows,
        offsets: Mapping[int, int],
        committed_at: int,
    ) -> None:
        """Append rows by their type and, for each shard, the offset of the last entry applied.

        A batch for which this raised may be passed again: if it was committed after all, it is not written twice.
        """
        if self._in_doubt and self._was_committed(offsets):
            return
        links = self._links_of(rows)
        marks = [
            LogOffsetRow(shard=shard, offset=offset, committed_at=committed_at) for shard, offset in offsets.items()
        ]
        batches = {kind: batch for kind, batch in rows.items() if kind is not FACT_TYPE}
        batches |= {LogOffsetRow: marks} | ({RecordChainRow: links} if links else {})
        # Columns are built before the transaction opens, so that a row of the wrong shape costs nothing.
        tables = [(_INSERTS[kind], arrow_table(_COLUMNS[kind], batch)) for kind, batch in batches.items() if batch]
        self._cursor.begin()
        try:
            for insert, table in tables:
                self._append(insert, table)
        except BaseException:
            self._cursor.rollback()
            raise
        self._in_doubt = True  # A failure from here on, as of folding the write-ahead log, may follow the fsync.
        self._cursor.commit()
        if links and self._chains is not None:
            self._chains.settle(links)
        self._in_doubt = False

    def _links_of(self, rows: Rows) -> list[RecordChainRow]:
        facts = [row for row in rows.get(FACT_TYPE, ()) if isinstance(row, FACT_TYPE)]
        if not facts:
            return []
        if self._chains is None:
            raise ValueError("This writer has no chains to link facts to.")
        return self._chains.rows_of(facts)

    def _was_committed(self, offsets: Mapping[int, int]) -> bool:
        """Whether the batch that failed last is in the tables after all; if so, the chains' files are completed."""
        committed = committed_offsets(self._cursor)
        was_committed = bool(offsets) and all(committed.get(shard, 0) >= offset for shard, offset in offsets.items())
        if was_committed and self._chains is not None:
            self._chains.open()
        self._in_doubt = not was_committed
        return was_committed

    def without_invalid_rows(self, rows: Rows, at: int) -> tuple[Rows, int]:
        """The rows, those that no table accepts replaced by quarantine rows, and the number of replacements.

        Called only after a commit failed: one invalid row must not hold up the others of its batch.
        """
        valid: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
        quarantined: list[msgspec.Struct] = []
        for kind, batch in rows.items():
            for row in batch:
                error = _refusal(kind, row)
                if error is None:
                    valid.setdefault(kind, []).append(row)
                else:
                    fields = msgspec.structs.asdict(row)
                    place = (fields.get("program_id", ""), fields["shard"], fields["offset"])
                    quarantined.append(QuarantineRow(*place, kind.__name__, at, error))
        valid.setdefault(QuarantineRow, []).extend(quarantined)
        return valid, len(quarantined)

    def _append(self, insert: str, arrow_rows: pa.Table) -> None:  # noqa: ARG002 - see below
        """The statement reads ``arrow_rows`` by name from this frame: 1.5 ms a table less than registering a view."""
        self._cursor.execute(insert)


def _refusal(kind: type[msgspec.Struct], row: msgspec.Struct) -> str | None:
    """Why the row cannot be written as columns, None when it can."""
    try:
        arrow_table(_COLUMNS[kind], [row])
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def committed_offsets(connection: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """The last log offset that each shard has committed; a shard that never committed is absent."""
    return dict(connection.cursor().execute(_COMMITTED).fetchall())
