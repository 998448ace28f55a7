"""A Struct type as the columns of a table, and rows by type as such tables: their form from the shard to the writer;
and the WHERE clause of a query, with the principal's tenant and reach before the filters of the request.

Names are field names, types come from the annotations. A row that does not fit the columns (a number beyond 64 bits, a
null where the table allows none) would hold up all the others of its batch. It is replaced by a ``QuarantineRow`` here,
where its shard and offset are still known.

Unit    an int field whose name ends in ``_at`` is an instant: TIMESTAMP, microseconds since the epoch, always UTC;
        DuckDB's TIMESTAMP has no zone, so nothing shifts it on the way in or out
Errors  ``TypeError`` for a field type that has no column type, when the table is defined
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Any, Final, NamedTuple, TypeVar, get_args

import msgspec
import pyarrow as pa

from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.events import QuarantineRow

INSTANT_SUFFIX: Final = "_at"

Row = TypeVar("Row", bound=msgspec.Struct)

_COLUMN_TYPES: Final[tuple[tuple[type, str, pa.DataType], ...]] = (
    (bool, "BOOLEAN", pa.bool_()),  # before int, whose subclass it is
    (int, "BIGINT", pa.int64()),
    (float, "DOUBLE", pa.float64()),
    (str, "VARCHAR", pa.string()),
)


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column: ``arrow_type`` is its type in memory, ``sql_type`` its type in the table."""

    name: str
    sql_type: str
    arrow_type: pa.DataType
    nullable: bool

    @property
    def definition(self) -> str:
        return f'"{self.name}" {self.sql_type}' + ("" if self.nullable else " NOT NULL")

    @property
    def selected(self) -> str:
        """The column in a SELECT for rebuilding Structs: instants come back as the original integers."""
        quoted = f'"{self.name}"'
        return f"epoch_us({quoted}) AS {quoted}" if self.sql_type == "TIMESTAMP" else quoted


def nothing() -> None:
    """The default of ``between``: nothing to do."""


@cache
def columns_of(row_type: type[msgspec.Struct]) -> tuple[Column, ...]:
    """The columns of a row type, in field order; the fields of a Struct in the last place follow as columns."""
    *ahead, last = msgspec.structs.fields(row_type)
    columns = tuple(_column(row_type, field) for field in ahead)
    inner = _inner_type(last)
    return (*columns, _column(row_type, last)) if inner is None else (*columns, *columns_of(inner))


def camel_case(column: str) -> str:
    """The name of a column on the wire."""
    first, *others = column.split("_")
    return first + "".join(part.capitalize() for part in others)


def select_list(row_type: type[msgspec.Struct]) -> str:
    """The SELECT list in the order that ``row_builder`` needs."""
    return ", ".join(column.selected for column in columns_of(row_type))


def arrow_table(
    columns: Sequence[Column], rows: Sequence[msgspec.Struct], *, between: Callable[[], None] = nothing
) -> pa.Table:
    """Turn rows, at least one, into columns: every Struct is taken apart once, then one typed array a column.

    ``between`` is called before each column, for callers that must act more often than once a table.
    """
    values: list[tuple[Any, ...]] = list(zip(*map(msgspec.structs.astuple, rows), strict=True))
    if isinstance(values[-1][0], msgspec.Struct):
        values[-1:] = zip(*map(msgspec.structs.astuple, values[-1]), strict=True)
    arrays = []
    for column, cells in zip(columns, values, strict=True):
        between()
        arrays.append(pa.array(cells, type=column.arrow_type))
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def row_builder(row_type: type[Row]) -> Callable[[Sequence[Any]], Row]:
    """The inverse: builds a row from the values of ``select_list``."""
    *ahead, last = msgspec.structs.fields(row_type)
    inner = _inner_type(last)
    if inner is None:
        return lambda values: row_type(*values)
    width = len(ahead)
    return lambda values: row_type(*values[:width], inner(*values[width:]))


def rows_in(row_type: type[Row], table: pa.Table) -> Iterator[Row]:
    """The rows of a table, column by column: a third of the cost of fetching tuples."""
    return map(row_builder(row_type), zip(*map(cells, table.columns), strict=True))


def cells(column: Any) -> list[Any]:
    """A column's values as Python objects, with None for null, and instants as the original integers."""
    column = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    if pa.types.is_string(column.type) or not column.null_count:
        return list(column.to_numpy().tolist())
    empty = False if pa.types.is_boolean(column.type) else 0
    values = column.fill_null(empty).to_numpy().astype(object)
    values[column.is_null().to_numpy()] = None
    return list(values.tolist())


def _inner_type(field: msgspec.structs.FieldInfo) -> type[msgspec.Struct] | None:
    kind = field.type
    return kind if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else None


def _column(row_type: type[msgspec.Struct], field: msgspec.structs.FieldInfo) -> Column:
    members = get_args(field.type) or (field.type,)
    types = [member for member in members if member is not NoneType]
    kind = types[0] if len(types) == 1 else None
    for python_type, sql_type, arrow_type in _COLUMN_TYPES:
        if isinstance(kind, type) and issubclass(kind, python_type):
            nullable = len(types) < len(members)
            if python_type is int and field.name.endswith(INSTANT_SUFFIX):
                return Column(name=field.name, sql_type="TIMESTAMP", arrow_type=pa.timestamp("us"), nullable=nullable)
            return Column(name=field.name, sql_type=sql_type, arrow_type=arrow_type, nullable=nullable)
    raise TypeError(f"{row_type.__name__}.{field.name}: no column type for {field.type!r}")


Rows = Mapping[type[msgspec.Struct], Sequence[msgspec.Struct]]

RowTables = Mapping[str, pa.Table]
"""By the name of the row type."""

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


def columns_by_type(
    tables: RowTables, wanted: Mapping[type[msgspec.Struct], Sequence[str]]
) -> dict[type[msgspec.Struct], dict[str, list[Any]]]:
    """The values of the wanted columns by row type, instants as integers; types without rows are left out."""
    return {
        kind: {name: cells(table[name]) for name in names}
        for kind, names in wanted.items()
        if (table := tables.get(kind.__name__)) is not None
    }


def _checked(kind: type[msgspec.Struct], rows: Sequence[msgspec.Struct], between: Callable[[], None]) -> pa.Table:
    columns = columns_of(kind)
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
    at = next((each for each in instants if isinstance(each, int) and 0 <= each < 2**62), 0)
    return QuarantineRow(*place, kind.__name__, at, f"{type(error).__name__}: {error}")


# A list as one text: DuckDB takes 0.1 ms for each element of a Python list, and next to nothing for its JSON.
TEXTS: Final = """(SELECT unnest(from_json(?, '["VARCHAR"]')))"""
NUMBERS: Final = """(SELECT unnest(from_json(?, '["BIGINT"]')))"""
"""The set of ``listed`` values: IN takes either."""


class Predicate:
    """Conditions joined by AND, with the values of their parameters."""

    def __init__(self, principal: Principal) -> None:
        self._conditions = ["tenant_id = ?"]
        self.values: list[object] = [principal.tenant_id]
        if principal.program_ids is not None:
            self.among("program_id", sorted(principal.program_ids))

    @classmethod
    def of_program(cls, principal: Principal, program_id: str) -> "Predicate":
        """Of one program; ForbiddenError when it is out of the principal's reach."""
        principal.require_program(program_id)
        predicate = cls(principal)
        predicate.add("program_id = ?", program_id)
        return predicate

    def add(self, condition: str, *values: object) -> None:
        self._conditions.append(condition)
        self.values += values

    def among(self, column: str, wanted: Sequence[object] | None) -> None:
        """None is any; an empty sequence matches nothing."""
        if wanted is not None:
            self.add(f"{column} IN {placeholders(wanted)}" if wanted else "false", *wanted)

    def of_programs(self, program_ids: Sequence[str] | None) -> None:
        """None is any. There may be hundreds."""
        if program_ids is not None:
            self.add(f"program_id IN {TEXTS}", listed(program_ids))

    def between(self, column: str, start: int | None, end: int | None) -> None:
        """Instants, half-open; None is no bound."""
        if start is not None:
            self.add(f"{column} >= make_timestamp(?)", start)
        if end is not None:
            self.add(f"{column} < make_timestamp(?)", end)

    @property
    def sql(self) -> str:
        return " AND ".join(self._conditions)


def listed(values: Sequence[object]) -> str:
    """The value of the one parameter in ``TEXTS`` or ``NUMBERS``."""
    return msgspec.json.encode(values).decode()


def placeholders(values: Sequence[object]) -> str:
    return f"({', '.join('?' * len(values))})"


class Span(NamedTuple):
    """A half-open span of time, microseconds since the epoch."""

    start: int
    end: int

    @property
    def before(self) -> "Span":
        """The span of equal length that ends where this one starts."""
        return Span(2 * self.start - self.end, self.start)
