"""Reads snapshots of key risk indicators: a program's newest, or its newest as of an instant.

How     A snapshot's instant is the time of its log entry, so the offset orders snapshots. The snapshot is found by
        narrow columns alone; only its row is read, with its indicators.
Errors  ForbiddenError for a program that the tenant has and the principal may not touch
"""

from typing import Final

import duckdb

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.kris import KriSnapshotRow
from clearhold.store.tables.columns import row_builder, select_list
from clearhold.store.tables.predicate import Predicate

_ROW: Final = row_builder(KriSnapshotRow)

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_NEWEST: Final = """SELECT max("offset") FROM kri_snapshots WHERE {matching}"""
_AT_OFFSET: Final = f"""SELECT {select_list(KriSnapshotRow)} FROM kri_snapshots WHERE {{matching}} AND "offset" = ?"""


class KriSnapshots:
    """Reads committed rows. The caller opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def newest(self, principal: Principal, program_id: str, *, upto: int | None = None) -> KriSnapshotRow | None:
        """The newest snapshot of a program, or its newest at or before an instant (microseconds); None without one."""
        principal.require_program(program_id)
        predicate = Predicate(principal)
        predicate.add("program_id = ?", program_id)
        predicate.between("as_of_at", None, None if upto is None else upto + 1)
        with self._connection.cursor() as cursor:
            cursor.execute(_NEWEST.format(matching=predicate.sql), predicate.values)
            newest = cursor.fetchone()
            if newest is None or newest[0] is None:
                return None
            cursor.execute(_AT_OFFSET.format(matching=predicate.sql), [*predicate.values, *newest])
            row = cursor.fetchone()
        return None if row is None else _ROW(row)
