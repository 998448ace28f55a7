"""Parts and their list: what counts at which instant, over copies, merges, crashes and a disk that is full."""

from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.store.analysts.control_rows import TenantRow
from clearhold.store.analysts.parts import FAN_IN, read_parts, write_parts
from clearhold.store.analysts.tables import LEFT_OUT, WRITTEN_FREELY, lake_tables
from clearhold.store.analysts.views import ANALYST_FILE
from clearhold.store.analysts.writer import KEPT_US, LEAD_US, LakeWriter
from clearhold.store.duck.database import TABLES, open_database
from clearhold.store.durable_files import UNFINISHED
from clearhold.store.ids import new_id
from tests.support.clock import FrozenClock
from tests.support.labelled_days import TABLE, LabelledDays

STORAGE_OF_1_2 = 65  # the version that DuckDB 1.2 reads, and every later one


@pytest.fixture
def days(tmp_path: Path, database: duckdb.DuckDBPyConnection, clock: FrozenClock) -> LabelledDays:
    return LabelledDays(tmp_path, database, clock)


def merge_all(days: LabelledDays) -> int:
    merges = 0
    while days.writer.merge():
        merges += 1
        days.clock.advance(LEAD_US)
    return merges


def test_given_rows_of_two_days_when_they_are_copied_then_each_day_has_its_part_and_views_have_what_tables_have(
    days: LabelledDays,
) -> None:
    days.label(3, days_ago=1)
    days.label(2)

    assert days.copy() == 5

    assert [(part.day, part.rows) for part in days.parts()] == [("2026-03-01", 3), ("2026-03-02", 2)]
    assert days.ids() == days.all_ids()
    query = "SELECT * EXCLUDE (day) FROM {} ORDER BY id"
    assert (
        days.view(query.format(TABLE))
        == days.database.execute(query.format("labels").replace("EXCLUDE (day)", "")).fetchall()
    )
    assert days.view("SELECT day, count(*) FROM labels GROUP BY day ORDER BY day")[0][1] == 3


@pytest.mark.parametrize("columns", ["*", "id, label, created_at, day", "id"])
def test_given_several_parts_when_the_newest_versions_are_read_then_every_thing_is_there_whatever_columns_are_named(
    days: LabelledDays, columns: str
) -> None:
    for _ in range(3):
        days.label(100)
        days.copy()
    newest = 'QUALIFY row_number() OVER (PARTITION BY transfer_id ORDER BY "offset" DESC) = 1'

    for rows in (f"{columns} FROM labels", f"{columns} FROM label_versions WHERE label = 'bad' {newest}"):
        assert len(days.view(f"SELECT {rows}")) == 300


def test_given_a_list_when_more_is_copied_then_it_counts_only_a_moment_later(days: LabelledDays) -> None:
    days.label(1)
    days.copy()
    days.label(1)

    days.copy(until_it_counts=False)

    assert len(days.ids()) == 1
    days.clock.advance(LEAD_US)
    assert len(days.ids()) == 2
    assert days.copy() == 0


def test_given_many_small_parts_when_they_are_merged_then_every_instant_has_each_row_once(days: LabelledDays) -> None:
    for _ in range(FAN_IN):
        days.label(2)
        days.copy()
    before = days.parts()

    assert days.writer.merge()

    assert [part.file for part in days.parts()] == [part.file for part in before]  # until the merged one counts
    days.clock.advance(LEAD_US - 1)
    assert days.ids() == days.all_ids()
    days.clock.advance(1)
    assert [(part.rows, part.merges) for part in days.parts()] == [(2 * FAN_IN, 1)]
    assert days.ids() == days.all_ids()
    assert days.ids(before) == days.all_ids()  # of who listed them before
    assert [row for (row,) in days.view("SELECT id FROM label_versions ORDER BY id")] == days.all_ids()
    assert not days.writer.merge()


def test_given_replaced_parts_when_an_hour_is_over_then_their_files_go_and_not_before(days: LabelledDays) -> None:
    for _ in range(FAN_IN):
        days.label(1)
        days.copy()
    merge_all(days)

    days.clock.advance(KEPT_US - SECOND_US)
    assert days.writer.remove_replaced() == 0
    days.clock.advance(SECOND_US)
    assert days.writer.remove_replaced() == FAN_IN

    listed = {part.file for part in days.writer.parts.parts}
    assert {str(path.relative_to(days.lake)) for path in days.lake.glob(f"tables/{TABLE}/*/0*")} == listed
    assert days.ids() == days.all_ids()


def test_given_a_day_that_is_over_when_it_is_quiet_then_its_parts_become_one(days: LabelledDays) -> None:
    for _ in range(FAN_IN - 2):
        days.label(1)
        days.copy()
    assert merge_all(days) == 0

    days.clock.advance(DAY_US)
    days.label(1, days_ago=1)
    days.copy()
    assert merge_all(days) == 0  # something came just now
    days.clock.advance(HOUR_US)

    assert merge_all(days) == 1
    assert [part.rows for part in days.parts()] == [FAN_IN - 1]
    assert days.ids() == days.all_ids()


def test_given_files_that_the_list_does_not_name_when_the_service_starts_again_then_they_are_gone_and_no_row_is_twice(
    days: LabelledDays,
) -> None:
    days.label(2)
    days.copy()
    listed = (days.lake / "parts.json").read_bytes()
    days.label(2)
    days.copy()
    (days.lake / "parts.json").write_bytes(listed)  # as if the power had gone before the second list
    unfinished = days.lake / "tables" / TABLE / "day=2026-03-02" / f"000000000009.parquet{UNFINISHED}"
    unfinished.write_bytes(b"half")

    days.writer = days.opened()

    assert not unfinished.exists()
    assert len(list(days.lake.glob(f"tables/{TABLE}/*/0*"))) == 1
    assert days.copy() == 2
    assert days.ids() == days.all_ids()


def test_given_a_full_disk_when_rows_are_copied_then_readers_have_what_was_there_and_later_all(
    days: LabelledDays,
) -> None:
    days.label(2)
    days.copy()
    days.label(2)
    number = days.writer.parts.next_number
    full = days.lake / "tables" / TABLE / "day=2026-03-02" / f"{number:012d}.parquet{UNFINISHED}"
    full.symlink_to("/dev/full")

    with pytest.raises((OSError, duckdb.Error), match="No space left"):
        days.copy()

    assert days.ids() == days.all_ids()[:2]
    assert days.copy() == 2  # the file that could not be written is gone
    assert days.ids() == days.all_ids()
    assert [row for (row,) in days.view("SELECT id FROM label_versions ORDER BY id")] == days.all_ids()


def test_given_a_database_that_was_made_again_when_the_service_starts_then_the_lake_changes_over_at_one_instant(
    days: LabelledDays, tmp_path: Path, clock: FrozenClock
) -> None:
    days.label(3)
    days.copy()
    former = days.parts()

    with open_database(tmp_path / "rebuilt.duckdb") as rebuilt:
        days.database, days.labels = rebuilt, 0
        days.writer = days.opened()
        days.label(4)
        assert days.copy(until_it_counts=False) == 4

        assert days.parts() == [replace(part, counts_until=clock.now() + LEAD_US) for part in former]
        clock.advance(LEAD_US)
        assert days.ids() == days.all_ids()


def test_given_an_older_database_put_back_when_the_service_starts_then_the_lake_has_its_rows_and_no_others(
    days: LabelledDays,
) -> None:
    days.label(3)
    days.copy()
    days.database.execute("DELETE FROM labels WHERE id = 'label-00002'")
    days.labels = 2

    days.writer = days.opened()

    assert days.copy() == 2
    assert days.ids() == days.all_ids()


@pytest.mark.parametrize("lost", ["gone", "cut short"])
def test_given_a_part_that_is_gone_or_cut_short_when_the_service_starts_then_its_table_is_copied_again(
    days: LabelledDays, lost: str
) -> None:
    days.label(2)
    days.copy()
    days.label(2)
    days.copy()
    (first, _) = days.parts()
    if lost == "gone":
        (days.lake / first.file).unlink()
    else:
        (days.lake / first.file).write_bytes(b"PAR1")

    days.writer = days.opened()

    assert days.copy() == 4
    assert days.ids() == days.all_ids()


def test_given_a_clock_that_stepped_back_when_more_is_copied_then_every_row_counts_a_moment_later(
    days: LabelledDays,
) -> None:
    for _ in range(FAN_IN):
        days.label(1)
        days.copy()
    days.clock.advance(HOUR_US)
    assert days.writer.merge()
    days.clock.advance(-2 * HOUR_US)
    days.label(1)

    days.copy()

    assert days.ids() == days.all_ids()
    assert len(days.parts()) == 2


@pytest.mark.parametrize(
    ("definition", "copied"),
    [("reason VARCHAR", 3), ("reason masked 00000000 VARCHAR NOT NULL", 3), ("no_more VARCHAR", 3), (None, 0)],
)
def test_given_a_table_whose_columns_changed_when_the_service_starts_then_it_is_copied_again_unless_some_were_added(
    days: LabelledDays, definition: str | None, copied: int
) -> None:
    days.label(3)
    days.copy()
    columns = days.writer.parts.columns[TABLE]
    before = tuple(definition or each if each.startswith("reason ") else each for each in columns)
    write_parts(days.lake, replace(days.writer.parts, columns={**days.writer.parts.columns, TABLE: before}))

    days.writer = days.opened()

    assert days.copy() == copied
    assert days.ids() == days.all_ids()


def test_given_a_lake_that_was_moved_when_the_service_starts_there_then_the_views_have_the_new_paths(
    days: LabelledDays, tmp_path: Path
) -> None:
    days.label(2)
    days.copy()
    moved = tmp_path / "it's [moved]*"
    moved.mkdir()
    days.lake = days.lake.rename(moved / "lake")

    days.writer = days.opened()
    days.copy()

    assert days.view("SELECT count(*) FROM labels") == [(2,)]


def test_given_a_damaged_list_when_the_service_starts_then_all_is_copied_again(days: LabelledDays) -> None:
    days.label(2)
    days.copy()
    (days.lake / "parts.json").write_bytes(b'{"version":1,')

    days.writer = days.opened()

    assert days.copy() == 2
    assert days.ids() == days.all_ids()
    assert read_parts(days.lake) == days.writer.parts


def test_given_what_tenants_set_up_when_it_changes_then_its_table_is_written_whole_and_else_left_alone(
    days: LabelledDays, clock: FrozenClock
) -> None:
    tenants = [TenantRow("t", "first", "First", 1)]
    writer = LakeWriter(
        days.lake, days.database, clock=clock, new_id=new_id, control=lambda: {"tenants": tuple(tenants)}
    )

    assert (writer.copy(), writer.copy()) == (1, 0)
    tenants.append(TenantRow("u", "second", "Second", 2))
    assert writer.copy() == 2

    clock.advance(LEAD_US)
    assert [part.rows for part in writer.parts.counting_at(clock.now())] == [2]
    assert days.view("SELECT slug FROM tenants ORDER BY slug") == [("first",), ("second",)]


def test_given_the_views_then_each_has_a_meaning_and_so_has_every_column(days: LabelledDays) -> None:
    days.copy()

    assert days.view("SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment = ''") == []
    assert (
        days.view("SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL") == []
    )
    assert len(days.view("SELECT 1 FROM duckdb_columns() WHERE NOT internal")) > 400


def test_given_the_views_then_every_one_can_be_read_and_their_file_is_of_an_older_format_and_nobody_writes_to_it(
    days: LabelledDays,
) -> None:
    days.copy()
    content = (days.lake / ANALYST_FILE).read_bytes()

    assert int.from_bytes(content[12:20], "little") == STORAGE_OF_1_2
    assert (days.lake / ANALYST_FILE).stat().st_mode & 0o222 == 0
    for (view,) in days.view("SELECT view_name FROM duckdb_views() WHERE NOT internal"):
        assert days.view(f'SELECT count(*) FROM "{view}"') == [(0,)]  # noqa: S608 - a name of our own


def test_given_the_tables_of_the_database_then_each_is_in_the_lake_or_left_out_for_a_reason() -> None:
    copied = {table.source for table in lake_tables()}

    assert copied | set(LEFT_OUT) == {name for name, _ in TABLES}
    assert not copied & set(LEFT_OUT)
    assert "body" not in {
        column.name for table in lake_tables() for column in table.columns if table.name == "preflights"
    }


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Acme 000123456789, DE89370400440532013000", "Acme ****6789, ****3000"),
        ("order 12345678 of 2026", "order 12345678 of 2026"),
        (None, None),
    ],
)
def test_given_an_account_number_in_what_somebody_wrote_then_the_lake_has_its_last_four_digits(
    written: str | None, kept: str | None
) -> None:
    columns = {(table.source, column.name): column for table in lake_tables() for column in table.columns}

    for place in WRITTEN_FREELY:
        expression, name = columns[place].expression, columns[place].name
        found = duckdb.execute(f'SELECT {expression} FROM (SELECT CAST(? AS VARCHAR) AS "{name}")', [written])  # noqa: S608
        assert found.fetchall() == [(kept,)], place
