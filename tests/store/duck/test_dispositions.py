"""Dispositions are read with their links of the chain; results as the newest of them says."""

from typing import Any

import duckdb
import pytest

from clearhold.features.core.errors import ForbiddenError
from clearhold.features.core.rows.alerts import DispositionRow, EntryResultRow
from clearhold.store.duck.alerts import DispositionFilter, Dispositions, EntryResults, StoredDisposition
from clearhold.store.duck.database import BatchWriter
from clearhold.store.record.chain_file import RecordChainRow
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_disposition, a_link, a_result
from tests.support.principals import a_key, an_operator

OPERATOR = an_operator(TENANT)


def commit(database: duckdb.DuckDBPyConnection, *rows: DispositionRow) -> None:
    """Dispositions, each with a link behind the one before."""
    hashes = [None, *(row.id for row in rows)]
    links = [a_link(row, seq=seq, prev_hash=hashes[seq]) for seq, row in enumerate(rows)]
    BatchWriter(database).commit(row_tables({DispositionRow: rows, RecordChainRow: links}), {}, AT)


def ids(found: list[StoredDisposition]) -> list[str]:
    return [stored.row.id for stored in found]


def test_given_links_of_several_chains_and_tenants_when_read_then_each_disposition_has_its_own(
    database: duckdb.DuckDBPyConnection,
) -> None:
    first, second = a_disposition(), a_disposition(id="dsp_2", offset=7)
    others = [a_link(first, chain="actions", hash="x"), a_link(first, tenant_id="tnt_2", hash="y")]
    BatchWriter(database).commit(row_tables({RecordChainRow: others}), {}, AT)
    commit(database, first, second)

    found = [Dispositions(database).find(OPERATOR, disposition_id) for disposition_id in ("dsp_1", "dsp_2", "dsp_3")]

    assert found == [
        StoredDisposition(row=first, seq=0, prev_hash=None, hash="dsp_1"),
        StoredDisposition(row=second, seq=1, prev_hash="dsp_1", hash="dsp_2"),
        None,
    ]


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["3", "2", "1"]),
    ({"decisions": ("hold", "release")}, ["3", "2"]),
    ({"decided_by": ("operator:bob",)}, ["3"]),
    ({"alert_ids": ("alr_1",)}, ["2", "1"]),
    ({"program_ids": ("prg_2",)}, ["3"]),
    ({"overturned": True}, ["2"]),
    ({"overturned": False}, ["3", "1"]),
    ({"created_from": AT + 1, "created_to": AT + 2}, ["2"]),
]


@pytest.mark.parametrize(("wanted", "found"), FILTERS)
def test_given_a_filter_when_listed_then_only_those_are_found_newest_first(
    database: duckdb.DuckDBPyConnection, wanted: dict[str, Any], found: list[str]
) -> None:
    commit(
        database,
        a_disposition(id="1", overturns_draft=False),
        a_disposition(id="2", decision="hold", overturns_draft=True, created_at=AT + 1, offset=2),
        a_disposition(
            id="3",
            decision="release",
            decided_by="operator:bob",
            alert_id="alr_2",
            program_id="prg_2",
            created_at=AT + 2,
            offset=3,
        ),
    )
    reader = Dispositions(database)

    assert ids(reader.list_page(OPERATOR, DispositionFilter(**wanted), None, 9)) == found
    exported = reader.export(OPERATOR, DispositionFilter(**wanted), 2)
    assert [name for batch in exported for name in ids(batch)] == found


def test_given_decisions_on_an_alert_when_read_then_in_the_order_of_the_log(
    database: duckdb.DuckDBPyConnection,
) -> None:
    commit(database, *(a_disposition(id=str(number), created_at=AT - number % 2, offset=number) for number in range(3)))

    assert ids(Dispositions(database).of_alert(OPERATOR, "alr_1")) == ["0", "1", "2"]
    assert Dispositions(database).of_alert(an_operator("tnt_2"), "alr_1") == []


def test_given_a_place_when_listed_behind_it_then_ties_are_broken_by_id(database: duckdb.DuckDBPyConnection) -> None:
    commit(database, *(a_disposition(id=str(number), offset=number) for number in range(4)))

    assert ids(Dispositions(database).list_page(OPERATOR, DispositionFilter(), (AT, "1"), 9)) == ["2", "3"]


def test_given_a_key_when_it_reads_then_what_is_out_of_its_reach_is_refused_by_name_and_not_listed(
    database: duckdb.DuckDBPyConnection,
) -> None:
    commit(database, a_disposition(), a_disposition(id="dsp_2", program_id="prg_2"))
    reader, key = Dispositions(database), a_key(TENANT, PROGRAM)

    assert ids(reader.list_page(key, DispositionFilter(), None, 9)) == ["dsp_1"]
    assert reader.find(an_operator("tnt_2"), "dsp_1") is None
    with pytest.raises(ForbiddenError):
        reader.find(key, "dsp_2")


def test_given_an_entry_that_was_tried_again_when_its_result_is_read_then_the_newest_counts(
    database: duckdb.DuckDBPyConnection,
) -> None:
    made = a_result(offset=8)
    BatchWriter(database).commit(row_tables({EntryResultRow: [made, a_result(offset=3, result="not_held")]}), {}, AT)
    results = EntryResults(database)

    assert results.find(OPERATOR, "dsp_1") == made
    assert results.find(OPERATOR, "dsp_2") is None
    assert results.find(an_operator("tnt_2"), "dsp_1") is None
