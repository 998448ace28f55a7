"""Copies of a program's rows, as the reports count them: each has ids of its own, and its time, band and status."""

from contextlib import closing
from pathlib import Path

from bench.copies import multiply
from clearhold.features.core.rows.alerts import AlertRow, DispositionRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import KriSnapshotRow, ScoreRow
from clearhold.store.duck.database import BatchWriter, open_database
from clearhold.store.duck.reports.alerts import AlertCount, ReportAlerts
from clearhold.store.duck.reports.scores import ReportScores, ReportSnapshots, ReportSubject
from clearhold.store.tables import Span, row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_disposition, a_score, a_snapshot, a_transfer, an_alert
from tests.support.principals import an_operator

SPAN = Span(AT, AT + 1_000)
HOLD = {"score": 80, "band": "hold", "scored_at": AT}
OF_PROGRAM = {"subject_type": "program", "subject_id": PROGRAM}
ROWS = row_tables(
    {
        TransferRow: [
            a_transfer(),
            a_transfer(offset=50, status="RETURNED"),
            a_transfer(id="trf_2", program_id="prg_2"),
        ],
        ScoreRow: [a_score(**HOLD), a_score(id="scr_2", offset=50, **HOLD, **OF_PROGRAM)],
        AlertRow: [an_alert(), an_alert(offset=50, status="closed"), an_alert(id="alr_2", **OF_PROGRAM)],
        DispositionRow: [a_disposition(offset=50, created_at=AT + 1)],
        KriSnapshotRow: [a_snapshot(AT), a_snapshot(AT + 500)],
    }
)


def test_given_a_history_that_is_multiplied_when_reported_then_all_of_it_counts_so_many_times(tmp_path: Path) -> None:
    path = tmp_path / "clearhold.duckdb"
    with closing(open_database(path)) as database:
        BatchWriter(database).commit(ROWS, {3: 50}, AT)

    counts = multiply(path, PROGRAM, 3)

    assert counts == {"transfers": 6, "scores": 6, "alerts": 9, "dispositions": 3, "kri_snapshots": 6}
    reader = an_operator(TENANT)
    with closing(open_database(path)) as database:
        newest = database.execute("SELECT program_id, status, count(*) FROM transfers_latest GROUP BY ALL ORDER BY ALL")
        assert newest.fetchall() == [(PROGRAM, "RETURNED", 3), ("prg_2", "posted", 1)]
        alerts, scores = ReportAlerts(database), ReportScores(database)
        detector, route = an_alert().detector, an_alert().route
        closed, waiting = AlertCount(detector, route, "closed", 3), AlertCount(detector, route, "open", 3)
        assert alerts.counts(reader, PROGRAM, SPAN) == [closed, waiting]
        assert alerts.decision_hours(reader, PROGRAM, SPAN).n == 3
        assert scores.entered_band(reader, PROGRAM, "hold", SPAN)[0] == 3 + 1
        assert len(scores.history(reader, ReportSubject(PROGRAM, "program", PROGRAM), SPAN, 9)) == 3
        assert len(ReportSnapshots(database).points(reader, PROGRAM, SPAN, 2)) == 2
