"""A program's stored scorings in log order, the newest of each transfer: the input of a backfill.

How     The newest scoring of each transfer is found once, into a temporary table. Pages are ranges of log offsets,
        which DuckDB finds without reading other row groups. Within a page there is no order: sorting such wide rows
        would cost more than reading them.
Unit    a page has at least as many transfers as requested, while there are enough, and all of its last offset
Errors  ``duckdb.InterruptException`` in the reading thread after ``interrupt``
"""

from collections.abc import Iterator
from typing import Final, Self

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.store.tables.columns import rows_in, select_list

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_NEWEST: Final = """
    CREATE TEMP TABLE newest AS
    SELECT transfer_id, max("offset") AS "offset", arg_max(feature_version, "offset") = ? AS is_current
    FROM transfer_features WHERE tenant_id = ? AND program_id = ? AND "offset" <= ? GROUP BY transfer_id"""
_OFFSETS: Final = 'SELECT "offset" FROM newest ORDER BY "offset"'
_PAGE: Final = f"""
    SELECT {select_list(TransferFeaturesRow)} FROM (
        SELECT * FROM transfer_features WHERE tenant_id = ? AND program_id = ? AND "offset" BETWEEN ? AND ?
    ) SEMI JOIN (
        SELECT transfer_id, "offset" FROM newest WHERE "offset" BETWEEN ? AND ?
    ) USING (transfer_id, "offset")"""
_OTHERS: Final = "SELECT count(*) FROM newest WHERE NOT is_current"
_OF_TRANSFER: Final = f"""
    SELECT {select_list(TransferFeaturesRow)} FROM transfer_features WHERE transfer_id = ?
    QUALIFY row_number() OVER (PARTITION BY program_id ORDER BY "offset" DESC) = 1 ORDER BY program_id"""


def newest_of(connection: duckdb.DuckDBPyConnection, transfer_id: str) -> list[TransferFeaturesRow]:
    """The newest scoring of a transfer, in each program with one of that id."""
    table = connection.execute(_OF_TRANSFER, [transfer_id]).to_arrow_table()
    return list(rows_in(TransferFeaturesRow, table))


class ScoringPage:
    """The scorings up to an offset."""

    def __init__(self, table: pa.Table, *, upto: int) -> None:
        self.table, self.upto = table, upto

    @property
    def count(self) -> int:
        return self.table.num_rows

    @property
    def rows(self) -> Iterator[TransferFeaturesRow]:
        return rows_in(TransferFeaturesRow, self.table)


class NewestScorings:
    """The newest scoring of each transfer of a program, as of a log offset. Used by one thread, and closed.

    ``others`` is the number of those with another feature version.
    """

    def __init__(
        self,
        database: duckdb.DuckDBPyConnection,
        *,
        tenant_id: str,
        program_id: str,
        upto: int,
        feature_version: str,
    ) -> None:
        self._cursor = database.cursor()
        self._place = [tenant_id, program_id]
        self._offsets: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._parameters = [feature_version, tenant_id, program_id, upto]
        self.others = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()

    def find(self) -> None:
        """Find the newest scorings; call this first."""
        self._cursor.execute(_NEWEST, self._parameters)
        self._offsets = self._cursor.execute(_OFFSETS).fetchnumpy()["offset"]
        ((self.others,),) = self._cursor.execute(_OTHERS).fetchall()

    @property
    def total(self) -> int:
        return len(self._offsets)

    def page(self, after: int, count: int) -> ScoringPage | None:
        """The next scorings after an offset."""
        first = int(np.searchsorted(self._offsets, after, side="right"))
        if first >= len(self._offsets):
            return None
        ends = (int(self._offsets[first]), int(self._offsets[min(first + count, len(self._offsets)) - 1]))
        table = self._cursor.execute(_PAGE, [*self._place, *ends, *ends]).to_arrow_table()
        return ScoringPage(table, upto=ends[1])

    def interrupt(self) -> None:
        """Interrupt the query of the reading thread."""
        self._cursor.interrupt()
