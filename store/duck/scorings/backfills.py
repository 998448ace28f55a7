"""The input of a backfill: a program's newest scorings, the transfers that stand for its parties, its last progress.

How     The newest scoring of each transfer, in log order, is found once, into a temporary table. Pages are ranges of
        log offsets, which DuckDB finds without reading other row groups. Within a page there is no order: sorting such
        wide rows would cost more than reading them. For a party stand its newest transfer, and for an entity those
        whose scores fade last: at most ``Fading.kept``, found once for all, into temporary tables
Unit    as of a log offset; a page has at least as many transfers as requested, while there are enough, and all of its
        last offset
Errors  ``duckdb.InterruptException`` in the reading thread after ``interrupt``; an unknown backfill is None
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.rows.alerts import BackfillRow
from clearhold.store.duck.committed_rows import CommittedRows, OpenCursor
from clearhold.store.duck.transfers import FIRST_OWNERS
from clearhold.store.tables import TEXTS, listed, row_builder, rows_in, select_list

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


class ScoringPage(NamedTuple):
    """The scorings up to an offset."""

    table: pa.Table
    upto: int

    @property
    def transfers(self) -> int:
        return int(self.table.num_rows)

    @property
    def rows(self) -> Iterator[TransferFeaturesRow]:
        return rows_in(TransferFeaturesRow, self.table)


class NewestScorings(OpenCursor):
    """The newest scoring of each transfer of a program, as of a log offset.

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
        super().__init__(database)
        self._place = [tenant_id, program_id]
        self._offsets: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._parameters = [feature_version, tenant_id, program_id, upto]
        self.others = 0

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
        return ScoringPage(table, ends[1])


_VERSIONS: Final = f"""
    CREATE TEMP TABLE newest AS
    SELECT id, coalesce(entity_id, owner_id) AS entity_id, account_id, counterparty_id, score, bank_created_at,
        min("offset") OVER (PARTITION BY id) AS landed_at
    FROM transfers LEFT JOIN ({FIRST_OWNERS.format(matching="true")}) USING (tenant_id, program_id, account_id)
    WHERE tenant_id = ? AND program_id = ? AND "offset" <= ?
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY "offset" DESC) = 1"""
_FIND_OF_PARTY: Final = """
    CREATE TEMP TABLE of_party AS
    SELECT kind, party_id, max_by(id, (bank_created_at, landed_at)) AS transfer_id, true AS is_newest FROM (
        SELECT 'actor' AS kind, coalesce(entity_id, account_id) AS party_id, id, bank_created_at, landed_at FROM newest
        UNION ALL SELECT 'counterparty', counterparty_id, id, bank_created_at, landed_at FROM newest
    ) WHERE party_id IS NOT NULL GROUP BY kind, party_id
    UNION ALL (
        SELECT 'actor', entity_id, id, false FROM newest WHERE entity_id IS NOT NULL AND score > 0
        QUALIFY row_number() OVER (
            PARTITION BY entity_id ORDER BY
            epoch_us(bank_created_at) // 86400000000 * ?::BIGINT + list_extract(?::BIGINT[], score) DESC,
            score DESC, landed_at
        ) <= ?
    )"""
_OF: Final = f"""
    SELECT transfer_id FROM of_party WHERE kind = ? AND party_id IN {TEXTS}
    GROUP BY transfer_id ORDER BY bool_or(is_newest) DESC, transfer_id"""


class Fading(NamedTuple):
    """The fading of scores, as ``features`` defines it."""

    lives: tuple[int, ...]  # of the scores 1 to 100: how long each lasts
    day: int  # one day in the unit of the lives
    kept: int  # how many scores of one entity are found


class PartyTransfers(OpenCursor):
    """Of one program."""

    def __init__(self, database: duckdb.DuckDBPyConnection, *, tenant_id: str, program_id: str, upto: int) -> None:
        super().__init__(database)
        self._parameters = [tenant_id, program_id, upto]

    def find(self, fading: Fading) -> None:
        """Find them; call this first."""
        self._cursor.execute(_VERSIONS, self._parameters)
        self._cursor.execute(_FIND_OF_PARTY, [fading.day, list(fading.lives), fading.kept])

    def of_actors(self, actor_ids: Sequence[str]) -> tuple[str, ...]:
        """The newest transfer of each of these entities, or accounts of unknown owner; then the strongest ones."""
        return self._of("actor", actor_ids)

    def of_counterparties(self, party_ids: Sequence[str]) -> tuple[str, ...]:
        """The newest transfer of each."""
        return self._of("counterparty", party_ids)

    def _of(self, kind: str, ids: Sequence[str]) -> tuple[str, ...]:
        tuples = self._cursor.execute(_OF, [kind, listed(ids)]).fetchall()
        return tuple(transfer_id for (transfer_id,) in tuples)


_ROW: Final = row_builder(BackfillRow)

_FIND_BACKFILL: Final = f"""
    SELECT {select_list(BackfillRow)} FROM backfills
    WHERE tenant_id = ? AND program_id = ? AND id = ? ORDER BY "offset" DESC LIMIT 1"""
_UNFINISHED: Final = f"""
    SELECT {select_list(BackfillRow)} FROM (
        SELECT * FROM backfills
        QUALIFY row_number() OVER (PARTITION BY program_id, subjects ORDER BY "offset" DESC) = 1
    ) WHERE stage <> 'done' ORDER BY started_offset"""


class BackfillRows(CommittedRows):
    def find(self, tenant_id: str, program_id: str, backfill_id: str) -> BackfillRow | None:
        """The last progress of the backfill."""
        values = self._first(_FIND_BACKFILL, [tenant_id, program_id, backfill_id])
        return None if values is None else _ROW(values)

    def unfinished(self) -> list[BackfillRow]:
        """The unfinished ones among each program's newest backfills, the oldest first."""
        return [_ROW(values) for values in self._read(_UNFINISHED)]
