"""The rows behind live events, read back from the tables: of one shard after an offset, a page at a time, for the
streams; and of one tenant, for a reader of the feed that was away.

Rows are in the order of writing, and all rows of a log entry are there, or none.

Unit    offsets of the log
"""

from collections.abc import Mapping, Sequence
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
_TOLD: Final = [kind for kind in _NAMES if "tenant_id" in LIVE_COLUMNS[kind]]  # the others say more of these
_WITH_SCORE: Final[Mapping[type[msgspec.Struct], str]] = {TransferRow: ' AND scored_offset = "offset"'}
_READ: Final[Mapping[type[msgspec.Struct], tuple[str, ...]]] = {
    **LIVE_COLUMNS,
    TransferRow: (*LIVE_COLUMNS[TransferRow], "scored_offset"),
}
_WITHIN: Final = 'shard = ? AND "offset" > ? AND "offset" <= ?'
_OFFSETS: Final = " UNION ALL ".join(
    f'SELECT program_id, "offset" FROM {_NAMES[kind]} WHERE {_WITHIN}{_WITH_SCORE.get(kind, "")}' for kind in _TOLD
)
_BUSY: Final = f"SELECT program_id FROM ({_OFFSETS}) GROUP BY program_id HAVING count(*) > ?"
_NTH_NEWEST: Final = f'SELECT "offset" FROM ({_OFFSETS}) WHERE program_id = ? ORDER BY "offset" DESC LIMIT 1 OFFSET ?'


class Stretch(NamedTuple):
    """The entries of a shard after ``after`` and up to ``upto``; of programs in ``least`` only those from that offset
    on.
    """

    shard: int
    after: int
    upto: int
    least: Mapping[str, int]


class OffsetSpan(NamedTuple):
    """Offsets of entries, both included."""

    first: int
    last: int


class CommittedLiveRows(CommittedRows):
    """Reads from any thread, on a new cursor each time."""

    def newest(self, shard: int, after: int, upto: int, most: int) -> Stretch:
        """The stretch without entries of a program before its ``most`` newest events."""
        values = [shard, after, upto] * len(_TOLD)
        busy = [str(row[0]) for row in self._read(_BUSY, [*values, most])]
        least = {program_id: int(self._value(_NTH_NEWEST, [*values, program_id, most - 1])) for program_id in busy}
        return Stretch(shard, after, upto, least)

    def page(self, stretch: Stretch, most: int) -> tuple[RowTables, int]:
        """The first rows of the stretch, about ``most`` of them, and the offset up to which these are."""
        within, values = _within(stretch)
        offsets = " UNION ALL ".join(
            f'SELECT "offset" FROM {_NAMES[kind]} WHERE {within}{_WITH_SCORE.get(kind, "")}' for kind in _TOLD
        )
        end = self._value(f"{offsets} ORDER BY 1 LIMIT 1 OFFSET ?", [*values * len(_TOLD), most - 1])
        upto = stretch.upto if end is None else int(end)
        within, values = _within(stretch._replace(upto=upto))
        return {kind.__name__: self._table(kind, within, values) for kind in _NAMES}, upto

    def of_tenant(self, tenant_id: str, spans: Mapping[int, OffsetSpan], most: int) -> RowTables | None:
        """The rows of a tenant's entries in these shards; None when they are more than ``most``."""
        if not spans:
            return {}
        any_span = " OR ".join('(shard = ? AND "offset" BETWEEN ? AND ?)' for _ in spans)
        values = [tenant_id, *(number for shard, span in spans.items() for number in (shard, *span))]
        tables: dict[str, pa.Table] = {}
        rows = 0
        for kind in _NAMES:
            table = self._table(kind, f"tenant_id = ? AND ({any_span})", values, most=most + 1 - rows)
            rows += table.num_rows
            if rows > most:
                return None
            tables[kind.__name__] = table
        return tables

    def _table(
        self, kind: type[msgspec.Struct], within: str, values: Sequence[Any], *, most: int | None = None
    ) -> pa.Table:
        columns = ", ".join(f'"{name}"' for name in _READ[kind])
        sql = f"SELECT {columns} FROM {_NAMES[kind]} WHERE {within}{_WITH_SCORE.get(kind, '')} ORDER BY rowid"
        with self._connection.cursor() as cursor:
            return cursor.execute(sql if most is None else f"{sql} LIMIT {most}", values).to_arrow_table()


def _within(stretch: Stretch) -> tuple[str, list[object]]:
    condition, values = _WITHIN, list[object]((stretch.shard, stretch.after, stretch.upto))
    for program_id, offset in stretch.least.items():
        condition += ' AND NOT (program_id = ? AND "offset" < ?)'
        values += [program_id, offset]
    return condition, values
