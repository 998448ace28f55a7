"""Labels are listed newest first, and the last one of a transfer grades the pre-flight that it landed for."""

from collections import Counter
from typing import Any

import duckdb
import pytest

from features.core.errors import ForbiddenError
from features.core.rows.alerts import LabelRow
from features.core.rows.transfers import PreflightMatchRow, PreflightRow
from store.duck.labels import LabelFilter, Labels
from store.duck.writer import BatchWriter, Rows
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_label, a_match, a_preflight
from tests.support.principals import a_key, an_operator

OPERATOR = an_operator(TENANT)


def commit(database: duckdb.DuckDBPyConnection, *rows: LabelRow) -> None:
    BatchWriter(database).commit({LabelRow: rows}, {}, AT)


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


def test_given_labelled_transfers_when_graded_then_the_last_label_meets_the_decision_of_the_preflight(
    database: duckdb.DuckDBPyConnection,
) -> None:
    asked = {"1": "hold", "2": "hold", "3": "clear", "4": "review", "never landed": "hold", "not labelled": "hold"}
    elsewhere = a_preflight(id="1", tenant_id="tnt_2", decision="clear")
    landed = ["1", "2", "3", "4", "not labelled"]
    rows: Rows = {
        PreflightRow: [
            *(a_preflight(id=name, decision=decision) for name, decision in asked.items()),
            a_preflight(id="1", decision="clear", offset=0),  # an append that was never confirmed
            a_preflight(id="old", decision="hold", created_at=AT - 1),
            elsewhere,
        ],
        PreflightMatchRow: [a_match(preflight_id=name, transfer_id=f"trf_{name}") for name in [*landed, "old"]],
        LabelRow: [
            a_label(transfer_id="trf_1", label="ok", offset=3),
            a_label(transfer_id="trf_1", label="bad", offset=9, id="lbl_9"),
            a_label(transfer_id="trf_2", label="ok"),
            a_label(transfer_id="trf_2", label="bad", program_id="prg_2", offset=99),
            a_label(transfer_id="trf_2", label="bad", tenant_id="tnt_2", offset=99),
            a_label(transfer_id="trf_3", label="ok"),
            a_label(transfer_id="trf_4", label="bad"),
            a_label(transfer_id="trf_old", label="bad"),
        ],
    }
    BatchWriter(database).commit(rows, {}, AT)
    reader = Labels(database)

    graded = reader.graded(OPERATOR, asked_from=AT)

    assert graded == Counter({("hold", "bad"): 1, ("hold", "ok"): 1, ("clear", "ok"): 1, ("review", "bad"): 1})
    assert reader.graded(a_key(TENANT, PROGRAM), asked_from=AT) == graded
    assert reader.graded(a_key(TENANT, "prg_2"), asked_from=AT) == Counter()
