"""Reads the results of decisions, appeals and labels by the id of their log entry.

Errors  none; without a result it is None
"""

from typing import Final

import duckdb

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import EntryResultRow
from clearhold.store.duck.timeline import Timeline

_TABLE: Final = Timeline("decision_results", EntryResultRow, at="created_at")


class EntryResults:
    """Reads committed rows. The caller opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def find(self, principal: Principal, entry_id: str) -> EntryResultRow | None:
        """ForbiddenError when the entry belongs to a program out of the principal's reach."""
        with self._connection.cursor() as cursor:
            return _TABLE.find(cursor, principal, entry_id)
