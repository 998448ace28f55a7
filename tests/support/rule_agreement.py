"""A rule evaluated all three ways: by the stream's predicate, by DuckDB over real rows, and by the interpreter."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final

import duckdb

from features.catalogue.features import values_by_name
from features.catalogue.vector import FeatureVector, TransferFeaturesRow
from features.core.rules import Rule
from features.rules.columns import sql_of
from features.rules.language import faults_of
from features.rules.predicate import compiled
from store.duck.schema import TABLES, _table
from store.tables.columns import arrow_table, columns_of
from tests.support.duck_rows import some_features
from tests.support.rules import interpreted

_ROW_TYPE: Final = dict(TABLES)["transfer_features"]


@contextmanager
def stored(vectors: Sequence[FeatureVector]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the vectors as rows of ``transfer_features``, their place in the list as offset."""
    rows: list[TransferFeaturesRow] = [some_features(offset=at, vector=each) for at, each in enumerate(vectors)]
    with closing(duckdb.connect(config={"threads": 1})) as database:
        database.execute(_table("transfer_features", _ROW_TYPE))
        if rows:
            database.register("new_rows", arrow_table(columns_of(_ROW_TYPE), rows))
            database.execute("INSERT INTO transfer_features SELECT * FROM new_rows")
        yield database


def by_database(database: duckdb.DuckDBPyConnection, rule: Rule) -> list[bool | None]:
    expression, parameters = sql_of(rule)
    sql = f'SELECT {expression} FROM transfer_features ORDER BY "offset"'  # noqa: S608 - parameters carry the values
    return [matches for (matches,) in database.execute(sql, parameters).fetchall()]


def disagreements(rules: Sequence[Rule], vectors: Sequence[FeatureVector]) -> list[str]:
    """Where the three differ, one line each, or where a rule that should be right has a fault."""
    predicate = compiled(rules)
    streamed = [predicate(vector) for vector in vectors]
    lines = [f"{rule.when}: {fault}" for rule in rules for fault in faults_of(rule)]
    with stored(vectors) as database:
        for index, rule in enumerate(rules):
            expected = [interpreted(rule, values_by_name(vector)) for vector in vectors]
            of_stream = [index in matched for matched in streamed]
            of_database = by_database(database, rule)
            if not expected == of_stream == of_database:
                lines.append(f"{rule.scope} {rule.when}: expected {expected}, {of_stream}, {of_database}")
    return lines
