"""What docs/lake.md shows, run as it stands: SQL on the views, the polars function, DuckDB over the list of files."""

import re
from pathlib import Path
from typing import Any, Final

import duckdb

from tests.support.clock import FrozenClock
from tests.support.labelled_days import TABLE, LabelledDays

PAGE: Final = Path("docs/lake.md")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_given_the_page_on_the_lake_when_its_blocks_are_run_then_they_read_what_was_copied(
    tmp_path: Path, database: duckdb.DuckDBPyConnection, clock: FrozenClock
) -> None:
    days = LabelledDays(tmp_path, database, clock)
    days.label(3, days_ago=1)
    days.copy()
    days.label(2)
    days.copy()
    views, own = blocks("sql")
    (python,) = blocks("python")
    names: dict[str, Any] = {}

    with duckdb.connect(str(days.lake / "analyst.duckdb"), read_only=True) as connection:
        status = connection.execute(views).fetchall()
    exec(python, names)  # noqa: S102 - the page's own example
    with duckdb.connect() as connection:
        statements = own.replace("DIR", str(tmp_path)).replace("transfer_versions", TABLE)
        count = connection.execute(statements).fetchall()

    assert [(row[0], row[1], row[2]) for row in status] == [(TABLE, 2, 5)]
    assert sorted(names["table"](days.lake, TABLE).collect()["id"].to_list()) == days.all_ids()
    assert count == [(5,)]
