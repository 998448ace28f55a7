"""The base of the classes that read one table, or a few, of the database."""

from collections.abc import Sequence
from typing import Any

import duckdb


class CommittedRows:
    """Reads committed rows, each time on a new cursor. The caller opens and closes the connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def _read(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._connection.cursor() as cursor:
            return cursor.execute(sql, values).fetchall()

    def _first(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The first row, or None."""
        with self._connection.cursor() as cursor:
            return cursor.execute(sql, values).fetchone()
