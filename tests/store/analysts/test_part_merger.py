"""Parts that are merged have the rows they had, in their order and in the same types, and a merge can be ended."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import duckdb
import pyarrow.parquet as pq
import pytest

from clearhold.store.analysts.tables import ROWS_PER_GROUP, LakeTable, PartMerger, lake_tables, write_part

# ruff: noqa: S608 - statements are put together from the names of our own tables
PARTS: Final = 3
ROWS: Final = 40
LABELS: Final = next(table for table in lake_tables() if table.name == "label_versions")

# Values of each type, every third of them none: the ends of the range, and what a format may take for something else.
VALUES: Final = {
    "BIGINT": "[0, -9223372036854775808, 9223372036854775807, i]",
    "BOOLEAN": "[true, false, i % 5 = 0, true]",
    "DOUBLE": "['nan'::DOUBLE, '-inf'::DOUBLE, -0.0::DOUBLE, i / 3]",
    "TIMESTAMP": "[make_timestamp(0), make_timestamp(-1), make_timestamp(1772463600123456), make_timestamp(i)]",
    "VARCHAR": "['', 'é€𝄞', chr(10) || 'NULL' || '\"', 'v' || i]",
}


def the_parts(folder: Path, table: LakeTable, *, rows: int = ROWS, parts: int = PARTS) -> list[Path]:
    """Files as copying leaves them."""
    paths = [folder / f"{number}.parquet" for number in range(parts)]
    columns = ", ".join(
        f'CASE WHEN (i + {at}) % 3 > 0 THEN ({VALUES[column.sql_type]})[(i + {at}) % 4 + 1] END AS "{column.name}"'
        for at, column in enumerate(table.columns)
    )
    with duckdb.connect() as database:
        for number, path in enumerate(paths):
            write_part(database, f"SELECT {columns} FROM range({number * rows}, {(number + 1) * rows}) AS r(i)", path)
    return paths


def read(*paths: Path) -> list[tuple[object, ...]]:
    """The rows as text, where NaN is equal to NaN; and the types of the columns."""
    with duckdb.connect() as database:
        query = "FROM read_parquet(?, hive_partitioning=false)"
        files = [list(map(str, paths))]
        types = database.execute(f"SELECT column_name, column_type FROM (DESCRIBE {query})", files).fetchall()
        return types + database.execute(f"SELECT COLUMNS(*)::VARCHAR {query}", files).fetchall()


@pytest.mark.parametrize("table", lake_tables(), ids=lambda table: table.name)
def test_given_parts_of_a_table_when_merged_then_its_rows_are_those_of_the_parts_in_order_and_type(
    tmp_path: Path, table: LakeTable
) -> None:
    parts = the_parts(tmp_path, table)
    merged = tmp_path / "merged.parquet"

    rows = PartMerger().merge(parts, table.columns, merged)

    assert rows == PARTS * ROWS
    assert read(merged) == read(*parts)


def test_given_a_part_without_a_column_when_merged_then_its_rows_have_none_there_and_a_column_that_went_is_gone(
    tmp_path: Path,
) -> None:
    *before, last = LABELS.columns
    older = LABELS._replace(columns=(*before, last._replace(name="no_more")))
    (first,) = the_parts(tmp_path, older, parts=1)
    second = the_parts(tmp_path / "newer", LABELS, parts=1)
    merged = tmp_path / "merged.parquet"

    PartMerger().merge([first, *second], LABELS.columns, merged)

    names, rows = read(merged)[: len(LABELS.columns)], read(merged)[len(LABELS.columns) :]
    assert [name for name, _ in names] == [column.name for column in LABELS.columns]
    assert [row[-1] for row in rows[:ROWS]] == [None] * ROWS
    assert rows[ROWS:] == read(*second)[len(LABELS.columns) :]


def test_given_large_parts_when_merged_then_readers_can_pass_over_row_groups_by_their_least_and_greatest(
    tmp_path: Path,
) -> None:
    merged = tmp_path / "merged.parquet"

    PartMerger().merge(the_parts(tmp_path, LABELS, rows=30_000), LABELS.columns, merged)

    metadata = pq.read_metadata(merged)
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [ROWS_PER_GROUP, 90_000 - ROWS_PER_GROUP]
    statistics = [group.column(at).statistics for group in groups for at in range(group.num_columns)]
    assert all(each is not None and each.has_min_max for each in statistics)


def test_given_a_merge_that_is_interrupted_then_it_ends_and_nothing_is_left_of_its_file(tmp_path: Path) -> None:
    parts = the_parts(tmp_path / "parts", LABELS)
    merger = PartMerger()
    merger.interrupt()

    with pytest.raises(InterruptedError):
        merger.merge(parts, LABELS.columns, tmp_path / "merged" / "1.parquet")

    assert not list((tmp_path / "merged").iterdir())


def test_given_a_part_that_cannot_be_read_when_merged_then_it_is_an_error_of_the_disk_and_nothing_is_left(
    tmp_path: Path,
) -> None:
    parts = the_parts(tmp_path / "parts", LABELS)
    parts[1].write_bytes(parts[1].read_bytes()[:100])

    with pytest.raises(OSError, match="cannot be merged"):
        PartMerger().merge(parts, LABELS.columns, tmp_path / "merged" / "1.parquet")

    assert not list((tmp_path / "merged").iterdir())


def test_given_a_service_then_polars_is_loaded_by_its_first_merge_and_computes_on_one_thread_of_that_priority(
    tmp_path: Path,
) -> None:
    the_parts(tmp_path, LABELS)
    program = f"""
import os, sys
from pathlib import Path
import clearhold.api.app
from clearhold.store.analysts.tables import PartMerger
from tests.store.analysts.test_part_merger import LABELS
assert "polars" not in sys.modules
before = set(os.listdir("/proc/self/task"))
os.nice(7)  # of this thread and those that it begins
PartMerger().merge([Path({str(tmp_path)!r}, "0.parquet")], LABELS.columns, Path({str(tmp_path)!r}, "merged.parquet"))
began = set(os.listdir("/proc/self/task")) - before
assert began and all(os.getpriority(os.PRIO_PROCESS, int(each)) == 7 for each in began), began
assert sys.modules["polars"].thread_pool_size() == 1
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
