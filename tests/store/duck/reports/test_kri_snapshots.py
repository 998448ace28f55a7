"""Snapshots are read by program and instant; another tenant or program sees none of them."""

from collections.abc import Callable
from time import perf_counter
from typing import Final

import duckdb
import pytest

from clearhold.features.core.errors import ForbiddenError
from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.reports.scores import KriSnapshots, NewestSnapshots, ReportSnapshots
from clearhold.store.tables import Span, row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_snapshot
from tests.support.principals import a_key, an_operator

OPERATOR: Final = an_operator(TENANT)
MIDNIGHT: Final = AT // DAY_US * DAY_US


def commit(database: duckdb.DuckDBPyConnection, *rows: KriSnapshotRow) -> KriSnapshots:
    BatchWriter(database).commit(row_tables({KriSnapshotRow: rows}), {}, AT)
    return KriSnapshots(database)


def test_given_snapshots_when_the_newest_is_read_then_it_is_as_written_now_and_as_of_an_instant(
    database: duckdb.DuckDBPyConnection,
) -> None:
    first = a_snapshot(AT)
    newest = a_snapshot(AT + HOUR_US, program_score=35, program_score_n=4, band="review", cause="requested")
    snapshots = commit(database, first, newest, a_snapshot(AT + DAY_US, program_id="prg_2"))

    assert snapshots.newest(OPERATOR, PROGRAM) == newest
    assert snapshots.newest(OPERATOR, PROGRAM, upto=AT + HOUR_US) == newest
    assert snapshots.newest(OPERATOR, PROGRAM, upto=AT + HOUR_US - 1) == first
    assert snapshots.newest(OPERATOR, PROGRAM, upto=AT - 1) is None


def test_given_a_program_without_snapshots_or_of_another_tenant_when_it_is_read_then_there_is_none(
    database: duckdb.DuckDBPyConnection,
) -> None:
    snapshots = commit(database, a_snapshot(AT))
    stranger = an_operator("tnt_2")

    assert snapshots.newest(OPERATOR, "prg_2") is None
    assert snapshots.newest(stranger, PROGRAM) is None


def test_given_a_key_of_another_program_when_it_reads_then_it_is_forbidden(
    database: duckdb.DuckDBPyConnection,
) -> None:
    snapshots, key = commit(database, a_snapshot(AT)), a_key(TENANT, "prg_2")

    with pytest.raises(ForbiddenError):
        snapshots.newest(key, PROGRAM)


def test_given_two_programs_with_snapshots_of_one_offset_in_two_shards_then_each_has_its_newest(
    database: duckdb.DuckDBPyConnection,
) -> None:
    mine, theirs = a_snapshot(AT + 1), a_snapshot(AT + 1, program_id="prg_2", shard=4)
    snapshots = commit(database, mine, theirs, a_snapshot(AT, program_id="prg_2", shard=4))

    assert snapshots.newest(OPERATOR, PROGRAM) == mine
    assert snapshots.newest(OPERATOR, "prg_2") == theirs


def test_given_50000_snapshots_when_they_are_read_then_only_the_rows_that_are_meant_are(
    database: duckdb.DuckDBPyConnection,
) -> None:
    """Ten programs over 52 days. Each query takes a few milliseconds; the whole table takes a hundred times as long."""
    kris = '{"' + "k" * 2_500 + '":{}}'
    rows = [
        a_snapshot(MIDNIGHT + number // 10 * 15 * MINUTE_US, program_id=f"prg_{number % 10}", offset=number, kris=kris)
        for number in range(50_000)
    ]
    snapshots = commit(database, *rows)

    def fastest(read: Callable[[], object]) -> float:
        def once() -> float:
            start = perf_counter()
            assert read()
            return perf_counter() - start

        return min(once() for _ in range(3))

    most = fastest(lambda: database.execute("SELECT * FROM kri_snapshots").fetchall()) / 4

    assert fastest(lambda: snapshots.newest(OPERATOR, "prg_3")) < most
    assert fastest(lambda: snapshots.newest(OPERATOR, "prg_3", upto=MIDNIGHT + DAY_US)) < most


def test_given_a_past_day_that_was_measured_after_a_later_instant_then_the_later_instant_is_the_newest(
    database: duckdb.DuckDBPyConnection,
) -> None:
    newest = a_snapshot(AT + DAY_US, offset=5)
    past = [a_snapshot(AT - day * DAY_US, offset=9, cause="history") for day in (2, 1)]
    snapshots = commit(database, newest, *past)

    assert snapshots.newest(OPERATOR, PROGRAM) == newest
    assert snapshots.newest(OPERATOR, PROGRAM, upto=AT) == past[1]
    assert NewestSnapshots(database).by_program()[PROGRAM].as_of_at == newest.as_of_at
    span = Span(AT - 3 * DAY_US, AT + 2 * DAY_US)
    points = ReportSnapshots(database).points(OPERATOR, PROGRAM, span, 200)
    assert [point.at for point in points] == [past[0].as_of_at, past[1].as_of_at, newest.as_of_at]
