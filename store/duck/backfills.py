"""Reads the progress of backfills, from the rows of their log entries.

Errors  none; an unknown backfill is None
"""

from typing import Final

from clearhold.features.core.rows.alerts import BackfillRow
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.tables.columns import row_builder, select_list

_ROW: Final = row_builder(BackfillRow)

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_FIND: Final = f"""
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
        values = self._first(_FIND, [tenant_id, program_id, backfill_id])
        return None if values is None else _ROW(values)

    def unfinished(self) -> list[BackfillRow]:
        """The unfinished ones among each program's newest backfills, the oldest first."""
        return [_ROW(values) for values in self._read(_UNFINISHED)]
