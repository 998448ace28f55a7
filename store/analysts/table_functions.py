"""The table functions that a query of analysts may call, which only read.

DuckDB allows others on a connection that is read-only, confined and locked: ``enable_profiling`` and ``enable_logging``
write files, even over existing ones, and ``query`` runs an unchecked text. The called functions are taken from a
query's syntax tree, so quotes, capitals and subqueries hide none.
"""

from typing import Final

import duckdb

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
"""The connection itself refuses files outside of the lake."""

_CALLED: Final = """
    SELECT json_array_length(tree -> '$.statements'), json_extract_string(tree, '$..function.function_name')
    FROM (SELECT json_serialize_sql(?) AS tree)"""
_KNOWN: Final = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE list_contains(?, function_name) ORDER BY 1"


def refused_functions(connection: duckdb.DuckDBPyConnection, query: str) -> list[str] | None:
    """The forbidden table functions that a query calls; None when the text is not exactly one SELECT."""
    ((statements, called),) = connection.execute(_CALLED, [query]).fetchall()
    if statements != 1:
        return None
    others = {name.lower() for name in called} - THAT_READ
    # For an unknown name the query's own error suggests another.
    return [name for (name,) in connection.execute(_KNOWN, [list(others)]).fetchall()] if others else []
