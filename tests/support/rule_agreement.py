"""A rule evaluated all three ways: by the stream's predicate, by DuckDB over real rows, and by the interpreter."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final

import duckdb

from clearhold.features.catalogue.vector import FeatureVector, TransferFeaturesRow, values_by_name
from clearhold.features.core.rules import Rule
from clearhold.features.rules.language import faults_of
from clearhold.features.rules.predicate import compiled, sql_of
from clearhold.store.duck.database import ddl
from clearhold.store.tables import arrow_table, columns_of
from tests.support.duck_rows import some_features
from tests.support.rules import interpreted

_TABLE: Final = next(each for each in ddl() if each.startswith("CREATE TABLE IF NOT EXISTS transfer_features "))


@contextmanager
def stored(vectors: Sequence[FeatureVector]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the vectors, at least one, as rows of ``transfer_features`` in the order of their offsets."""
    rows: list[TransferFeaturesRow] = [some_features(offset=at, vector=each) for at, each in enumerate(vectors)]
    with closing(duckdb.connect(config={"threads": 1})) as database:
        database.execute(_TABLE)
        database.register("new_rows", arrow_table(columns_of(TransferFeaturesRow), rows))
        database.execute("INSERT INTO transfer_features SELECT * FROM new_rows")
        yield database


def by_database(database: duckdb.DuckDBPyConnection, rules: Sequence[Rule]) -> list[list[bool | None]]:
    """What each rule's expression says of each row, in the order of the offsets."""
    expressions = [sql_of(rule) for rule in rules]
    selected = ", ".join(expression for expression, _ in expressions)
    parameters = [parameter for _, parameters in expressions for parameter in parameters]
    sql = f'SELECT {selected} FROM transfer_features ORDER BY "offset"'  # noqa: S608 - parameters carry the values
    return [list(column) for column in zip(*database.execute(sql, parameters).fetchall(), strict=True)]


def disagreements(rules: Sequence[Rule], vectors: Sequence[FeatureVector]) -> list[str]:
    """Where the three differ, one line each, or where a rule that should be right has a fault."""
    lines = [f"{rule.when}: {fault}" for rule in rules for fault in faults_of(rule)]
    if not vectors:
        return lines
    predicate = compiled(rules)
    streamed = [predicate(vector) for vector in vectors]
    inputs = [values_by_name(vector) for vector in vectors]
    with stored(vectors) as database:
        of_database = by_database(database, rules)
    for index, rule in enumerate(rules):
        expected = [interpreted(rule, each) for each in inputs]
        of_stream = [index in matched for matched in streamed]
        if not expected == of_stream == of_database[index]:
            lines.append(f"{rule.scope} {rule.when}: expected {expected}, {of_stream}, {of_database[index]}")
    return lines
