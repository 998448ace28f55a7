"""Labels are listed newest first, narrowed by filters and by the principal's reach."""

from typing import Any

import duckdb
import pytest

from clearhold.features.core.errors import ForbiddenError
from clearhold.features.core.rows.alerts import LabelRow
from clearhold.store.duck.alerts import LabelFilter, Labels
from clearhold.store.duck.database import BatchWriter
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_label
from tests.support.principals import a_key, an_operator

OPERATOR = an_operator(TENANT)


def commit(database: duckdb.DuckDBPyConnection, *rows: LabelRow) -> None:
    BatchWriter(database).commit(row_tables({LabelRow: rows}), {}, AT)


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["3", "2", "1"]),
    ({"labels": ("ok",)}, ["2"]),
    ({"transfer_ids": ("trf_1",)}, ["2", "1"]),
    ({"program_ids": ("prg_2",)}, ["3"]),
    ({"created_from": AT + 1, "created_to": AT + 2}, ["2"]),
]


@pytest.mark.parametrize(("wanted", "found"), FILTERS)
def test_given_a_filter_when_listed_then_only_those_are_found_newest_first(
    database: duckdb.DuckDBPyConnection, wanted: dict[str, Any], found: list[str]
) -> None:
    commit(
        database,
        a_label(id="1"),
        a_label(id="2", label="ok", created_at=AT + 1, offset=2),
        a_label(id="3", transfer_id="trf_2", program_id="prg_2", created_at=AT + 2, offset=3),
    )

    assert [row.id for row in Labels(database).list_page(OPERATOR, LabelFilter(**wanted), None, 9)] == found


def test_given_a_key_when_it_reads_then_what_is_out_of_its_reach_is_refused_by_name_and_not_listed(
    database: duckdb.DuckDBPyConnection,
) -> None:
    commit(database, a_label(), a_label(id="lbl_2", program_id="prg_2"))
    reader, key = Labels(database), a_key(TENANT, PROGRAM)

    assert [row.id for row in reader.list_page(key, LabelFilter(), None, 9)] == ["lbl_1"]
    assert reader.find(an_operator("tnt_2"), "lbl_1") is None
    assert reader.find(OPERATOR, "lbl_1") == a_label()
    with pytest.raises(ForbiddenError):
        reader.find(key, "lbl_2")
