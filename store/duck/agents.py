"""Reads agents as last described by the scan index, each with its newest score, and the ends of their imports.

Errors  none; an unknown agent or import is None
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from clearhold.features.core.rows.agents import AgentImportRow, AgentRow
from clearhold.features.core.rows.scores import ScoreRow
from clearhold.features.core.vocabulary import Band
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables.columns import row_builder, select_list
from clearhold.store.tables.predicate import TEXTS, listed

_AGENT: Final = row_builder(AgentRow)
_SCORE: Final = row_builder(ScoreRow)
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
_SCORES: Final = f"""
    SELECT {select_list(ScoreRow)} FROM scores
    WHERE tenant_id = ? AND program_id = ? AND subject_type = 'agent' AND subject_id IN {TEXTS}
    QUALIFY {_NEWEST_SCORE}"""
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


class StoredAgent(msgspec.Struct, frozen=True, kw_only=True):
    """The newest version of an agent, and its newest score record, if any."""

    row: AgentRow
    score: ScoreRow | None


class Agents(CommittedRows):
    """Safe from any thread: each call has its own cursor. The caller has checked access to the program."""

    def page(
        self, tenant_id: str, program_id: str, after: str, limit: int, *, bands: Sequence[Band] | None = None
    ) -> list[StoredAgent]:
        """The agents of a program after an id, by id; ``bands`` are of their newest scores, None is any."""
        of_program = [tenant_id, program_id]
        if bands is None:
            return self._with_scores(_PAGE, [*of_program, after, limit], of_program)
        return self._with_scores(_PAGE_OF_BANDS, [*of_program, *of_program, after, listed(bands), limit], of_program)

    def find(self, tenant_id: str, program_id: str, entity_id: str) -> StoredAgent | None:
        agents = self._with_scores(_ONE, [tenant_id, program_id, entity_id], [tenant_id, program_id])
        return agents[0] if agents else None

    def first_registered(self, tenant_id: str, program_id: str, *, after: int) -> int | None:
        """The earliest registration among the agents without an entry up to that offset."""
        values = self._first(_FIRST_REGISTERED, [tenant_id, program_id, after])
        return None if values is None else values[0]

    def _with_scores(self, sql: str, values: Sequence[Any], of_program: Sequence[str]) -> list[StoredAgent]:
        with self._connection.cursor() as cursor:
            cursor.begin()  # One state of the tables for both, so that bands agree with the filter.
            rows = [_AGENT(each) for each in cursor.execute(sql, values).fetchall()]
            wanted = listed([row.id for row in rows])
            scored = cursor.execute(_SCORES, [*of_program, wanted]).fetchall() if rows else []
        scores = {score.subject_id: score for score in map(_SCORE, scored)}
        return [StoredAgent(row=row, score=scores.get(row.id)) for row in rows]


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
