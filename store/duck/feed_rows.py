"""The rows behind a tenant's live events, read back from the tables for a reader that was away.

All rows of an entry are read, whatever the reader wants, because their number is part of its position.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

from clearhold.features.core.rows.events import TransferRow
from clearhold.features.live.events import LIVE_COLUMNS
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.database import TABLES
from clearhold.store.tables import RowTables

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

_NAMES: Final = {kind: name for name, kind in TABLES if kind in LIVE_COLUMNS}
_WITH_SCORE: Final[Mapping[type[msgspec.Struct], str]] = {TransferRow: ' AND scored_offset = "offset"'}


class OffsetSpan(NamedTuple):
    """Offsets of entries, both included."""

    first: int
    last: int


class FeedRows(CommittedRows):
    """Reads from any thread, on a new cursor each time."""

    def of_tenant(self, tenant_id: str, spans: Mapping[int, OffsetSpan], most: int) -> RowTables | None:
        """The rows of a tenant's entries in these shards; None when they are more than ``most``."""
        if not spans:
            return {}
        within = " OR ".join('(shard = ? AND "offset" BETWEEN ? AND ?)' for _ in spans)
        values: list[Any] = [number for shard, span in spans.items() for number in (shard, *span)]
        tables: dict[str, pa.Table] = {}
        rows = 0
        for kind, name in _NAMES.items():
            columns = ", ".join(f'"{column}"' for column in LIVE_COLUMNS[kind])
            sql = f"SELECT {columns} FROM {name} WHERE tenant_id = ? AND ({within}){_WITH_SCORE.get(kind, '')}"
            with self._connection.cursor() as cursor:
                ordered = f"{sql} ORDER BY rowid LIMIT {most + 1 - rows}"
                table = cursor.execute(ordered, [tenant_id, *values]).to_arrow_table()
            rows += table.num_rows
            if rows > most:
                return None
            tables[kind.__name__] = table
        return tables
