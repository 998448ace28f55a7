"""Opening the database file when it is not one, when an earlier version made it, and only to read."""

from pathlib import Path

import duckdb
import pytest

from features.catalogue.vector import TransferFeaturesRow
from store.duck.database import open_database, open_to_read
from store.duck.scorings import newest_of
from store.duck.writer import BatchWriter
from store.startup import StartupError
from tests.support.duck_rows import AT, some_features


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
        BatchWriter(database).commit({TransferFeaturesRow: [some_features(transfer_id="old", paths="{}")]}, {}, AT)
        for column in ("paths", "hard", "reasons", "fan_in_24h", "program_unauthorized_return_rate_60d"):
            database.execute(f"ALTER TABLE transfer_features DROP COLUMN {column}")
    new = some_features(transfer_id="new", paths="{}", hard=True, reasons="[1]")

    with open_database(path) as database:
        BatchWriter(database).commit({TransferFeaturesRow: [new]}, {}, AT)
        (old,) = newest_of(database, "old")
        assert newest_of(database, "new") == [new]

    assert (old.paths, old.hard, old.reasons, old.vector.fan_in_24h) == (None, False, "", 0)
    assert old.vector.program_unauthorized_return_rate_60d is None
    assert old.vector.amount_cents == new.vector.amount_cents


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
