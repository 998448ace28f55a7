"""Reading snapshots of key risk indicators: the newest of a program or as of an instant, and one for each day.

How     A snapshot's instant is the time of its log entry, so that the offset orders them. Which snapshots are meant is
        found from narrow columns alone; only those rows are read, with their indicators.
Errors  ForbiddenError for a program that the tenant has and the principal may not touch
"""

from collections.abc import Sequence
from typing import Final

import duckdb

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.kris import KriSnapshotRow
from clearhold.store.tables.columns import row_builder, select_list
from clearhold.store.tables.predicate import NUMBERS, Predicate, listed

_ROW: Final = row_builder(KriSnapshotRow)

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter
_NEWEST: Final = """SELECT max("offset") FROM kri_snapshots WHERE {matching}"""
_EACH_DAY: Final = """
    SELECT max("offset") FROM kri_snapshots WHERE {matching} GROUP BY program_id, date_trunc('day', as_of_at)"""
_OF_EACH_PROGRAM: Final = """SELECT max("offset") FROM kri_snapshots WHERE {matching} GROUP BY program_id"""
_AT_OFFSETS: Final = f"""
    SELECT {select_list(KriSnapshotRow)} FROM kri_snapshots
    WHERE {{matching}} AND "offset" BETWEEN ? AND ? AND "offset" IN {NUMBERS} ORDER BY program_id, "offset" """


class KriSnapshots:
    """Reads what has been committed. Whoever wires it opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def newest(self, principal: Principal, program_id: str, *, upto: int | None = None) -> KriSnapshotRow | None:
        """The newest snapshot of a program, or its newest at or before an instant (microseconds); None without one."""
        predicate = _in_program(principal, program_id)
        predicate.between("as_of_at", None, None if upto is None else upto + 1)
        newest = self._select(_NEWEST, predicate)
        return newest[0] if newest else None

    def of_days(self, principal: Principal, program_id: str, from_: int, to: int) -> list[KriSnapshotRow]:
        """The last snapshot of each UTC day within [from, to), oldest first; a day without one is left out."""
        predicate = _in_program(principal, program_id)
        predicate.between("as_of_at", from_, to)
        return self._select(_EACH_DAY, predicate)

    def newest_of_programs(
        self, principal: Principal, program_ids: Sequence[str] | None = None
    ) -> dict[str, KriSnapshotRow]:
        """The newest snapshot of each program within the principal's reach, or of these among them, by program."""
        predicate = Predicate(principal)
        predicate.among("program_id", program_ids)
        return {row.program_id: row for row in self._select(_OF_EACH_PROGRAM, predicate)}

    def _select(self, offsets_of: str, predicate: Predicate) -> list[KriSnapshotRow]:
        """The rows at the offsets that the first statement finds, by program and time.

        Two shards may have one offset: then an older row of another program comes too, ahead of its newest.
        """
        with self._connection.cursor() as cursor:
            selected = cursor.execute(offsets_of.format(matching=predicate.sql), predicate.values).fetchall()
            offsets = [offset for (offset,) in selected if offset is not None]
            if not offsets:
                return []
            sql = _AT_OFFSETS.format(matching=predicate.sql)
            values = [*predicate.values, min(offsets), max(offsets), listed(offsets)]
            return [_ROW(row) for row in cursor.execute(sql, values).fetchall()]


def _in_program(principal: Principal, program_id: str) -> Predicate:
    principal.require_program(program_id)
    predicate = Predicate(principal)
    predicate.add("program_id = ?", program_id)
    return predicate
