"""Rows by type as tables of columns: their form from the shard to the writer.

A row that does not fit the columns (a number beyond 64 bits, a null where the table allows none) would hold up all the
others of its batch. It is replaced by a ``QuarantineRow`` here, where its shard and offset are still known.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeGuard, TypeVar

import msgspec
import pyarrow as pa

from clearhold.features.core.rows.events import QuarantineRow
from clearhold.store.tables.columns import Column, arrow_table, columns_of, nothing

Row = TypeVar("Row", bound=msgspec.Struct)

Rows = Mapping[type[msgspec.Struct], Sequence[msgspec.Struct]]

RowTables = Mapping[str, pa.Table]
"""By the name of the row type."""

_VALUES_AT_ONCE: Final = 1_000
"""No other thread runs while Arrow converts a column to Python."""

_REFUSALS: Final = (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError)


def row_tables(rows: Rows, *, between: Callable[[], None] = nothing) -> dict[str, pa.Table]:
    """The rows as tables; a row that does not fit becomes a ``QuarantineRow``.

    ``between`` is called before each column.
    """
    tables: dict[str, pa.Table] = {}
    quarantined: list[QuarantineRow] = []
    for kind, batch in rows.items():
        if not batch:
            continue
        parts = _without_refused(kind, batch, quarantined, between)
        if parts:
            tables[kind.__name__] = joined(parts)
    if quarantined:
        name = QuarantineRow.__name__
        tables[name] = joined([*filter(None, [tables.get(name)]), _checked(QuarantineRow, quarantined, between)])
    return tables


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables of one row type joined in order, each column in one piece: DuckDB pays for pieces, not for rows."""
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).combine_chunks()


def joined_by_type(batches: Iterable[RowTables]) -> dict[str, pa.Table]:
    """The joined tables of several batches, in order."""
    by_type: dict[str, list[pa.Table]] = {}
    for tables in batches:
        for name, table in tables.items():
            by_type.setdefault(name, []).append(table)
    return {name: joined(parts) for name, parts in by_type.items()}


def rows_of(kind: type[Row], table: pa.Table) -> list[Row]:
    """The rows, for a type whose fields are separate columns."""
    return [
        kind(*values)
        for part in table.to_batches(max_chunksize=_VALUES_AT_ONCE)
        for values in zip(*map(_values, part.columns), strict=True)
    ]


def _values(column: Any) -> list[Any]:
    plain = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    values: list[Any] = plain.to_pylist()
    return values


@cache
def _columns(kind: type[msgspec.Struct]) -> tuple[Column, ...]:
    return columns_of(kind)


def _checked(kind: type[msgspec.Struct], rows: Sequence[msgspec.Struct], between: Callable[[], None]) -> pa.Table:
    columns = _columns(kind)
    table = arrow_table(columns, rows, between=between)
    for column, values in zip(columns, table.columns, strict=True):
        if values.null_count and not column.nullable:
            raise ValueError(f"{column.name} is null")
    return table


def _without_refused(
    kind: type[msgspec.Struct],
    rows: Sequence[msgspec.Struct],
    quarantined: list[QuarantineRow],
    between: Callable[[], None],
) -> list[pa.Table]:
    """The rows in parts. A refused part is halved: one bad row costs its batch about twice, not row by row."""
    try:
        return [_checked(kind, rows, between)]
    except _REFUSALS as error:
        if len(rows) == 1:
            quarantined.append(_quarantined(kind, rows[0], error))
            return []
    half = len(rows) // 2
    first = _without_refused(kind, rows[:half], quarantined, between)
    return first + _without_refused(kind, rows[half:], quarantined, between)


def _quarantined(kind: type[msgspec.Struct], row: msgspec.Struct, error: Exception) -> QuarantineRow:
    fields = msgspec.structs.asdict(row)
    place = (fields.get("program_id", ""), fields["shard"], fields["offset"])
    instants = map(fields.get, ("appended_at", "updated_at", "created_at"))
    at = next(filter(_is_instant, instants), 0)
    return QuarantineRow(*place, kind.__name__, at, f"{type(error).__name__}: {error}")


def _is_instant(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and 0 <= value < 2**62
