"""An empty database in a file of its own."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from clearhold.store.duck.database import open_database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_database(tmp_path / "clearhold.duckdb") as connection:
        yield connection
