"""The one writer of history: what a batch of log entries led to, and how far the log was applied, in one transaction.

Facts for the record become links of their chains in that same transaction, and lines of the chains' files behind it.

Errors  whatever DuckDB raises, after a rollback: either all rows of a batch are there with its offsets, or none is
"""

from collections.abc import Mapping, Sequence
from typing import Final

import duckdb
import msgspec
import pyarrow as pa

from features.core.rows.events import QuarantineRow
from features.core.rows.record import ChainFactRow
from store.duck.schema import TABLES, LogOffsetRow
from store.record.chain import ChainWriter
from store.record.rows import RecordChainRow
from store.tables.columns import Column, arrow_table, columns_of

_ROW_TYPES: Final[tuple[type[msgspec.Struct], ...]] = (ChainFactRow, *(row_type for _, row_type in TABLES))
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
        """``chains`` takes the facts; without it a batch that has one is refused."""
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

        A batch for which this raised may be given again: if it did get through, it is not written twice.
        """
        if self._in_doubt and self._came_through(offsets):
            return
        links = self._links(rows)
        marks = [
            LogOffsetRow(shard=shard, offset=offset, committed_at=committed_at) for shard, offset in offsets.items()
        ]
        batches: dict[type[msgspec.Struct], Sequence[msgspec.Struct]] = {**rows, LogOffsetRow: marks}
        if links:
            del batches[ChainFactRow]
            batches[RecordChainRow] = links
        # Columns are built before the transaction opens, so that a row of the wrong shape costs nothing.
        tables = [(_INSERTS[kind], arrow_table(_COLUMNS[kind], batch)) for kind, batch in batches.items() if batch]
        self._cursor.begin()
        try:
            for insert, table in tables:
                self._append(insert, table)
        except BaseException:
            self._cursor.rollback()
            raise
        self._in_doubt = True  # What fails from here on, such as folding the write-ahead log, may come after the fsync.
        self._cursor.commit()
        if links and self._chains is not None:
            self._chains.settle(links)
        self._in_doubt = False

    def _links(self, rows: Rows) -> list[RecordChainRow]:
        facts = [row for row in rows.get(ChainFactRow, ()) if isinstance(row, ChainFactRow)]
        return self._chains.rows_of(facts) if facts and self._chains is not None else []

    def _came_through(self, offsets: Mapping[int, int]) -> bool:
        """Whether the batch that failed last is in the tables after all; then the chains' files are brought to them."""
        held = committed_offsets(self._cursor)
        came_through = bool(offsets) and all(held.get(shard, 0) >= offset for shard, offset in offsets.items())
        if came_through and self._chains is not None:
            self._chains.open()
        self._in_doubt = not came_through
        return came_through

    def without_invalid_rows(self, rows: Rows, at: int) -> tuple[Rows, int]:
        """The rows with those that no table takes replaced by quarantine rows, and how many that were.

        Asked for only after a commit failed: one odd row must not hold up all that came with it.
        """
        kept: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
        odd: list[msgspec.Struct] = []
        for kind, batch in rows.items():
            for row in batch:
                error = _refusal(kind, row)
                if error is None:
                    kept.setdefault(kind, []).append(row)
                else:
                    held = msgspec.structs.asdict(row)
                    place = (held.get("program_id", ""), held["shard"], held["offset"])
                    odd.append(QuarantineRow(*place, kind.__name__, at, error))
        kept.setdefault(QuarantineRow, []).extend(odd)
        return kept, len(odd)

    def _append(self, insert: str, arrow_rows: pa.Table) -> None:  # noqa: ARG002 - see below
        """The statement reads ``arrow_rows`` by name from this frame: 1.5 ms a table less than registering a view."""
        self._cursor.execute(insert)


def _refusal(kind: type[msgspec.Struct], row: msgspec.Struct) -> str | None:
    """Why a row cannot become columns, if it cannot."""
    try:
        arrow_table(_COLUMNS[kind], [row])
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def committed_offsets(connection: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """The last log offset each shard has committed; a shard that never committed is absent."""
    return dict(connection.cursor().execute(_COMMITTED).fetchall())
