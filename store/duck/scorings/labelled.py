"""Scorings of the stream with the labels of their transfers, for fitting and checking a card; and the scores of a
challenger and the champion on the same transfers, counted from the rows of the shadow.

Source  the tables of a tenant, or a Parquet file with a row a transfer: ``transfer_id``, ``program_id``, ``taken_at``,
        ``feature_version``, ``is_bad`` (null is unlabelled), all fields of the vector, ``label_source`` if there is one
Time    the first scoring of each transfer, before its later course; backfills are left out. Labels are those of
        ``upto``, the last one of each transfer
Errors  ``StartupError`` for a file without valid scorings
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import duckdb
import msgspec

from clearhold.features.catalogue.vector import FEATURE_VERSION, FeatureVector
from clearhold.features.core.canonical import MAX_INTEGER
from clearhold.features.core.instants import DAYS_60
from clearhold.features.core.principal import Principal
from clearhold.features.core.scorecards import ADDED, LAST_TEN, SCORE_CLASSES, UNSCORED_CLASS, PairCount
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.database import LABEL_ORDER
from clearhold.store.errors import StartupError
from clearhold.store.tables import TEXTS, Predicate, columns_of, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

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

_ROWS_OF_FILE: Final = "FROM read_parquet($file) WHERE feature_version = $version"


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
        ((count,),) = connection.execute(f"SELECT {counted} {_ROWS_OF_FILE}", values).fetchall()
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
        elif each.sql_type == "BIGINT":
            large = f'abs("{each.name}"::HUGEINT) > {MAX_INTEGER}'
            yield f"{each.name} must be within {MAX_INTEGER:,} of 0", f"count_if({large})"
    yield "amount_cents must not be negative", 'count_if("amount_cents"::HUGEINT < 0)'
    yield "a transfer must have one row", "count(*) - count(DISTINCT (program_id, transfer_id))"


def _types_of(connection: duckdb.DuckDBPyConnection, file: Path) -> dict[str, str]:
    try:
        columns = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [pattern_of(file)]).fetchall()
    except duckdb.Error as error:
        raise StartupError(f"{file} cannot be read as Parquet: {str(error).splitlines()[0]}") from error
    return {name: kind for name, kind, *_ in columns}


MOST_SCORINGS: Final = 1_000_000
_AT_ONCE: Final = 10_000
_FIELDS: Final = msgspec.structs.fields(FeatureVector)
_FILE_SOURCE: Final = "imported"

_TABLES: Final = f"""(
    SELECT scoring.*, label.is_bad, label.label_source FROM transfer_features AS scoring LEFT JOIN (
        SELECT program_id, transfer_id, arg_max(label, {LABEL_ORDER}) = 'bad' AS is_bad,
            arg_max(source, {LABEL_ORDER}) AS label_source
        FROM labels WHERE tenant_id = ? AND created_at <= make_timestamp(?) GROUP BY program_id, transfer_id
    ) AS label USING (program_id, transfer_id) WHERE scoring.tenant_id = ? AND NOT scoring.rescored)"""
_REAL: Final = """
    AND program_id NOT IN (SELECT id FROM programs WHERE json_extract_string(body, '$.source') = 'simulated')"""
_VERSIONS: Final = "SELECT feature_version, count(*) FROM {source} WHERE {within} GROUP BY feature_version"
_CUT: Final = f"""
    SELECT {{at}} AS instant FROM {{source}} WHERE {{within}} AND feature_version = '{FEATURE_VERSION}'
    ORDER BY instant DESC LIMIT 1 OFFSET {MOST_SCORINGS}"""
_COUNT: Final = (
    f"SELECT count(*) FROM {{source}} WHERE {{within}} AND feature_version = '{FEATURE_VERSION}' AND {{at}} > ?"
)
_ROWS: Final = f"""
    SELECT program_id, transfer_id, {{at}}, is_bad, {{label_source}}, {", ".join(f'"{f.name}"' for f in _FIELDS)}
    FROM {{source}} WHERE {{within}} AND feature_version = '{FEATURE_VERSION}' AND {{at}} > ?"""
_TENANTS: Final = "SELECT DISTINCT tenant_id FROM transfer_features ORDER BY tenant_id"


class LabelledScoring(NamedTuple):
    """``is_bad`` is None without a label."""

    program_id: str
    transfer_id: str
    at: int
    is_bad: bool | None
    source: str | None
    vector: FeatureVector


class LabelledScorings:
    """The newest scorings up to an instant, in no order; each iteration reads them again."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        clauses: dict[str, str],
        values: Sequence[object],
        program_ids: Sequence[str],
        upto: int,
    ) -> None:
        within, self._values = f"{clauses['at']} <= ?", [*values, upto]
        if program_ids:
            within += f" AND program_id IN {TEXTS}"
            self._values.append(listed(program_ids))
        elif clauses["source"] == _TABLES:
            within += _REAL
        self._connection, self._clauses = connection, clauses | {"within": within}
        versions = dict(self._read(_VERSIONS))
        self.other_versions = sum(count for version, count in versions.items() if version != FEATURE_VERSION)
        self.total: int = versions.get(FEATURE_VERSION, 0)
        self.older, self._after = 0, -1
        if self.total > MOST_SCORINGS:
            ((self._after,),) = self._read(_CUT)
            ((count,),) = self._read(_COUNT, self._after)
            self.total, self.older = count, self.total - count

    @classmethod
    def of_tenant(
        cls, connection: duckdb.DuckDBPyConnection, tenant_id: str, program_ids: Sequence[str], upto: int
    ) -> Self:
        clauses = {"source": _TABLES, "at": "epoch_us(taken_at)", "label_source": "label_source"}
        return cls(connection, clauses, [tenant_id, upto, tenant_id], program_ids, upto)

    @classmethod
    def of_file(cls, connection: duckdb.DuckDBPyConnection, file: Path, program_ids: Sequence[str], upto: int) -> Self:
        types = check_file(connection, file)
        label = "label_source" if "label_source" in types else f"if(is_bad IS NULL, NULL, '{_FILE_SOURCE}')"
        clauses = {"source": "read_parquet(?)", "at": instant_in(types), "label_source": label}
        return cls(connection, clauses, [pattern_of(file)], program_ids, upto)

    def __iter__(self) -> Iterator[LabelledScoring]:
        with self._connection.cursor() as cursor:
            rows = cursor.execute(_ROWS.format(**self._clauses), [*self._values, self._after])
            while batch := rows.fetchmany(_AT_ONCE):
                for program_id, transfer_id, at, is_bad, source, *vector in batch:
                    yield LabelledScoring(program_id, transfer_id, at, is_bad, source, FeatureVector(*vector))

    def _read(self, sql: str, *further: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql.format(**self._clauses), [*self._values, *further]).fetchall()


def tenants_in(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The tenants that have scorings."""
    return [tenant_id for (tenant_id,) in connection.execute(_TENANTS).fetchall()]


def score_class_sql(score: str) -> str:
    """The class of a score. DuckDB's ``least`` leaves out null."""
    return f"if({score} IS NULL, {UNSCORED_CLASS}, least({score} // 10, {LAST_TEN}))"


def share_sql(count: str, whole: str) -> str:
    """The share of a class with ``count`` among all classes, with ``whole``."""
    return f"({count} + {ADDED}) / ({whole} + {ADDED * SCORE_CLASSES})"


MATURES_AFTER_US: Final = DAYS_60

# A transfer counts with its newest scoring.
_PAIR_COUNTS: Final = """
    WITH pairs AS (
        SELECT program_id, transfer_id, arg_max(champion_band, "offset") AS champion_band,
            arg_max(band, "offset") AS band,
            arg_max_null(champion_score, "offset") AS champion_score, arg_max_null(score, "offset") AS score,
            any_value(bank_created_at) AS taken_at
        FROM shadow_scores WHERE {shadowed} GROUP BY program_id, transfer_id
    ), known AS (
        SELECT program_id, transfer_id, arg_max(label, {order}) AS label FROM labels WHERE {labelled} GROUP BY ALL
    )
    SELECT champion_band, band, {champion_class} AS champion_class, {score_class} AS score_class, label,
        taken_at <= make_timestamp(?) AS is_mature, count(*)
    FROM pairs LEFT JOIN known USING (program_id, transfer_id) GROUP BY ALL ORDER BY ALL"""
_CLASSES: Final = {
    "champion_class": score_class_sql("champion_score"),
    "score_class": score_class_sql("score"),
}
_CHAMPIONS: Final = "SELECT DISTINCT champion_version FROM shadow_scores WHERE {shadowed} ORDER BY ALL"


class ShadowScores(CommittedRows):
    """Errors  ForbiddenError for a program that the principal may not touch"""

    def counts(
        self, principal: Principal, version: str, *, program_ids: Sequence[str] | None, since: int, now: int
    ) -> tuple[list[PairCount], list[str]]:
        """The counts of a version's scores since an instant, and the champions that it ran beside."""
        shadowed, labelled = Predicate(principal), Predicate(principal)
        for program_id in program_ids or ():
            principal.require_program(program_id)
        for predicate in (shadowed, labelled):
            predicate.of_programs(program_ids)
        shadowed.add("version = ?", version)
        shadowed.between("scored_at", since, None)
        values = [*shadowed.values, *labelled.values, now - MATURES_AFTER_US]
        sql = _PAIR_COUNTS.format(shadowed=shadowed.sql, labelled=labelled.sql, order=LABEL_ORDER, **_CLASSES)
        counts = self._read(sql, values)
        champions = self._read(_CHAMPIONS.format(shadowed=shadowed.sql), shadowed.values)
        return [PairCount(*row) for row in counts], [version for (version,) in champions]
