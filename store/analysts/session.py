"""A read-only session on the lake: the views and macros of ``analyst.duckdb``, and no other file.

Only SELECT statements run. They may open the parts and their list alone; settings are locked, extensions not loaded,
and results larger than memory go to temporary files outside the data directory, up to ``SPILLED``.

Errors  ``NoLakeError`` without a lake; ``QueryError``, a sentence that is safe to show, for a query that is refused or
        fails
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import duckdb

from clearhold.store.analysts.analyst_file import FILE
from clearhold.store.analysts.parts import FILE as PARTS
from clearhold.store.analysts.parts import FOLDER, quoted
from clearhold.store.analysts.questions import QUESTIONS

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
        if not (lake / FILE).is_file():
            raise NoLakeError(f"{data} has no lake yet: a service makes it within a minute of its start.")
        config = _CONFIG if threads is None else _CONFIG | {"threads": threads}
        spilled = tempfile.TemporaryDirectory(prefix="clearhold-sql-")
        try:
            connection = duckdb.connect(str(lake / FILE), read_only=True, config=config)
            for statement in _confining(lake, spilled.name):
                connection.execute(statement)
        except duckdb.Error as error:
            spilled.cleanup()
            raise NoLakeError(f"{lake / FILE} cannot be opened: {error}") from error
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
