"""Scorings of the stream with the labels of their transfers: for fitting and checking a card.

Source  the tables of a tenant, or a Parquet file with a row a transfer: ``transfer_id``, ``program_id``, ``taken_at``,
        ``feature_version``, ``is_bad`` (null is unlabelled), all fields of the vector, ``label_source`` if there is one
Time    the first scoring of each transfer, before its later course; backfills are left out. Labels are those of
        ``upto``, the last one of each transfer
Errors  ``StartupError`` for a file without valid scorings
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import duckdb
import msgspec

from clearhold.features.catalogue.vector import FEATURE_VERSION, FeatureVector
from clearhold.store.duck.schema import LABEL_ORDER
from clearhold.store.duck.scorings.scorings_file import check_file, instant_in, pattern_of
from clearhold.store.tables.predicate import TEXTS, listed

MOST_SCORINGS: Final = 1_000_000
_AT_ONCE: Final = 10_000
_FIELDS: Final = msgspec.structs.fields(FeatureVector)
_FILE_SOURCE: Final = "imported"

# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_TABLES: Final = f"""(
    SELECT scoring.*, label.is_bad, label.label_source FROM transfer_features AS scoring LEFT JOIN (
        SELECT program_id, transfer_id, arg_max(label, {LABEL_ORDER}) = 'bad' AS is_bad,
            arg_max(source, {LABEL_ORDER}) AS label_source
        FROM labels WHERE tenant_id = ? AND created_at <= make_timestamp(?) GROUP BY program_id, transfer_id
    ) AS label USING (program_id, transfer_id) WHERE scoring.tenant_id = ? AND NOT scoring.rescored)"""
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
        self, connection: duckdb.DuckDBPyConnection, clauses: dict[str, str], values: Sequence[object]
    ) -> None:
        self._connection, self._clauses, self._values = connection, clauses, values
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
        values = [tenant_id, upto, tenant_id]
        return cls._within(connection, _TABLES, "epoch_us(taken_at)", "label_source", values, program_ids, upto)

    @classmethod
    def of_file(cls, connection: duckdb.DuckDBPyConnection, file: Path, program_ids: Sequence[str], upto: int) -> Self:
        types = check_file(connection, file)
        label = "label_source" if "label_source" in types else f"if(is_bad IS NULL, NULL, '{_FILE_SOURCE}')"
        at, values = instant_in(types), [pattern_of(file)]
        return cls._within(connection, "read_parquet(?)", at, label, values, program_ids, upto)

    @classmethod
    def _within(
        cls,
        connection: duckdb.DuckDBPyConnection,
        source: str,
        at: str,
        label_source: str,
        values: Sequence[object],
        program_ids: Sequence[str],
        upto: int,
    ) -> Self:
        within = f"{at} <= ?"
        values = [*values, upto]
        if program_ids:
            within += f" AND program_id IN {TEXTS}"
            values.append(listed(program_ids))
        return cls(connection, {"source": source, "at": at, "label_source": label_source, "within": within}, values)

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
