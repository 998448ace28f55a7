"""Reads entities and counterparties: the newest version of each, with the bank's object as last delivered.

How     A version that comes from a transfer or from an owner has no object of the bank's, so the object may be that of
        an older version.
Errors  none; an unknown party is an empty list
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

import duckdb

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.parties import CounterpartyRow, EntityRow
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables.columns import row_builder, select_list
from clearhold.store.tables.predicate import placeholders

Row = TypeVar("Row", bound=EntityRow | CounterpartyRow)

_NEWEST: Final = """
    SELECT {columns} FROM {table} WHERE tenant_id = ? AND id = ? {programs}
    QUALIFY row_number() OVER (PARTITION BY program_id ORDER BY "offset" DESC) = 1 ORDER BY program_id"""
_LAST_RAW: Final = """
    SELECT raw FROM {table} WHERE tenant_id = ? AND program_id = ? AND id = ? AND raw <> '{{}}'
    ORDER BY "offset" DESC LIMIT 1"""
_FIRST_KNOWN: Final = """
    SELECT epoch_us(min(created_at)) FROM entities WHERE tenant_id = ? AND program_id = ? AND id = ?"""


class Parties(CommittedRows, Generic[Row]):
    """One table of parties."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str, row_type: type[Row]) -> None:
        super().__init__(connection)
        self._words = {"table": table, "columns": select_list(row_type)}
        self._row: Callable[[Sequence[Any]], Row] = row_builder(row_type)

    def find(self, principal: Principal, party_id: str, program_ids: Sequence[str] | None) -> list[Row]:
        """The party of that id in each of the programs (None: of the tenant's) within the principal's reach.

        ForbiddenError when the tenant has it only out of reach.
        """
        if program_ids is not None and not program_ids:
            return []
        programs = "" if program_ids is None else f"AND program_id IN {placeholders(program_ids)}"
        wanted = [principal.tenant_id, party_id, *(program_ids or ())]
        tuples = self._read(_NEWEST.format(programs=programs, **self._words), wanted)
        rows = [*map(self._row, tuples)]
        reached = [row for row in rows if principal.reaches(row.program_id)]
        if rows and not reached:
            principal.require_program(rows[0].program_id)
        return reached

    def last_raw(self, row: Row) -> str:
        """The bank's newest object of it, masked; an empty one without any."""
        sql = _LAST_RAW.format(**self._words)
        values = self._first(sql, [row.tenant_id, row.program_id, row.id])
        return "{}" if values is None else str(values[0])


class Entities(Parties[EntityRow]):
    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(connection, "entities", EntityRow)

    def created_at(self, row: EntityRow) -> int:
        """The bank's stated time, else that of the first event that named the entity."""
        values = self._first(_FIRST_KNOWN, [row.tenant_id, row.program_id, row.id])
        return row.created_at if values is None else int(values[0])


class Counterparties(Parties[CounterpartyRow]):
    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(connection, "counterparties", CounterpartyRow)
