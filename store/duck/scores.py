"""Reads a subject's latest score record.

A subject without a record was never scored. A subject's records are ordered by log offset, and their instants never go
back.

Errors  ForbiddenError for a program that the tenant has and the principal may not touch
"""

from typing import Final

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.scores import ScoreRow
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables.columns import row_builder, select_list
from clearhold.store.tables.predicate import placeholders

_ROW: Final = row_builder(ScoreRow)

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_NEWEST: Final = f"""
    SELECT {select_list(ScoreRow)} FROM scores WHERE {{matching}}
    ORDER BY {{first}} scores.scored_at DESC, "offset" DESC LIMIT 1"""


class Scores(CommittedRows):
    def latest(
        self, principal: Principal, subject_type: str, subject_id: str, program_id: str | None = None
    ) -> ScoreRow | None:
        """The newest record of a subject; without a program, in any of the tenant's (within reach first)."""
        matching, values = "tenant_id = ? AND subject_type = ? AND subject_id = ?", [subject_type, subject_id]
        if program_id is not None:
            matching += " AND program_id = ?"
            values.append(program_id)
        reach = sorted(principal.program_ids or ())
        first = f"program_id IN {placeholders(reach)} DESC," if reach else ""
        sql = _NEWEST.format(matching=matching, first=first)
        selected = self._first(sql, [principal.tenant_id, *values, *reach])
        if selected is None:
            return None
        row = _ROW(selected)
        principal.require_program(row.program_id)
        return row
