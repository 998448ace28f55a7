"""Opening the database file when it is not one, when an earlier version made it, and only to read."""

from pathlib import Path
from shutil import copy

import duckdb
import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.store.duck.database import BatchWriter, open_database, open_to_read
from clearhold.store.duck.scorings.backfills import newest_of
from clearhold.store.errors import StartupError
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, some_features

_COLUMNS_OF_FEATURES = "SELECT column_name FROM duckdb_columns() WHERE table_name = 'transfer_features'"


def test_given_a_file_that_is_no_database_when_opened_then_the_operator_is_told_which_file(tmp_path: Path) -> None:
    path = tmp_path / "clearhold.duckdb"
    path.write_bytes(b"not a database")

    with pytest.raises(StartupError, match=r"clearhold\.duckdb cannot be opened: .*not a valid DuckDB"):
        open_database(path)


def test_given_tables_that_an_earlier_version_made_when_opened_then_they_have_the_columns_that_came_since(
    tmp_path: Path,
) -> None:
    path = tmp_path / "clearhold.duckdb"
    with open_database(path) as database:
        BatchWriter(database).commit(
            row_tables({TransferFeaturesRow: [some_features(transfer_id="old", paths="{}")]}), {}, AT
        )
        for column in ("paths", "hard", "reasons", "fan_in_count_24h", "program_unauthorized_return_rate_60d"):
            database.execute(f"ALTER TABLE transfer_features DROP COLUMN {column}")
    new = some_features(transfer_id="new", paths="{}", hard=True, reasons="[1]")

    with open_database(path) as database:
        BatchWriter(database).commit(row_tables({TransferFeaturesRow: [new]}), {}, AT)
        (old,) = newest_of(database, "old")
        assert newest_of(database, "new") == [new]

    assert (old.paths, old.hard, old.reasons, old.vector.fan_in_count_24h) == (None, False, "", 0)
    assert old.vector.program_unauthorized_return_rate_60d is None
    assert old.vector.amount_cents == new.vector.amount_cents


def test_given_a_table_that_got_a_column_when_the_process_ends_before_its_next_commit_then_it_can_be_opened_again(
    tmp_path: Path,
) -> None:
    path, left = tmp_path / "clearhold.duckdb", tmp_path / "left.duckdb"
    with open_database(path) as database:
        database.execute("ALTER TABLE labels DROP COLUMN created_at")
        database.execute("CHECKPOINT")

    with open_database(path):
        copy(path, left)
        if (log := Path(f"{path}.wal")).exists():
            copy(log, f"{left}.wal")

    with open_database(left) as database:
        assert database.execute("SELECT created_at FROM labels").fetchall() == []


def test_given_a_view_over_a_table_that_got_a_column_when_opened_then_the_view_has_it_too(tmp_path: Path) -> None:
    path = tmp_path / "clearhold.duckdb"
    with open_database(path) as database:
        database.execute("DROP VIEW transfers_latest; ALTER TABLE transfers DROP COLUMN card_decision_reason")

    with open_database(path) as database:
        assert database.execute("SELECT card_decision_reason FROM transfers_latest").fetchall() == []


def test_given_a_database_when_opened_to_read_then_it_can_be_read_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "clearhold.duckdb"
    open_database(path).close()

    with open_to_read(path) as database:
        assert database.execute("SELECT count(*) FROM transfers").fetchall() == [(0,)]
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            database.execute("DELETE FROM transfers")
    with pytest.raises(StartupError, match="There is no database"):
        open_to_read(tmp_path / "nothing.duckdb")
