"""A batch is committed whole or not at all, and reads back as it was given."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.core.rows.events import EventRow, TransferRow
from clearhold.store.duck.database import TABLES, BatchWriter, LogOffsetRow, committed_offsets, fold_wal, open_database
from clearhold.store.redis_log.owner import NotOwnerError
from clearhold.store.tables import Row, arrow_table, columns_of, row_builder, row_tables, select_list
from tests.support.duck_rows import AT, a_transfer, an_event

INT64 = st.integers(min_value=-(2**63), max_value=2**63 - 1)
INSTANT = st.integers(min_value=-62_135_596_800_000_000, max_value=253_402_300_799_999_999)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clearhold.duckdb"


@pytest.fixture
def database(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_database(path) as connection:
        yield connection


def rows_of(connection: duckdb.DuckDBPyConnection, table: str, row_type: type[Row]) -> list[Row]:
    found = connection.execute(f"SELECT {select_list(row_type)} FROM {table}").fetchall()  # noqa: S608 - our own table
    return list(map(row_builder(row_type), found))


def values_for(row_type: type[msgspec.Struct]) -> st.SearchStrategy[msgspec.Struct]:
    cells: list[st.SearchStrategy[Any]] = []
    for column in columns_of(row_type):
        kinds = {"TIMESTAMP": INSTANT, "BIGINT": INT64, "VARCHAR": TEXT, "BOOLEAN": st.booleans()}
        cell: st.SearchStrategy[Any] = kinds.get(column.sql_type, st.floats(allow_nan=False))
        cells.append(st.none() | cell if column.nullable else cell)
    return st.tuples(*cells).map(row_builder(row_type))


@pytest.mark.parametrize(("table", "row_type"), [pair for pair in TABLES if pair[1] is not LogOffsetRow])
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_given_random_rows_when_committed_then_they_read_back_equal(
    table: str, row_type: type[msgspec.Struct], data: st.DataObject, database: duckdb.DuckDBPyConnection
) -> None:
    rows = data.draw(st.lists(values_for(row_type), max_size=5))
    database.execute(f"DELETE FROM {table}")  # noqa: S608 - our own table

    BatchWriter(database).commit(row_tables({row_type: rows}), {}, AT)

    assert rows_of(database, table, row_type) == rows


def test_given_batches_when_committed_then_the_highest_offset_of_each_shard_is_the_committed_one(
    database: duckdb.DuckDBPyConnection,
) -> None:
    writer = BatchWriter(database)
    writer.commit(row_tables({EventRow: [an_event(offset=5)]}), {3: 5, 4: 9}, AT)
    writer.commit(row_tables({EventRow: [an_event(offset=8)]}), {3: 8}, AT + 1)

    assert committed_offsets(database) == {3: 8, 4: 9}


def test_given_a_commit_that_fails_midway_then_nothing_of_it_is_there_and_the_next_one_works(
    database: duckdb.DuckDBPyConnection,
) -> None:
    writer = BatchWriter(database)
    broken = a_transfer(rail=None)

    tables = {
        "EventRow": arrow_table(columns_of(EventRow), [an_event()]),
        "TransferRow": arrow_table(columns_of(TransferRow), [a_transfer(), broken]),
    }

    with pytest.raises(duckdb.ConstraintException):
        writer.commit(tables, {3: 1}, AT)

    assert rows_of(database, "bank_events", EventRow) == []
    assert rows_of(database, "transfers", TransferRow) == []
    assert committed_offsets(database) == {}
    writer.commit(row_tables({EventRow: [an_event()]}), {3: 1}, AT)
    assert rows_of(database, "bank_events", EventRow) == [an_event()]


def test_given_a_log_that_another_service_may_own_when_committed_then_nothing_is_there_until_it_is_ours_again(
    database: duckdb.DuckDBPyConnection,
) -> None:
    owns, rows = [False], row_tables({EventRow: [an_event()]})

    def require_owner() -> None:
        if not owns[0]:
            raise NotOwnerError

    writer = BatchWriter(database, require_owner=require_owner)
    with pytest.raises(NotOwnerError):
        writer.commit(rows, {3: 1}, AT)
    assert rows_of(database, "bank_events", EventRow) == []
    assert committed_offsets(database) == {}

    owns[0] = True
    writer.commit(rows, {3: 1}, AT)
    assert rows_of(database, "bank_events", EventRow) == [an_event()]


def test_given_a_commit_that_duckdb_refuses_at_the_end_then_nothing_of_it_is_there_and_the_next_one_works(
    database: duckdb.DuckDBPyConnection,
) -> None:
    writer = BatchWriter(database)
    append = writer._append

    def append_while_the_table_changes(insert: str, arrow_rows: Any) -> None:
        append(insert, arrow_rows)
        database.cursor().execute("ALTER TABLE bank_events ADD COLUMN note VARCHAR")

    writer._append = append_while_the_table_changes  # type: ignore[method-assign]
    with pytest.raises(duckdb.Error):
        writer.commit(row_tables({EventRow: [an_event()]}), {}, AT)
    writer._append = append  # type: ignore[method-assign]
    database.execute("ALTER TABLE bank_events DROP COLUMN note")

    writer.commit(row_tables({EventRow: [an_event(event_id="evt_2")]}), {3: 2}, AT)

    assert rows_of(database, "bank_events", EventRow) == [an_event(event_id="evt_2")]


def test_given_a_commit_that_succeeded_and_still_raised_when_tried_again_then_it_is_there_once(
    database: duckdb.DuckDBPyConnection,
) -> None:
    class RaisesAfterCommit:
        def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
            self._real, self._failing = cursor, True

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

        def commit(self) -> None:
            self._real.commit()
            if self._failing:
                self._failing = False
                raise duckdb.IOException("the log was flushed, what came after was not")

    writer = BatchWriter(database)
    writer._cursor = RaisesAfterCommit(writer._cursor)  # type: ignore[assignment]
    with pytest.raises(duckdb.IOException):
        writer.commit(row_tables({EventRow: [an_event()]}), {3: 1, 4: 2}, AT)

    writer.commit(row_tables({EventRow: [an_event()]}), {3: 1, 4: 2}, AT)
    writer.commit(row_tables({EventRow: [an_event(offset=2)]}), {3: 2}, AT)

    assert rows_of(database, "bank_events", EventRow) == [an_event(), an_event(offset=2)]


def test_given_a_row_of_an_unknown_type_then_the_batch_is_refused_whole(database: duckdb.DuckDBPyConnection) -> None:
    class Stray(msgspec.Struct):
        id: str

    with pytest.raises(KeyError):
        BatchWriter(database).commit(row_tables({EventRow: [an_event()], Stray: [Stray("x")]}), {3: 1}, AT)

    assert committed_offsets(database) == {}


def test_given_a_closed_database_when_opened_again_then_rows_and_offsets_are_there(path: Path) -> None:
    with open_database(path) as connection:
        writer = BatchWriter(connection)
        for offset in range(1, 4):
            writer.commit(row_tables({EventRow: [an_event(offset=offset)]}), {3: offset, 4: 7}, AT)

    with open_database(path) as connection:
        assert committed_offsets(connection) == {3: 3, 4: 7}
        assert len(rows_of(connection, "bank_events", EventRow)) == 3
        assert connection.execute("SELECT count(*) FROM log_offsets").fetchone() == (2,)


def test_given_a_grown_write_ahead_log_when_folded_then_it_is_empty_and_the_rows_stay(
    database: duckdb.DuckDBPyConnection,
) -> None:
    writer = BatchWriter(database)
    writer.commit(row_tables({EventRow: [an_event(offset=offset) for offset in range(100)]}), {3: 99}, AT)

    assert not fold_wal(database)
    assert fold_wal(database, over_bytes=1_000)
    assert not fold_wal(database, over_bytes=1_000)
    assert len(rows_of(database, "bank_events", EventRow)) == 100


def test_given_versions_then_the_latest_view_shows_the_newest_of_each(database: duckdb.DuckDBPyConnection) -> None:
    versions = [a_transfer(offset=2, status="posted"), a_transfer(offset=1, status="pending")]
    other_program = a_transfer(program_id="prg_2", offset=1, status="failed")
    BatchWriter(database).commit(row_tables({TransferRow: [*versions, other_program]}), {}, AT)

    latest = database.execute("SELECT program_id, status FROM transfers_latest ORDER BY program_id").fetchall()

    assert latest == [("prg_1", "posted"), ("prg_2", "failed")]
