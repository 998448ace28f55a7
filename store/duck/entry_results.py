"""Reads the results of decisions, appeals and labels by the id of their log entry.

Errors  none; without a result it is None
"""

from typing import Final

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import EntryResultRow
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.timeline import Timeline

_TABLE: Final = Timeline("decision_results", EntryResultRow, at="created_at")


class EntryResults(CommittedRows):
    def find(self, principal: Principal, entry_id: str) -> EntryResultRow | None:
        """ForbiddenError when the entry belongs to a program out of the principal's reach."""
        with self._connection.cursor() as cursor:
            return _TABLE.find(cursor, principal, entry_id)
