"""Answers in memory are those of the tables: each is asked for once, until a table that it reads is written."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import msgspec
import pytest

from clearhold.features.core.rows.events import WebhookDeliveryRow
from clearhold.store.duck import answers as module
from clearhold.store.duck.answers import Answers, answers_of
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.duck.turns import each_after
from clearhold.store.duck.webhooks import WebhookDeliveries
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_transfer, an_alert, an_event

TRANSFERS = "SELECT id FROM transfers_latest WHERE tenant_id = ? ORDER BY id"
ALERTS = 'SELECT id, max("offset") FROM alerts WHERE tenant_id = ? GROUP BY id ORDER BY id'
BOTH = "SELECT count(*) FROM (SELECT id FROM alerts UNION ALL SELECT id FROM transfers) WHERE id <> $but"
OF_ONE = """
    SELECT id, "offset" FROM transfers WHERE program_id = ?
    UNION ALL SELECT id, "offset" FROM alerts WHERE program_id = ? ORDER BY ALL"""
PROGRAMS = (PROGRAM, "prg_2")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_database(tmp_path / "clearhold.duckdb") as connection:
        yield connection


class Reading(CommittedRows):
    """Counts the statements that reached the database."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        super().__init__(database)
        self.statements = 0

    def rows(self, sql: str, values: Any = (TENANT,), programs: list[str] | None = None) -> list[Any]:
        """As a thread reads for an answer."""
        with each_after(self._count):
            return self._read(sql, values, programs)

    def _count(self) -> None:
        self.statements += 1


def commit(database: duckdb.DuckDBPyConnection, row: msgspec.Struct) -> None:
    BatchWriter(database).commit(row_tables({type(row): [row]}), {}, AT)


def test_given_a_statement_asked_again_then_the_database_is_asked_when_its_table_was_written(
    database: duckdb.DuckDBPyConnection,
) -> None:
    reading = Reading(database)
    commit(database, a_transfer(offset=1, id="acht_1"))
    assert [reading.rows(TRANSFERS) for _ in range(3)] == [[("acht_1",)]] * 3
    assert reading.statements == 1
    commit(database, an_event(offset=2))
    assert reading.rows(TRANSFERS) == [("acht_1",)]
    assert reading.statements == 1, "no table of the statement was written"
    commit(database, a_transfer(offset=3, id="acht_3"))
    assert reading.rows(TRANSFERS) == [("acht_1",), ("acht_3",)]
    assert reading.rows(TRANSFERS, ["another tenant"]) == []
    assert reading.statements == 3


def test_given_a_commit_while_a_statement_is_read_then_it_is_not_missed(database: duckdb.DuckDBPyConnection) -> None:
    answers, asked = Answers(), list[int]()

    def ask() -> list[Any]:
        asked.append(1)
        rows = database.cursor().execute(ALERTS, [TENANT]).fetchall()
        if len(asked) == 1:
            commit(database, an_alert(offset=1, id="alert_1"))
        return rows

    assert answers.read(ALERTS, [TENANT], ask) == []
    assert answers.read(ALERTS, [TENANT], ask) == [("alert_1", 1)]
    assert answers.read(ALERTS, [TENANT], ask) == [("alert_1", 1)]
    assert len(asked) == 2


def test_given_a_commit_that_failed_in_its_last_step_then_its_tables_are_read_again(
    database: duckdb.DuckDBPyConnection,
) -> None:
    class Failing:
        """Commits, and loses the answer."""

        def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
            self._cursor = cursor

        def commit(self) -> None:
            self._cursor.commit()
            raise duckdb.IOException("lost")

        def __getattr__(self, name: str) -> Any:
            return getattr(self._cursor, name)

    reading, writer = Reading(database), BatchWriter(database)
    assert reading.rows(TRANSFERS) == []
    writer._cursor = Failing(writer._cursor)  # type: ignore[assignment]
    with pytest.raises(duckdb.IOException):
        writer.commit(row_tables({type(row): [row] for row in [a_transfer(offset=1, id="acht_1")]}), {0: 1}, AT)
    assert reading.rows(TRANSFERS) == [("acht_1",)]


def test_given_a_thread_that_reads_for_no_answer_then_it_always_asks(database: duckdb.DuckDBPyConnection) -> None:
    reading = Reading(database)
    count = "SELECT count(*) FROM transfers"
    commit(database, a_transfer(offset=1, id="acht_1"))
    assert reading.rows(count, []) == [(1,)]
    database.execute("INSERT INTO transfers SELECT * FROM transfers")  # no commit of the service
    assert (reading.rows(count, []), reading._value(count, [])) == ([(1,)], 2)
    assert answers_of(database).size > 0


def test_given_the_first_row_of_a_statement_then_all_of_its_rows_are_another_answer(
    database: duckdb.DuckDBPyConnection,
) -> None:
    reading = Reading(database)
    for number in (1, 2):
        commit(database, a_transfer(offset=number, id=f"acht_{number}"))
    for _ in range(2):
        with each_after(lambda: None):
            assert reading._first(TRANSFERS, [TENANT]) == ("acht_1",)
        assert reading.rows(TRANSFERS, [TENANT]) == [("acht_1",), ("acht_2",)]


def test_given_a_delivery_that_is_deleted_then_no_answer_has_it(database: duckdb.DuckDBPyConnection) -> None:
    table = WebhookDeliveries(database)
    commit(
        database,
        WebhookDeliveryRow(
            tenant_id=TENANT,
            program_id=TENANT,
            id="01890a5d-ac96-774b-bcce-b302099a8057",
            endpoint_id="01890a5d-ac96-774b-bcce-b302099a8058",
            event="ping",
            event_id="1",
            body="{}",
            created_at=AT,
        ),
    )
    with each_after(lambda: None):
        assert len(table.list_newest(TENANT, "01890a5d-ac96-774b-bcce-b302099a8058", 9)) == 1
        table.forget_of(["01890a5d-ac96-774b-bcce-b302099a8058"], AT + 1)
        assert table.list_newest(TENANT, "01890a5d-ac96-774b-bcce-b302099a8058", 9) == []


def test_given_a_caller_that_changes_its_rows_then_the_next_one_has_them_whole(
    database: duckdb.DuckDBPyConnection,
) -> None:
    reading = Reading(database)
    commit(database, a_transfer(offset=1, id="acht_1"))
    for _ in range(3):
        rows = reading.rows(TRANSFERS)
        assert rows == [("acht_1",)]
        rows.clear()
    assert reading.statements == 1


def test_given_many_answers_then_the_least_used_leave_and_a_large_one_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_OF_ONE", 5_000)
    answers, asked = Answers(most_bytes=20_000), list[str]()

    def read(key: str, rows: list[Any]) -> None:
        def ask() -> list[Any]:
            asked.append(key)
            return rows

        answers.read(ALERTS, [key], ask)

    for at in range(100):
        read(str(at), [("x" * 1_000,)])
        read("0", [("x" * 1_000,)])
        assert answers.size <= 20_000
    assert asked.count("0") == 1, "it is used all the time"
    read("5", [("x" * 1_000,)])
    assert asked.count("5") == 2
    for _ in range(2):
        read("large", [("x" * 6_000,)])
    assert asked.count("large") == 2


def test_given_rows_of_another_program_then_a_statement_of_one_is_not_read_again(
    database: duckdb.DuckDBPyConnection,
) -> None:
    reading, sql = Reading(database), "SELECT id FROM transfers WHERE program_id = ? ORDER BY id"
    commit(database, a_transfer(offset=1, id="acht_1"))

    def of_one(program: str) -> list[Any]:
        return reading.rows(sql, [program], [program])

    assert (of_one(PROGRAM), of_one("prg_2")) == ([("acht_1",)], [])
    commit(database, a_transfer(offset=2, id="acht_2", program_id="prg_2"))
    assert (of_one(PROGRAM), of_one("prg_2")) == ([("acht_1",)], [("acht_2",)])
    assert reading.statements == 3, "the first program has no new row"
    commit(database, a_transfer(offset=3, id="acht_3"))
    assert of_one(PROGRAM) == [("acht_1",), ("acht_3",)]
    with each_after(lambda: None):
        reading._delete("DELETE FROM transfers WHERE id = ?", ["acht_1"])
    assert (of_one(PROGRAM), of_one("prg_2")) == ([("acht_3",)], [("acht_2",)])


@pytest.mark.parametrize("seed", range(5))
def test_given_commits_and_reads_in_any_order_then_each_answer_is_that_of_the_tables(
    seed: int, database: duckdb.DuckDBPyConnection
) -> None:
    chance, reading, offset = Random(seed), Reading(database), 0
    statements: list[tuple[str, Any, list[str] | None]] = [
        *((sql, [TENANT], None) for sql in (TRANSFERS, ALERTS)),
        (BOTH, {"but": "id_3"}, None),
        *((OF_ONE, [program, program], [program]) for program in PROGRAMS),
    ]
    for _ in range(60):
        if chance.random() < 0.3:
            offset += 1
            own = {"offset": offset, "program_id": chance.choice(PROGRAMS)}
            name = f"id_{chance.randrange(4)}"
            made = (a_transfer(id=name, **own), an_alert(id=name, **own), an_event(**own))
            commit(database, chance.choice(made))
        sql, values, programs = chance.choice(statements)
        assert reading.rows(sql, values, programs) == database.execute(sql, values).fetchall()
    assert reading.statements < 60
