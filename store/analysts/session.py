"""The lake from outside, with or without a running service: a read-only session, and the state of its parts.

A session has the views and macros of ``analyst.duckdb``, and no other file. Only SELECT statements run. They may open
the parts and their list alone; settings are locked, extensions not loaded, and results larger than memory go to
temporary files outside the data directory, up to ``SPILLED``.

Errors  ``NoLakeError`` without a lake; ``QueryError``, a sentence that is safe to show, for a query that is refused or
        fails
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import duckdb
import msgspec

from clearhold.features.core.instants import SECOND_US, format_instant
from clearhold.store.analysts.control_rows import control_tables
from clearhold.store.analysts.parts import FILE as PARTS
from clearhold.store.analysts.parts import FOLDER, Part, PartList, due_parts, parts_to_remove, quoted, read_parts
from clearhold.store.analysts.questions import QUESTIONS
from clearhold.store.analysts.tables import checksum, lake_tables
from clearhold.store.analysts.views import ANALYST_FILE

_FILES: Final = (
    "read_parquet parquet_scan read_text read_blob read_csv read_csv_auto sniff_csv read_json read_json_auto"
)
_OF_PARQUET: Final = "parquet_metadata parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_schema"
_ROWS: Final = (
    "range generate_series unnest repeat repeat_row json_each json_tree summary histogram histogram_values glob"
)
_CATALOG: Final = (
    "duckdb_columns duckdb_databases duckdb_extensions duckdb_functions duckdb_keywords duckdb_memory duckdb_schemas "
    "duckdb_settings duckdb_tables duckdb_temporary_files duckdb_types duckdb_views pragma_database_size "
    "pragma_platform pragma_show pragma_storage_info pragma_table_info pragma_version pg_timezone_names"
)
THAT_READ: Final = frozenset(f"{_FILES} {_OF_PARQUET} {_ROWS} {_CATALOG}".split()) | {each.name for each in QUESTIONS}
"""The table functions that a query may call, which only read; the connection refuses files outside of the lake.

DuckDB allows others on a connection that is read-only, confined and locked: ``enable_profiling`` and ``enable_logging``
write files, even over existing ones, and ``query`` runs an unchecked text."""

_CALLED: Final = """
    SELECT json_array_length(tree -> '$.statements'), json_extract_string(tree, '$..function.function_name')
    FROM (SELECT json_serialize_sql(?) AS tree)"""
_KNOWN: Final = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE list_contains(?, function_name) ORDER BY 1"


def refused_functions(connection: duckdb.DuckDBPyConnection, query: str) -> list[str] | None:
    """The forbidden table functions that a query calls; None when the text is not exactly one SELECT.

    Taken from its syntax tree, so quotes, capitals and subqueries hide none.
    """
    ((statements, called),) = connection.execute(_CALLED, [query]).fetchall()
    if statements != 1:
        return None
    others = {name.lower() for name in called} - THAT_READ
    # For an unknown name the query's own error suggests another.
    return [name for (name,) in connection.execute(_KNOWN, [list(others)]).fetchall()] if others else []


MEMORY: Final = "2GB"
SPILLED: Final = "10GB"
_AT_ONCE: Final = 1_000
_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "memory_limit": MEMORY,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_LISTING: Final = """
    SELECT 'view' AS kind, view_name AS name, comment FROM duckdb_views() WHERE NOT internal
    UNION ALL
    SELECT 'question', function_name || '(' || array_to_string(parameters, ', ') || ')', comment
    FROM duckdb_functions() WHERE function_type = 'table_macro' AND NOT internal
    ORDER BY kind DESC, name"""
_COLUMNS: Final = """
    SELECT column_name AS name, data_type AS type, comment FROM duckdb_columns()
    WHERE NOT internal AND table_name = lower(trim(?)) ORDER BY column_index"""
_ONLY_READING: Final = (
    "Only queries that select are run here (SELECT, FROM, WITH, DESCRIBE), not {kind}: the lake is read-only."
)
_NOT_CALLED: Final = "{name}() is not among the table functions that may be called here, which only read."
_UNFINISHED: Final = ("unterminated", "end of input")


class NoLakeError(Exception):
    """There is no lake to read; the sentence names the cure."""


class QueryError(Exception):
    """A query was refused, or failed; the sentence names the place."""


class QueryAnswer(NamedTuple):
    """The rows of a query, fetched as they are taken."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class AnalystSession:
    """One connection to ``analyst.duckdb`` of a data directory, with or without a running service."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, spilled: tempfile.TemporaryDirectory[str]) -> None:
        self._connection, self._spilled = connection, spilled

    @classmethod
    def open(cls, data: Path, *, threads: int | None = None) -> Self:
        """``threads`` for a query, by default one for each core."""
        lake = (data / "lake").absolute()
        if not (lake / ANALYST_FILE).is_file():
            raise NoLakeError(f"{data} has no lake yet: a service makes it within a minute of its start.")
        config = _CONFIG if threads is None else _CONFIG | {"threads": threads}
        spilled = tempfile.TemporaryDirectory(prefix="clearhold-sql-")
        try:
            connection = duckdb.connect(str(lake / ANALYST_FILE), read_only=True, config=config)
            for statement in _confining(lake, spilled.name):
                connection.execute(statement)
        except duckdb.Error as error:
            spilled.cleanup()
            raise NoLakeError(f"{lake / ANALYST_FILE} cannot be opened: {error}") from error
        return cls(connection, spilled)

    def answers(self, text: str) -> Iterator[QueryAnswer]:
        """The answer of each statement in the text; none runs when one of them would do more than read."""
        try:
            statements = self._connection.extract_statements(text)
        except duckdb.Error as error:
            raise QueryError(str(error)) from error
        for statement in statements:
            if statement.type != duckdb.StatementType.SELECT:
                raise QueryError(_ONLY_READING.format(kind=statement.type.name.replace("_", " ")))
            refused = refused_functions(self._connection, statement.query)
            if refused is None:
                raise QueryError(_ONLY_READING.format(kind="this"))
            if refused:
                raise QueryError(_NOT_CALLED.format(name=refused[0]))
        for statement in statements:
            yield self._answer(statement)

    def is_finished(self, text: str) -> bool:
        """Whether the semicolon at the end of a text ends a statement, and is not within quotes."""
        try:
            self._connection.extract_statements(text)
        except duckdb.Error as error:
            return not any(word in str(error) for word in _UNFINISHED)
        return text.rstrip().endswith(";")

    def listing(self) -> QueryAnswer:
        """All views and ready questions, with their descriptions."""
        return self._answer(_LISTING)

    def columns(self, view: str) -> QueryAnswer:
        """The columns of a view, with their meanings."""
        return self._answer(_COLUMNS, [view])

    def close(self) -> None:
        self._connection.close()
        self._spilled.cleanup()

    def _answer(self, statement: duckdb.Statement | str, values: list[str] | None = None) -> QueryAnswer:
        try:
            self._connection.execute(statement, values)
        except duckdb.Error as error:
            raise QueryError(str(error)) from error
        names = tuple(str(column[0]) for column in self._connection.description or ())
        types = tuple(str(column[1]) for column in self._connection.description or ())
        return QueryAnswer(names, types, self._rows())

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        try:
            while rows := self._connection.fetchmany(_AT_ONCE):
                yield from rows
        except duckdb.Error as error:
            raise QueryError(str(error)) from error


def _confining(lake: Path, spilled: str) -> tuple[str, ...]:
    """The statements that confine a connection to the parts and their list, and set the time zone to UTC."""
    return (
        "SET TimeZone = 'UTC'",
        f"SET temp_directory = '{quoted(spilled)}'",
        f"SET max_temp_directory_size = '{SPILLED}'",
        f"SET allowed_directories = ['{quoted(lake / FOLDER)}/']",
        f"SET allowed_paths = ['{quoted(lake / PARTS)}']",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    )


class TableStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The counting parts of one table; ``days`` have rows, ``newest_day`` is None without any.

    ``kept_days`` is the retention that was applied last, None for good. ``ended_through`` is the newest ended day; the
    rows and bytes are of all ended days. ``due_rows`` are of days that are over and still count,
    ``unremoved_bytes`` of files of ended days that wait for their readers.
    """

    table: str
    rows: int
    parts: int
    bytes: int
    days: int
    newest_day: str | None
    kept_days: int | None
    ended_through: str | None
    ended_rows: int
    ended_bytes: int
    due_rows: int
    unremoved_bytes: int


class LakeStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``as_of``: the lake has everything committed before. ``replaced`` files wait to be removed, including those of
    ended days.
    """

    folder: str
    as_of: str
    behind_seconds: float
    is_late: bool
    replaced_parts: int
    replaced_bytes: int
    tables: tuple[TableStatus, ...]


def damaged_files(lake: Path) -> tuple[str, ...]:
    """Files of present and future parts that are missing or changed; each file is read whole.

    For files of an older service only the size is known.
    """
    listed = read_parts(lake)
    kept = () if listed is None else (part for part in listed.parts if not part.is_replaced)
    return tuple(part.file for part in kept if not _is_as_written(lake, part))


def _is_as_written(lake: Path, part: Part) -> bool:
    path = lake / part.file
    try:
        return path.stat().st_size == part.bytes and part.crc32 in {None, checksum(path)}
    except OSError:
        return _is_gone_from_list(lake, part)


def _is_gone_from_list(lake: Path, part: Part) -> bool:
    """Whether a part was replaced, and its file removed, since the list was read."""
    listed = read_parts(lake)
    return listed is None or all(each.file != part.file or each.is_replaced for each in listed.parts)


def lake_status(lake: Path, now: int, *, late_after_s: float) -> LakeStatus | None:
    """The lake as of an instant; None before its first copy."""
    listed = read_parts(lake)
    if listed is None or not listed.as_of:
        return None
    behind_s = max(0, now - listed.as_of) / SECOND_US
    replaced = [part for part in listed.parts if part.is_replaced]
    due, unremoved = due_parts(listed, now), parts_to_remove(listed, now)
    return LakeStatus(
        folder=str(lake),
        as_of=format_instant(listed.as_of),
        behind_seconds=round(behind_s, 1),
        is_late=behind_s > late_after_s,
        replaced_parts=len(replaced),
        replaced_bytes=sum(part.bytes for part in replaced),
        tables=tuple(
            _of_table(listed, table.name, now, due, unremoved) for table in (*lake_tables(), *control_tables())
        ),
    )


def _of_table(listed: PartList, table: str, now: int, due: list[Part], unremoved: list[Part]) -> TableStatus:
    parts = [part for part in listed.counting_at(now) if part.table_name == table]
    days = {part.day for part in parts}
    ended = listed.ended.get(table)
    return TableStatus(
        table=table,
        rows=sum(part.rows for part in parts),
        parts=len(parts),
        bytes=sum(part.bytes for part in parts),
        days=len(days),
        newest_day=max(days, default=None),
        kept_days=listed.retention_days.get(table),
        ended_through=ended.through if ended else None,
        ended_rows=ended.rows if ended else 0,
        ended_bytes=ended.bytes if ended else 0,
        due_rows=sum(part.rows for part in due if part.table_name == table),
        unremoved_bytes=sum(part.bytes for part in unremoved if part.table_name == table),
    )
