"""Score records are read by subject and by program, newest first; another tenant or program sees none of them."""

from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.core.errors import ForbiddenError
from clearhold.features.core.rows.scores import ScoreRow
from clearhold.store.duck.scores import Scores
from clearhold.store.duck.writer import BatchWriter
from clearhold.store.tables.row_tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_score
from tests.support.principals import a_key, an_operator

OPERATOR = an_operator(TENANT)


def commit(database: duckdb.DuckDBPyConnection, *rows: ScoreRow) -> Scores:
    BatchWriter(database).commit(row_tables({ScoreRow: rows}), {}, AT)
    return Scores(database)


def test_given_records_when_the_latest_is_asked_for_then_it_is_the_newest_as_it_was_written(
    database: duckdb.DuckDBPyConnection,
) -> None:
    newest = a_score(offset=9, score=None, band="unscored", confidence=None, hard=True, scored_at=AT + 5)
    scores = commit(database, a_score(offset=4), newest, a_score(offset=10, subject_id="ent_2"))

    assert scores.latest(OPERATOR, "entity", "ent_1") == newest
    assert scores.latest(OPERATOR, "entity", "ent_1", PROGRAM) == newest


@pytest.mark.parametrize(
    ("tenant_id", "subject_type", "subject_id", "program_id", "there"),
    [
        (TENANT, "entity", "ent_1", None, True),
        (TENANT, "entity", "ent_1", "prg_2", False),
        (TENANT, "counterparty", "ent_1", None, False),
        (TENANT, "entity", "ent_2", None, False),
        ("tnt_2", "entity", "ent_1", None, False),
        ("tnt_2", "entity", "ent_1", PROGRAM, False),
    ],
)
def test_given_a_record_when_asked_for_then_only_its_tenant_program_and_type_find_it(
    database: duckdb.DuckDBPyConnection,
    tenant_id: str,
    subject_type: str,
    subject_id: str,
    program_id: str | None,
    *,
    there: bool,
) -> None:
    found = commit(database, a_score()).latest(an_operator(tenant_id), subject_type, subject_id, program_id)

    assert (found is not None) is there


def test_given_one_id_in_two_programs_when_a_key_of_one_asks_then_that_programs_record_answers(
    database: duckdb.DuckDBPyConnection,
) -> None:
    scores = commit(database, a_score(score=1), a_score(program_id="prg_2", score=2, scored_at=AT + 1))

    within = scores.latest(a_key(TENANT, PROGRAM), "entity", "ent_1")

    assert within is not None
    assert within.score == 1


def test_given_a_key_of_another_program_when_it_asks_then_it_is_refused(database: duckdb.DuckDBPyConnection) -> None:
    scores, stranger = commit(database, a_score()), a_key(TENANT, "prg_2")

    with pytest.raises(ForbiddenError):
        scores.latest(stranger, "entity", "ent_1")


def test_given_another_tenant_then_there_is_no_record_for_it(database: duckdb.DuckDBPyConnection) -> None:
    scores, stranger = commit(database, a_score()), an_operator("tnt_2")

    assert scores.latest(stranger, "entity", "ent_1") is None


def test_given_records_of_one_instant_then_the_later_entry_is_the_newer(database: duckdb.DuckDBPyConnection) -> None:
    scores = commit(database, a_score(offset=7, score=7), a_score(offset=6, score=6))

    latest = scores.latest(OPERATOR, "entity", "ent_1")

    assert latest is not None
    assert latest.score == 7


records = st.lists(
    st.builds(
        lambda **over: over,
        program_id=st.sampled_from([PROGRAM, PROGRAM, "prg_2"]),
        subject_id=st.sampled_from("abcd"),
        subject_type=st.sampled_from(["entity", "counterparty"]),
        score=st.none() | st.integers(0, 100),
        tenant_id=st.sampled_from([TENANT, TENANT, "tnt_2"]),
    ),
    max_size=25,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(history=records)
def test_given_any_records_when_the_latest_of_each_subject_is_read_then_it_is_the_newest(
    history: list[dict[str, Any]], database: duckdb.DuckDBPyConnection
) -> None:
    rows = [a_score(offset=offset, scored_at=AT + offset, **over) for offset, over in enumerate(history, start=1)]
    database.execute("DELETE FROM scores")
    scores = commit(database, *rows)

    newest = {
        row.subject_id: row
        for row in rows
        if (row.tenant_id, row.program_id, row.subject_type) == (TENANT, PROGRAM, "entity")
    }
    for row in newest.values():
        assert scores.latest(OPERATOR, "entity", row.subject_id, PROGRAM) == row
