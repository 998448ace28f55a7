"""Reads agents as last described by the scan index, and the ends of their imports.

Errors  none; an unknown agent or import is None
"""

from collections.abc import Sequence
from typing import Any, Final

from clearhold.features.core.rows.parties import AgentImportRow, AgentRow
from clearhold.features.core.vocabulary import Band
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables.columns import row_builder, select_list
from clearhold.store.tables.predicate import TEXTS, listed

_AGENT: Final = row_builder(AgentRow)
_IMPORT: Final = row_builder(AgentImportRow)

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_NEWEST_SCORE: Final = 'row_number() OVER (PARTITION BY subject_id ORDER BY scored_at DESC, "offset" DESC) = 1'
_PAGE: Final = f"""
    SELECT {select_list(AgentRow)} FROM agents WHERE tenant_id = ? AND program_id = ? AND id > ?
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY "offset" DESC) = 1 ORDER BY id LIMIT ?"""
_PAGE_OF_BANDS: Final = f"""
    WITH bands AS (
        SELECT subject_id AS id, band FROM scores WHERE tenant_id = ? AND program_id = ? AND subject_type = 'agent'
        QUALIFY {_NEWEST_SCORE}
    )
    SELECT {select_list(AgentRow)} FROM agents LEFT JOIN bands USING (id)
    WHERE tenant_id = ? AND program_id = ? AND id > ? AND coalesce(band, '{Band.UNSCORED}') IN {TEXTS}
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY "offset" DESC) = 1 ORDER BY id LIMIT ?"""
_ONE: Final = f"""
    SELECT {select_list(AgentRow)} FROM agents WHERE tenant_id = ? AND program_id = ? AND id = ?
    ORDER BY "offset" DESC LIMIT 1"""
_NEWEST: Final = f"""
    SELECT {select_list(AgentImportRow)} FROM agent_imports WHERE tenant_id = ? AND program_id = ?
    ORDER BY "offset" DESC LIMIT 1"""
_ENDED: Final = f"""
    SELECT {select_list(AgentImportRow)} FROM agent_imports WHERE tenant_id = ? AND program_id = ? AND id = ?
    AND stage <> 'begun' ORDER BY "offset" DESC LIMIT 1"""
_DONE: Final = f"""
    SELECT {select_list(AgentImportRow)} FROM agent_imports
    WHERE tenant_id = ? AND program_id = ? AND stage = 'done' ORDER BY "offset" DESC LIMIT 1"""
_FIRST_REGISTERED: Final = """
    SELECT epoch_us(min(registered_at)) FROM (
        SELECT arg_max(registered_at, "offset") AS registered_at FROM agents WHERE tenant_id = ? AND program_id = ?
        GROUP BY id HAVING min("offset") > ?)"""


class Agents(CommittedRows):
    """Safe from any thread: each call has its own cursor. The caller has checked access to the program."""

    def page(
        self, tenant_id: str, program_id: str, after: str, limit: int, *, bands: Sequence[Band] | None = None
    ) -> list[AgentRow]:
        """The agents of a program after an id, by id; ``bands`` are of their newest score records, None is any."""
        of_program = [tenant_id, program_id]
        if bands is None:
            rows = self._read(_PAGE, [*of_program, after, limit])
        else:
            rows = self._read(_PAGE_OF_BANDS, [*of_program, *of_program, after, listed(bands), limit])
        return [*map(_AGENT, rows)]

    def find(self, tenant_id: str, program_id: str, entity_id: str) -> AgentRow | None:
        row = self._first(_ONE, [tenant_id, program_id, entity_id])
        return None if row is None else _AGENT(row)

    def first_registered(self, tenant_id: str, program_id: str, *, after: int) -> int | None:
        """The earliest registration among the agents without an entry up to that offset."""
        values = self._first(_FIRST_REGISTERED, [tenant_id, program_id, after])
        return None if values is None else values[0]


class AgentImports(CommittedRows):
    """Safe from any thread: each call has its own cursor."""

    def newest(self, tenant_id: str, program_id: str) -> AgentImportRow | None:
        """The newest begin or end of an import."""
        return self._one(_NEWEST, [tenant_id, program_id])

    def ended(self, tenant_id: str, program_id: str, import_id: str) -> AgentImportRow | None:
        """The end of an import."""
        return self._one(_ENDED, [tenant_id, program_id, import_id])

    def done(self, tenant_id: str, program_id: str) -> AgentImportRow | None:
        """The last finished import."""
        return self._one(_DONE, [tenant_id, program_id])

    def _one(self, sql: str, values: Sequence[Any]) -> AgentImportRow | None:
        selected = self._first(sql, values)
        return None if selected is None else _IMPORT(selected)
