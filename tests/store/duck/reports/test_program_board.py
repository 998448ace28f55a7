"""Scores of programs in memory: as all snapshots read at once would give them, in any order of arrival."""

from typing import Any, Final

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.rows.parties import KriSnapshotRow
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.reports.program_board import KEPT_DAYS, ProgramBoard
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, a_snapshot

TODAY: Final = AT // DAY_US
DAYS: Final = 30


@st.composite
def snapshots(draw: st.DrawFn) -> list[dict[str, Any]]:
    return [
        {
            "id": f"kri_{offset}",
            "program_id": draw(st.sampled_from(["prg_1", "prg_2"])),
            "offset": offset,
            "as_of_at": (TODAY - draw(st.integers(0, KEPT_DAYS + 5))) * DAY_US + draw(st.integers(0, 3)),
            "program_score": draw(st.none() | st.integers(0, 100)),
        }
        for offset in range(draw(st.integers(0, 25)))
    ]


@given(st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_given_snapshots_in_any_order_when_read_then_the_newest_of_each_program_and_day_counts(
    database: duckdb.DuckDBPyConnection, data: st.DataObject
) -> None:
    database.execute("DELETE FROM kri_snapshots")
    rows = data.draw(snapshots())
    cut = data.draw(st.integers(0, len(rows)))
    board, writer = ProgramBoard(database), BatchWriter(database)
    for part in (rows[:cut], rows[cut:]):
        if part:
            stored = [a_snapshot(row["as_of_at"], **row) for row in part]
            writer.commit(row_tables({KriSnapshotRow: stored}), {}, AT)
        board.catch_up(now=AT)

    for program in ("prg_1", "prg_2"):
        own = [row for row in rows if row["program_id"] == program]
        own.sort(key=lambda row: (row["as_of_at"], row["offset"]))
        of_day = {row["as_of_at"] // DAY_US: row["program_score"] for row in own}
        standing, scores = board.read(program, upto_day=TODAY, days=DAYS)
        assert scores == [of_day.get(day) for day in range(TODAY - DAYS + 1, TODAY + 1)]
        assert (standing is None) == (not own)
        if standing is not None:
            assert (standing.at, standing.score) == (own[-1]["as_of_at"], own[-1]["program_score"])


def test_given_a_first_read_that_fails_when_read_again_then_no_score_is_missing(
    database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    BatchWriter(database).commit(row_tables({KriSnapshotRow: [a_snapshot(AT, program_score=61)]}), {}, AT)
    board = ProgramBoard(database)

    def fails(*_: Any) -> Any:
        raise duckdb.OutOfMemoryException("There is no memory left.")

    with monkeypatch.context() as broken:
        broken.setattr(board, "_read", fails)
        with pytest.raises(duckdb.OutOfMemoryException):
            board.catch_up(now=AT)
    board.catch_up(now=AT)

    standing, scores = board.read(a_snapshot(AT).program_id, upto_day=TODAY, days=DAYS)
    assert standing is not None
    assert (standing.score, scores[-1]) == (61, 61)
