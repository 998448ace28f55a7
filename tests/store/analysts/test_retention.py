"""Retention by table: whole days end in the list, rows of the database never, and so after copies, crashes and wrong
clocks too.
"""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import duckdb
import pytest
from msgspec.structs import replace

from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.features.policy.seeds import FLOORS
from clearhold.store.analysts.control_rows import control_tables
from clearhold.store.analysts.parts import FILE, end_of_day, read_parts, write_parts
from clearhold.store.analysts.session import TableStatus, lake_status
from clearhold.store.analysts.tables import lake_tables
from clearhold.store.analysts.writer import KEPT_US, LEAD_US
from clearhold.store.duck.database import open_database
from tests.support.clock import FrozenClock
from tests.support.labelled_days import TABLE, LabelledDays
from tests.support.retention_kills import END, KILLED

REASONS = "transfer_reasons"


@pytest.fixture
def days(tmp_path: Path, database: duckdb.DuckDBPyConnection, clock: FrozenClock) -> LabelledDays:
    return LabelledDays(tmp_path, database, clock)


def rows_in_database(days: LabelledDays) -> int:
    (row,) = days.database.execute("SELECT count(*) FROM labels").fetchall()
    return int(row[0])


def files_on_disk(days: LabelledDays) -> set[str]:
    return {str(path.relative_to(days.lake)) for path in days.lake.glob(f"tables/{TABLE}/*/0*")}


def status_of(days: LabelledDays) -> TableStatus:
    status = lake_status(days.lake, days.clock.now(), late_after_s=1e9)
    assert status is not None
    return next(each for each in status.tables if each.table == TABLE)


def kept_ids(days: LabelledDays) -> list[str]:
    """The labels of days that have not ended, straight from the database."""
    ended = days.writer.parts.ended.get(TABLE)
    rows = days.database.execute('SELECT id, ("offset" >> 20) * 1000 FROM labels ORDER BY id').fetchall()
    return [
        each
        for each, at in rows
        if ended is None or datetime.fromtimestamp(at / SECOND_US, UTC).date().isoformat() > ended.through
    ]


def test_given_a_day_that_is_over_when_the_policy_is_applied_then_its_part_ends_and_its_file_goes_an_hour_later(
    days: LabelledDays,
) -> None:
    days.label(3, days_ago=8)
    days.label(2, days_ago=6)
    days.copy()
    days.kept_days = {TABLE: 7}
    before = files_on_disk(days)

    assert days.writer.apply_retention()
    assert len(days.ids()) == 5  # until it counts
    days.clock.advance(LEAD_US)

    assert days.ids() == ["label-00003", "label-00004"]
    assert files_on_disk(days) == before
    assert (status_of(days).ended_rows, status_of(days).ended_through) == (3, "2026-02-22")
    assert status_of(days).unremoved_bytes == status_of(days).ended_bytes > 0
    days.clock.advance(KEPT_US - SECOND_US)
    days.writer.remove_replaced()
    assert files_on_disk(days) == before
    days.clock.advance(SECOND_US)
    assert days.writer.remove_replaced() == 1
    assert len(files_on_disk(days)) == 1
    assert (status_of(days).unremoved_bytes, status_of(days).ended_rows, status_of(days).rows) == (0, 3, 2)
    assert rows_in_database(days) == 5
    assert not days.writer.apply_retention()


def test_given_the_last_day_kept_when_its_days_are_not_over_to_the_microsecond_then_it_stays(
    days: LabelledDays, clock: FrozenClock
) -> None:
    days.label(1)
    days.copy()
    days.kept_days = {TABLE: 7}
    clock.at = end_of_day("2026-03-02") + 7 * DAY_US - 1

    days.writer.apply_retention()
    assert days.parts()[0].counts_until is None
    assert status_of(days).due_rows == 0
    clock.advance(1)
    assert status_of(days).due_rows == 1
    days.writer.apply_retention()

    assert days.parts()[0].counts_until == clock.now() + LEAD_US
    assert status_of(days).due_rows == 0


def test_given_no_policy_or_another_table_when_it_is_applied_then_all_is_kept(days: LabelledDays) -> None:
    days.label(1, days_ago=4_000)
    days.copy()

    assert not days.writer.apply_retention()
    days.kept_days = {"events": 90}
    days.writer.apply_retention()

    assert days.ids() == days.all_ids()
    assert all(part.counts_until is None for part in days.parts())


def test_given_a_lost_lake_when_it_is_copied_again_then_days_that_are_over_are_left_out_and_counted(
    days: LabelledDays,
) -> None:
    days.kept_days = {TABLE: 7}
    days.label(3, days_ago=8)
    days.label(2)
    days.round()
    (days.lake / FILE).unlink()

    days.writer = days.opened()
    days.round()

    assert days.ids() == ["label-00003", "label-00004"]
    assert len(files_on_disk(days)) == 1
    assert (status_of(days).ended_rows, status_of(days).ended_bytes) == (3, 0)
    days.label(1, days_ago=8)  # a row of an ended day that comes late
    days.round()
    assert days.ids() == ["label-00003", "label-00004"]
    assert status_of(days).ended_rows == 4


def test_given_a_database_made_again_when_it_is_copied_by_who_knows_no_policy_then_the_one_applied_last_counts(
    days: LabelledDays, tmp_path: Path
) -> None:
    days.kept_days = {TABLE: 7}
    days.label(3, days_ago=8)
    days.round()
    with open_database(tmp_path / "rebuilt.duckdb") as rebuilt:
        days.database, days.labels = rebuilt, 0
        days.label(3, days_ago=8)
        days.label(1)
        writer = days.opened(knows_policy=False)

        writer.copy()
        writer.close()

    days.clock.advance(LEAD_US)
    days.writer.parts = read_parts(days.lake) or days.writer.parts
    assert days.ids() == ["label-00003"]
    assert status_of(days).ended_rows == 3


def test_given_a_later_policy_that_keeps_more_when_it_is_applied_then_what_ended_stays_ended_and_the_rest_is_kept(
    days: LabelledDays,
) -> None:
    days.kept_days = {TABLE: 7}
    days.label(2, days_ago=8)
    days.label(2, days_ago=5)
    days.round()
    days.kept_days = {TABLE: 30}
    days.clock.advance(10 * DAY_US)
    days.round()
    assert days.ids() == ["label-00002", "label-00003"]
    days.kept_days = {}
    days.label(1, days_ago=18)

    days.round()

    assert days.ids() == ["label-00002", "label-00003"]
    assert status_of(days).ended_rows == 3


def test_given_a_clock_that_was_years_ahead_when_it_is_set_back_then_every_instant_has_all_rows_and_they_stay(
    days: LabelledDays, clock: FrozenClock
) -> None:
    days.kept_days = {TABLE: 7}
    days.label(3, days_ago=3)
    days.label(2)
    days.round()
    right = clock.now()
    clock.advance(4_000 * DAY_US)
    days.round()
    assert days.ids() == []
    clock.at = right

    assert days.ids() == days.all_ids()  # what would have ended then counts
    days.writer.apply_retention()
    assert days.ids() == days.all_ids()
    days.writer.copy()
    for _ in range(3):
        assert days.ids() == days.all_ids()
        clock.advance(LEAD_US // 2)
    clock.advance(DAY_US)
    days.round()
    assert days.ids() == days.all_ids()
    assert status_of(days).ended_rows == 0


def test_given_a_clock_that_was_ahead_until_files_were_gone_when_it_is_set_back_then_they_are_copied_again(
    days: LabelledDays, clock: FrozenClock
) -> None:
    days.kept_days = {TABLE: 7}
    days.label(3, days_ago=3)
    days.round()
    right = clock.now()
    clock.advance(4_000 * DAY_US)
    days.round()
    clock.advance(2 * HOUR_US)
    days.round()
    assert files_on_disk(days) == set()
    clock.at = right

    days.writer = days.opened()
    days.round()

    assert days.ids() == days.all_ids()


def test_given_a_clock_set_back_by_seconds_when_a_day_has_just_ended_then_nothing_is_copied_again(
    days: LabelledDays, clock: FrozenClock
) -> None:
    days.kept_days = {TABLE: 7}
    days.label(1)
    days.label(1, days_ago=-3)
    days.copy()
    clock.at = end_of_day("2026-03-02") + 7 * DAY_US
    days.writer.apply_retention()

    clock.advance(-2 * SECOND_US)

    assert days.writer.copy() == 0
    clock.advance(LEAD_US + 2 * SECOND_US)
    assert days.ids() == ["label-00001"]


def test_given_parts_that_were_merged_when_their_day_ends_then_each_row_is_counted_once_and_all_files_go(
    days: LabelledDays, clock: FrozenClock
) -> None:
    for _ in range(5):
        days.label(2)
        days.copy()
    clock.advance(2 * DAY_US)
    assert days.writer.merge()
    days.kept_days = {TABLE: 1}
    days.writer.apply_retention()  # before the merged one counts
    clock.advance(LEAD_US)

    assert days.ids() == []
    assert status_of(days).ended_rows == 10
    assert not days.writer.merge()
    clock.advance(KEPT_US)
    assert days.writer.remove_replaced() == 6
    assert files_on_disk(days) == set()


def test_given_a_table_that_is_copied_again_while_the_clock_is_behind_then_no_instant_has_a_row_twice(
    days: LabelledDays, clock: FrozenClock
) -> None:
    for _ in range(8):
        days.label(1)
        days.copy()
    assert days.writer.merge()
    clock.advance(-HOUR_US)  # the merged part begins to count an hour from now
    columns = [each for each in days.writer.parts.columns[TABLE] if not each.startswith("reason ")]
    before = {**days.writer.parts.columns, TABLE: (*columns, "no_more VARCHAR")}
    write_parts(days.lake, replace(days.writer.parts, columns=before))
    days.writer = days.opened()

    days.writer.copy()

    for _ in range(4):
        clock.advance(HOUR_US // 2)
        assert days.ids() == days.all_ids()


@pytest.mark.parametrize("seed", range(3))
def test_given_rows_policies_restarts_and_clocks_at_random_then_readers_have_each_kept_row_once(
    days: LabelledDays, clock: FrozenClock, seed: int
) -> None:
    random = Random(seed)
    for _ in range(40):
        act = random.randrange(8)
        if act <= 1:
            days.label(random.randint(1, 4), days_ago=random.randint(0, 14))
        elif act == 2:
            days.kept_days = random.choice([{}, {TABLE: 3}, {TABLE: 7}, {TABLE: 7}])
        elif act == 3:
            clock.advance(random.choice([-DAY_US, -SECOND_US, -40 * DAY_US, DAY_US, HOUR_US, 40 * DAY_US]))
        elif act == 4:
            days.writer = days.opened()
        elif act == 5:
            (days.lake / FILE).unlink(missing_ok=True)
            days.writer = days.opened()
        elif act == 6:
            days.writer.apply_retention()
        seen = days.ids()
        assert len(seen) == len(set(seen))
        days.round()
        assert days.ids() == kept_ids(days)
        ended = days.writer.parts.ended.get(TABLE)
        assert len(days.ids()) + (ended.rows if ended else 0) == rows_in_database(days) == days.labels


def test_given_a_kill_9_at_every_step_of_a_round_that_ends_days_then_the_next_start_has_what_no_kill_leads_to(
    tmp_path: Path,
) -> None:
    """The child ends itself before the Nth time that it renames or removes a file; the last of them goes through."""
    for step in range(1, 200):
        folder = tmp_path / str(step)
        folder.mkdir()
        command = [sys.executable, "-m", "tests.support.retention_kills", str(folder), str(step)]
        code = subprocess.run(command, cwd=Path(__file__).parents[3], check=False, timeout=60).returncode
        assert code in {0, KILLED}
        with open_database(folder / "database.duckdb") as database:
            days = LabelledDays(folder, database, FrozenClock(END))
            days.kept_days, days.labels = {TABLE: 7}, 5
            assert days.ids() in (["label-00003", "label-00004"], days.all_ids()), step
            days.round()
            days.clock.advance(KEPT_US + LEAD_US)
            days.round()
            assert days.ids() == ["label-00003", "label-00004"], step
            assert status_of(days).ended_rows == 3
            assert files_on_disk(days) == {part.file for part in days.parts()}, step
        if code == 0:
            break
    assert code == 0
    assert step > 6


def test_given_the_tables_of_the_lake_then_the_policy_knows_each_of_them_and_no_other() -> None:
    assert set(FLOORS) == {table.name for table in (*lake_tables(), *control_tables())}
    assert FLOORS[REASONS] == FLOORS["transfer_features"]
    never = {table.name for table in lake_tables() if table.current is not None and FLOORS[table.name].days is None}
    assert never == {
        *("entity_versions", "counterparty_versions", "account_versions", "program_versions", "agent_versions"),
        "actor_score_versions",
    }
