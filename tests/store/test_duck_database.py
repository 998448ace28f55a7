"""Opening the database file when it is not one."""

from pathlib import Path

import pytest

from store.duck.database import open_database
from store.startup import StartupError


def test_given_a_file_that_is_no_database_when_opened_then_the_operator_is_told_which_file(tmp_path: Path) -> None:
    path = tmp_path / "clearhold.duckdb"
    path.write_bytes(b"not a database")

    with pytest.raises(StartupError, match=r"clearhold\.duckdb cannot be opened: .*not a valid DuckDB"):
        open_database(path)
