"""Transfers are read as their newest version stands, page by page, tenant by tenant."""

from collections.abc import Sequence

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.store.duck import committed_rows
from clearhold.store.duck.committed_rows import Place
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.transfers import BareTransfers, NamedTransfers, TransferFilter, Transfers
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, TENANT, a_transfer, some_features
from tests.support.principals import a_key, an_operator

MANY_VERSIONS = 300


def commit(
    database: duckdb.DuckDBPyConnection, *rows: TransferRow, features: Sequence[TransferFeaturesRow] = ()
) -> None:
    BatchWriter(database).commit(row_tables({TransferRow: rows, TransferFeaturesRow: features}), {}, AT)


def page_ids(
    database: duckdb.DuckDBPyConnection, wanted: TransferFilter, *, after: Place | None = None, limit: int = 25
) -> list[str]:
    return [found.row.id for found in Transfers(database).list_page(an_operator(TENANT), wanted, after, limit)]


def test_given_versions_when_found_then_the_newest_is_shown_with_the_features_of_its_score(
    database: duckdb.DuckDBPyConnection,
) -> None:
    scored = a_transfer(offset=5, status="pending", scored_offset=5)
    settled = a_transfer(offset=9, status="settled", scored_offset=5)
    inputs = some_features(offset=5)
    commit(database, settled, scored, features=[some_features(offset=3), inputs, some_features(program_id="prg_9")])

    found = Transfers(database).find(an_operator(TENANT), "trf_1", None)

    assert found is not None
    assert found.row == settled
    assert found.features == inputs


def test_given_a_transfer_that_was_never_scored_when_found_then_it_has_no_features(
    database: duckdb.DuckDBPyConnection,
) -> None:
    row = a_transfer(score=None, score_band=None, score_confidence=None, scored_at=None, scored_offset=None)
    commit(database, row)

    found = Transfers(database).find(an_operator(TENANT), "trf_1", None)

    assert found is not None
    assert found.row == row
    assert found.features is None


@pytest.mark.parametrize(
    ("tenant_id", "transfer_id", "program_ids", "there"),
    [
        (TENANT, "trf_1", None, True),
        (TENANT, "trf_1", ["prg_0", "prg_1"], True),
        (TENANT, "trf_1", ["prg_2"], False),
        (TENANT, "trf_1", [], False),
        (TENANT, "trf_2", None, False),
        ("tnt_2", "trf_1", None, False),
        ("tnt_2", "trf_1", ["prg_1"], False),
    ],
)
def test_given_a_transfer_when_asked_for_then_only_its_tenant_and_programs_find_it(
    database: duckdb.DuckDBPyConnection, tenant_id: str, transfer_id: str, program_ids: list[str] | None, *, there: bool
) -> None:
    commit(database, a_transfer())

    assert (Transfers(database).find(an_operator(tenant_id), transfer_id, program_ids) is not None) is there


def test_given_one_id_in_two_programs_when_found_then_the_program_asked_for_answers(
    database: duckdb.DuckDBPyConnection,
) -> None:
    commit(database, a_transfer(offset=2), a_transfer(offset=1, program_id="prg_2", amount_cents=1))

    found = Transfers(database).find(an_operator(TENANT), "trf_1", ["prg_2"])

    assert found is not None
    assert found.row.amount_cents == 1


def test_given_one_id_in_several_programs_when_asked_which_then_those_within_reach_are_told_once(
    database: duckdb.DuckDBPyConnection,
) -> None:
    commit(
        database,
        a_transfer(offset=1),
        a_transfer(offset=2),
        a_transfer(offset=3, program_id="prg_2"),
        a_transfer(offset=4, id="trf_2", program_id="prg_3"),
        a_transfer(offset=5, tenant_id="tnt_2", program_id="prg_4"),
    )
    reader = Transfers(database)

    assert reader.programs_of(an_operator(TENANT), "trf_1") == ["prg_1", "prg_2"]
    assert reader.programs_of(a_key(TENANT, "prg_2", "prg_3"), "trf_1") == ["prg_2"]
    assert reader.programs_of(a_key(TENANT), "trf_1") == []
    assert reader.programs_of(an_operator("tnt_2"), "trf_9") == []


def test_given_a_version_that_left_the_band_then_a_list_of_that_band_leaves_the_transfer_out(
    database: duckdb.DuckDBPyConnection,
) -> None:
    commit(database, a_transfer(offset=1, score_band="hold"), a_transfer(offset=2, score_band="clear"))

    assert page_ids(database, TransferFilter(bands=("hold",))) == []
    assert page_ids(database, TransferFilter(bands=("clear", "hold"))) == ["trf_1"]


def test_given_ids_then_the_newest_version_of_each_within_the_programs_is_read_and_no_other(
    database: duckdb.DuckDBPyConnection,
) -> None:
    former = [a_transfer(id=f"trf_{number}", number=number, offset=number) for number in range(1, 6)]
    newest = a_transfer(id="trf_3", number=3, offset=9, status="RETURNED")
    commit(database, *former, newest, a_transfer(id="trf_2", number=2, offset=10, program_id="prg_2"))
    wanted = NamedTransfers(program_ids=("prg_1",), ids=("trf_3", "trf_2", "trf_99"))

    read = BareTransfers(database).list_page(an_operator(TENANT), wanted, None, 3)
    assert sorted((each.row.id, each.row.offset) for each in read) == [("trf_2", 2), ("trf_3", 9)]


def test_given_an_empty_choice_then_nothing_matches(database: duckdb.DuckDBPyConnection) -> None:
    commit(database, a_transfer())

    assert page_ids(database, TransferFilter(program_ids=())) == []


def test_given_a_page_then_each_transfer_comes_with_the_features_of_its_own_score(
    database: duckdb.DuckDBPyConnection,
) -> None:
    rows = [a_transfer(id=f"trf_{n}", offset=n, scored_offset=n) for n in range(1, 4)]
    features = [some_features(transfer_id=f"trf_{n}", offset=n, score=n) for n in range(1, 4)]
    commit(database, *rows, features=features)

    found = Transfers(database).list_page(an_operator(TENANT), TransferFilter(), None, 2)

    assert [each.features for each in found] == features[:2]


def test_given_more_superseded_versions_than_one_look_covers_then_the_page_is_still_full(
    database: duckdb.DuckDBPyConnection,
) -> None:
    stale = [a_transfer(id="trf_busy", offset=n, bank_created_at=AT + 9) for n in range(1, MANY_VERSIONS)]
    moved_on = a_transfer(id="trf_busy", offset=MANY_VERSIONS, bank_created_at=AT - 9)
    quiet = [a_transfer(id=f"trf_{n}", offset=n, bank_created_at=AT - n) for n in range(4)]
    commit(database, *stale, moved_on, *quiet)

    assert page_ids(database, TransferFilter()) == ["trf_0", "trf_1", "trf_2", "trf_3", "trf_busy"]


versions = st.lists(
    st.builds(
        lambda **over: over,
        program_id=st.sampled_from(["prg_1", "prg_2"]),
        id=st.sampled_from("abcdef"),
        bank_created_at=st.integers(AT, AT + 3),
        score_band=st.sampled_from(["clear", "hold", None]),
        entity_id=st.sampled_from(["ent_1", "ent_2", None]),
        counterparty_id=st.sampled_from(["cpt_1", None]),
        tenant_id=st.sampled_from([TENANT, TENANT, "tnt_2"]),
    ),
    max_size=30,
)
filters = st.builds(
    TransferFilter,
    program_ids=st.none() | st.just(("prg_1",)) | st.just(("prg_1", "prg_2")),
    bands=st.none() | st.just(("hold",)) | st.just(("clear", "hold")),
    entity_ids=st.none() | st.just(("ent_1",)),
    counterparty_ids=st.none() | st.just(("cpt_1",)),
    created_from=st.none() | st.integers(AT, AT + 3),
    created_to=st.none() | st.integers(AT, AT + 4),
)


def expected(rows: list[TransferRow], wanted: TransferFilter) -> list[TransferRow]:
    """The definition, word for word, over plain lists."""
    newest: dict[tuple[str, str], TransferRow] = {}
    for row in rows:
        if row.tenant_id == TENANT:
            newest[row.program_id, row.id] = row
    chosen = [
        row
        for row in newest.values()
        if (wanted.program_ids is None or row.program_id in wanted.program_ids)
        and (wanted.bands is None or row.score_band in wanted.bands)
        and (wanted.entity_ids is None or row.entity_id in wanted.entity_ids)
        and (wanted.counterparty_ids is None or row.counterparty_id in wanted.counterparty_ids)
        and (wanted.created_from is None or row.bank_created_at >= wanted.created_from)
        and (wanted.created_to is None or row.bank_created_at < wanted.created_to)
    ]
    return sorted(chosen, key=lambda row: (-row.bank_created_at, row.id, row.program_id))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(history=versions, wanted=filters, limit=st.integers(1, 7), asked=st.integers(1, 5))
def test_given_any_history_when_paged_through_then_every_transfer_comes_once_in_order_as_its_newest_version(
    history: list[dict[str, object]],
    wanted: TransferFilter,
    limit: int,
    asked: int,
    database: duckdb.DuckDBPyConnection,
) -> None:
    rows = [a_transfer(offset=offset, scored_offset=None, **over) for offset, over in enumerate(history, start=1)]
    database.execute("DELETE FROM transfers")
    commit(database, *rows)

    found: list[TransferRow] = []
    after: Place | None = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committed_rows, "LEAST_CANDIDATES", asked)
        patch.setattr(committed_rows, "MOST_CANDIDATES", asked)
        while page := Transfers(database).list_page(an_operator(TENANT), wanted, after, limit):
            assert len(page) <= limit
            found += [each.row for each in page]
            after = (found[-1].bank_created_at, found[-1].id, found[-1].program_id)

    assert found == expected(rows, wanted)
    exported = [each for batch in Transfers(database).export(an_operator(TENANT), wanted, limit) for each in batch]
    assert [each.row for each in exported] == found
