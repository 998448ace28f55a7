"""An export holds what links cite, then the links from the first, and a range of it is a run without holes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest
from msgspec import json

from clearhold.features.core.canonical import Chain, LineKind, canonical, digest_of
from clearhold.features.core.errors import ForbiddenError
from clearhold.features.core.rows.alerts import AlertBodyRow
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.record.reading import RecordFilter, RecordReader
from clearhold.store.tables import row_tables
from tests.support.clock import T0
from tests.support.principals import a_key, an_operator
from tests.support.record import POLICY, PROGRAM, SECOND_US, TENANT, a_fact, an_alert_body, record

OPERATOR: Final = an_operator(TENANT)
UNCITED: Final = canonical({"version": "policy-v0"})


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_database(tmp_path / "clearhold.duckdb") as connection:
        facts = [a_fact(number) for number in range(6)] + [a_fact(number, chain="actions") for number in (6, 7)]
        record(connection, tmp_path / "record", facts)
        BatchWriter(connection).commit(
            row_tables({AlertBodyRow: [an_alert_body(9)]}), {}, T0
        )  # Nobody has decided it yet.
        yield connection


def lines_of(database: duckdb.DuckDBPyConnection, batch: int = 500, **wanted: Any) -> list[dict[str, Any]]:
    reader = RecordReader(database, lambda tenant_id: [POLICY, UNCITED] if tenant_id == TENANT else [])
    return [json.decode(line) for lines in reader.export(OPERATOR, RecordFilter(**wanted), batch) for line in lines]


def kinds_of(lines: list[dict[str, Any]]) -> list[str]:
    return [line["kind"] for line in lines]


@pytest.mark.parametrize("batch", [1, 4, 500])
def test_given_chains_when_exported_then_what_they_cite_comes_first_and_each_chain_from_seq_0(
    database: duckdb.DuckDBPyConnection, batch: int
) -> None:
    lines = lines_of(database, batch)

    assert kinds_of(lines) == ["policy"] + ["alert"] * 6 + ["disposition"] * 6 + ["action"] * 2
    assert [line["seq"] for line in lines] == [None] * 7 + [0, 1, 2, 3, 4, 5, 0, 1]
    assert all(list(line) == ["body", "chain", "hash", "kind", "prevHash", "seq"] for line in lines)
    cited = {line["body"].get(name) for line in lines[7:] for name in ("alertSha256", "policySha256")} - {None}
    assert {digest_of(canonical(line["body"])) for line in lines[:7]} == cited
    assert lines == lines_of(database)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ({LineKind.POLICY}, ["policy"]),
        ({LineKind.ALERT}, ["alert"] * 6),
        ({LineKind.ACTION}, ["action"] * 2),
        ({LineKind.ACTION, LineKind.POLICY}, ["policy"] + ["action"] * 2),
    ],
)
def test_given_kinds_when_exported_then_only_those_lines_come(
    database: duckdb.DuckDBPyConnection, kinds: set[LineKind], expected: list[str]
) -> None:
    assert kinds_of(lines_of(database, kinds=frozenset(kinds))) == expected


def test_given_a_range_when_exported_then_it_is_a_run_of_links_with_what_they_cite(
    database: duckdb.DuckDBPyConnection,
) -> None:
    lines = lines_of(database, created_from=T0 + 2 * SECOND_US, created_to=T0 + 4 * SECOND_US)

    assert kinds_of(lines) == ["policy", "alert", "alert", "disposition", "disposition"]
    assert [line["seq"] for line in lines[3:]] == [2, 3]
    assert lines_of(database, created_from=T0 + 60 * SECOND_US) == []
    assert lines_of(database, created_to=T0) == []
    assert lines_of(database, created_from=T0 + 3 * SECOND_US, created_to=T0 + 3 * SECOND_US) == []


def test_given_facts_recorded_out_of_order_when_a_range_is_exported_then_it_has_no_hole(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    late = [a_fact(number, tenant_id="late") for number in (5, 1, 9, 2, 6)]
    record(database, tmp_path / "record", late)
    reader = RecordReader(database, lambda _: [])
    wanted = RecordFilter(created_from=T0 + 5 * SECOND_US, created_to=T0 + 7 * SECOND_US)

    lines = [json.decode(line) for batch in reader.export(an_operator("late"), wanted, 500) for line in batch]

    assert [line["seq"] for line in lines if line["chain"] == "dispositions"] == [0, 1, 2, 3, 4]
    between = RecordFilter(created_from=T0 + 7 * SECOND_US, created_to=T0 + 9 * SECOND_US)
    assert [line for batch in reader.export(an_operator("late"), between, 500) for line in batch] == []


def test_given_another_tenant_or_a_key_of_one_program_when_exported_then_nothing_comes(
    database: duckdb.DuckDBPyConnection,
) -> None:
    reader = RecordReader(database, lambda _: [POLICY])

    assert [line for lines in reader.export(an_operator("another"), RecordFilter(), 5) for line in lines] == []
    with pytest.raises(ForbiddenError):
        next(reader.export(a_key(TENANT, PROGRAM), RecordFilter(), 5))


def test_given_a_chain_name_then_it_is_one_that_the_spans_know() -> None:
    assert [chain.value for chain in Chain] == ["dispositions", "actions"]
