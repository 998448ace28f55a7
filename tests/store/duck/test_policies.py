"""The versions in force as the tables have them: a program's own above the tenant's, until it follows the tenant."""

from typing import Any, Final

import duckdb
import msgspec
import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.rows.alerts import PolicyRow
from clearhold.features.policy.bodies import SCORECARD, ScorecardBody
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.inputs import PolicyTable
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, some_features
from tests.support.scorecards import a_card

OWN: Final = ScorecardBody(card=a_card())
FOLLOWS: Final = ScorecardBody(card=None, follows_tenant=True)


def of(offset: int, body: ScorecardBody, *, of_program: bool) -> PolicyRow:
    return PolicyRow(
        tenant_id=TENANT,
        program_id=PROGRAM,
        version=f"scorecard-v{offset}",
        shard=0,
        offset=offset,
        of_program=of_program,
        action_id=f"act_{offset}",
        sha256="",
        body=msgspec.json.encode(body).decode(),
        in_force_at=AT,
    )


@pytest.mark.parametrize(
    ("rows", "version"),
    [
        ([], None),
        ([of(1, OWN, of_program=False)], "scorecard-v1"),
        ([of(1, OWN, of_program=True), of(2, OWN, of_program=False)], "scorecard-v1"),
        ([of(1, OWN, of_program=False), of(2, OWN, of_program=True), of(3, FOLLOWS, of_program=True)], "scorecard-v1"),
        ([of(2, OWN, of_program=True), of(3, FOLLOWS, of_program=True)], None),
        ([of(3, FOLLOWS, of_program=True), of(4, OWN, of_program=True)], "scorecard-v4"),
    ],
)
def test_given_versions_of_tenant_and_program_then_the_newest_that_counts_is_named(
    database: duckdb.DuckDBPyConnection, rows: list[PolicyRow], version: str | None
) -> None:
    tables: dict[type[msgspec.Struct], list[Any]] = {TransferFeaturesRow: [some_features()], PolicyRow: rows}
    BatchWriter(database).commit(row_tables(tables), {}, AT)

    (newest,) = PolicyTable(database).newest(TENANT, SCORECARD)

    assert (newest.program_id, newest.version) == (PROGRAM, version)
