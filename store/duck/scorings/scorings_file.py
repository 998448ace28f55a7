"""A Parquet file of scorings with labels, checked before use: columns, types, words and rows.

Unit    ``taken_at`` is microseconds since the epoch, or a timestamp; none is before 1980
Errors  ``StartupError``, which names the column or the rule
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb

from clearhold.features.catalogue.vector import FEATURE_VERSION, FeatureVector
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from clearhold.store.errors import StartupError
from clearhold.store.tables.columns import columns_of

_VECTOR: Final = columns_of(FeatureVector)
_KEYS: Final = ("transfer_id", "program_id", "taken_at", "feature_version")
_NEVER_NULL: Final = (*_KEYS, *(each.name for each in _VECTOR if not each.nullable))
_INTEGERS: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"})
_INSTANTS: Final = frozenset({"BIGINT", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE"})
_ACCEPTED: Final = {
    "BIGINT": _INTEGERS,
    "BOOLEAN": frozenset({"BOOLEAN"}),
    "VARCHAR": frozenset({"VARCHAR"}),
    "DOUBLE": _INTEGERS | {"FLOAT", "DOUBLE"},
}
_TYPES: Final = {
    **dict.fromkeys(("transfer_id", "program_id", "feature_version"), ("VARCHAR", _ACCEPTED["VARCHAR"])),
    "taken_at": ("BIGINT or TIMESTAMP", _INSTANTS),
    "is_bad": ("BOOLEAN", _ACCEPTED["BOOLEAN"]),
    **{each.name: (each.sql_type, _ACCEPTED[each.sql_type]) for each in _VECTOR},
}
_WORDS: Final = {
    "rail": tuple(each.value for each in Rail),
    "direction": tuple(each.value for each in Direction),
    "type": tuple(each.value for each in AchType),
}
_1980_US: Final = 315_532_800_000_000

_ROWS: Final = "FROM read_parquet($file) WHERE feature_version = $version"


def pattern_of(file: Path) -> str:
    """The file's name escaped for DuckDB's patterns."""
    return re.sub(r"([*?\[])", r"[\1]", str(file))


def instant_in(types: dict[str, str]) -> str:
    """The expression of ``taken_at`` in microseconds."""
    return "taken_at" if types["taken_at"] == "BIGINT" else "epoch_us(taken_at)"


def check_file(connection: duckdb.DuckDBPyConnection, file: Path) -> dict[str, str]:
    """The types of its columns; raises for the first fault."""
    if not file.is_file():
        raise StartupError(f"There is no file {file}.")
    types = _types_of(connection, file)
    missing = [name for name in _TYPES if name not in types]
    if missing:
        raise StartupError(f"{file} lacks {len(missing)} columns, {', '.join(missing[:3])} among them.")
    for rule, counted in _rules(types):
        values = {"file": pattern_of(file), "version": FEATURE_VERSION}
        ((count,),) = connection.execute(f"SELECT {counted} {_ROWS}", values).fetchall()
        if count:
            raise StartupError(f"{file}: {rule}; {count:,} rows break that.")
    return types


def _rules(types: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Rules for rows, each with an expression that counts violations. A column of nulls may have any type."""
    for name, (wanted, accepted) in _TYPES.items():
        if types[name] not in accepted:
            yield f"{name} must be {wanted} and is {types[name]}", f'count("{name}")'
    for name in _NEVER_NULL:
        yield f"{name} must not be null", f'count(*) - count("{name}")'
    yield "taken_at must be microseconds since 1970, of 1980 or later", f"count_if({instant_in(types)} < {_1980_US})"
    for name, words in _WORDS.items():
        listed = ", ".join(f"'{word}'" for word in words)
        yield f"{name} must be one of {', '.join(words)}", f'count_if("{name}"::VARCHAR NOT IN ({listed}))'
    for each in _VECTOR:
        if each.sql_type == "DOUBLE":
            yield f"{each.name} must be a finite number", f'count_if(NOT isfinite("{each.name}"::DOUBLE))'
    yield "a transfer must have one row", "count(*) - count(DISTINCT (program_id, transfer_id))"


def _types_of(connection: duckdb.DuckDBPyConnection, file: Path) -> dict[str, str]:
    try:
        columns = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [pattern_of(file)]).fetchall()
    except duckdb.Error as error:
        raise StartupError(f"{file} cannot be read as Parquet: {str(error).splitlines()[0]}") from error
    return {name: kind for name, kind, *_ in columns}
