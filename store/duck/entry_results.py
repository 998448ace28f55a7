"""Reading the results of decisions, appeals and labels by the id of their log entry.

Errors  none of its own; an entry that has no result is None
"""

from typing import Final

import duckdb

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import EntryResultRow
from clearhold.store.duck.timeline import Timeline

_TABLE: Final = Timeline("decision_results", EntryResultRow, at="created_at")


class EntryResults:
    """Reads what has been committed. Whoever wires it opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def find(self, principal: Principal, entry_id: str) -> EntryResultRow | None:
        """ForbiddenError when the entry belongs to a program out of the principal's reach."""
        with self._connection.cursor() as cursor:
            return _TABLE.find(cursor, principal, entry_id)
