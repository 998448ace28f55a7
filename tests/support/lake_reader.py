"""A reader of the lake in a process of its own, with DuckDB or with polars: it counts until it is stopped.

    python -m tests.support.lake_reader duckdb|polars LAKE TABLE…

Prints how often it counted, and the last counts; an error, or a count that is smaller than one before, ends it with 1.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread

import duckdb
import msgspec
import polars as pl

Counts = dict[str, int]


def counting_with_duckdb(lake: Path, tables: Sequence[str]) -> Callable[[], Counts]:
    """One connection to the views for good; all tables in one query."""
    connection = duckdb.connect(str(lake / "analyst.duckdb"), read_only=True, config={"threads": 1})
    counts = ", ".join(f"(SELECT count(*) FROM {table})" for table in tables)  # noqa: S608 - a test's own tables

    def count() -> Counts:
        row = connection.execute(f"SELECT {counts}").fetchall()[0]
        return dict(zip(tables, row, strict=True))

    return count


def counting_with_polars(lake: Path, tables: Sequence[str]) -> Callable[[], Counts]:
    def count() -> Counts:
        return {table: table_of(lake, table).select(pl.len()).collect().item() for table in tables}

    return count


def table_of(lake: Path, table: str) -> pl.LazyFrame:
    """The table as it counts now, as docs/lake.md shows it."""
    now = time.time_ns() // 1_000
    files = [
        part["file"]
        for part in json.loads((lake / "parts.json").read_text())["parts"]
        if part["table_name"] == table
        and part["counts_from"] <= now
        and (part["counts_until"] is None or now < part["counts_until"])
    ]
    schema = f"tables/{table}/day=1970-01-01/schema.parquet"
    return pl.scan_parquet([lake / file for file in (schema, *files)], missing_columns="insert")


READERS = {"duckdb": counting_with_duckdb, "polars": counting_with_polars}


def main(reader: str, lake: Path, tables: Sequence[str]) -> int:
    stopped = Event()
    Thread(target=_wait_for_end, args=(stopped,), daemon=True).start()
    count, turns, last = READERS[reader](lake, tables), 0, dict.fromkeys(tables, 0)
    while not stopped.wait(0.02):
        counts = count()
        if any(counts[table] < last[table] for table in tables):
            print(f"{reader}: after {last} came {counts}", file=sys.stderr)
            return 1
        turns, last = turns + 1, counts
    print(msgspec.json.encode({"turns": turns, "counts": count()}).decode())
    return 0


def _wait_for_end(stopped: Event) -> None:
    sys.stdin.read()
    stopped.set()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
