"""What reports read of single rows: returns that stand, and signals that count once a record."""

from typing import Any

import duckdb
import msgspec
import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.errors import ForbiddenError
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.reports.alerts import ReportedActor, ReportTransfers
from clearhold.store.duck.reports.scores import ReportScores, ReportSubject, SignalCount
from clearhold.store.tables import Span, row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_score, a_transfer, some_features
from tests.support.principals import a_key, an_operator

SPAN = Span(AT - DAY_US, AT + DAY_US)
ACTOR = ReportedActor(PROGRAM, "entity", "ent_1", ())
DEBIT: dict[str, Any] = {"rail": "ach", "type": "DEBIT", "direction": "outgoing"}


@pytest.mark.parametrize(
    ("over", "returned", "unauthorized"),
    [
        (DEBIT | {"status": "RETURNED", "return_code": "R10"}, 1, 1),
        (DEBIT | {"status": "RETURNED", "return_code": "R01"}, 1, 0),
        (DEBIT | {"status": "RETURN_CONTESTED", "return_code": "R10"}, 1, 1),
        (DEBIT | {"status": "RETURN_DISHONORED", "return_code": "R10"}, 0, 0),
        (DEBIT | {"status": "CANCELED", "return_code": "R10"}, 0, 0),
        (DEBIT | {"direction": "incoming", "status": "RETURNED", "return_code": "R10"}, 1, 0),
        (DEBIT | {"type": "CREDIT", "status": "RETURNED", "return_code": "R10"}, 1, 0),
        (DEBIT | {"status": "SETTLED"}, 0, 0),
    ],
)
def test_given_a_transfer_when_its_actor_is_reported_then_a_return_counts_while_it_stands(
    database: duckdb.DuckDBPyConnection, over: dict[str, Any], returned: int, unauthorized: int
) -> None:
    older = a_transfer(offset=1, **DEBIT | {"status": "RETURNED", "return_code": "R05"})
    BatchWriter(database).commit(row_tables({TransferRow: [older, a_transfer(offset=2, **over)]}), {}, AT)

    totals = ReportTransfers(database).of_actor(an_operator(TENANT), ACTOR, SPAN)

    assert (totals.transfers, totals.returned, totals.unauthorized) == (1, returned, unauthorized)
    assert totals.cents == (0 if over["status"] == "CANCELED" else 125_00)


def test_given_a_transfer_that_changed_hands_when_reported_then_only_its_newest_actor_has_it(
    database: duckdb.DuckDBPyConnection,
) -> None:
    rows = [a_transfer(offset=1), a_transfer(offset=2, entity_id="ent_2")]
    BatchWriter(database).commit(row_tables({TransferRow: rows}), {}, AT)
    transfers = ReportTransfers(database)

    assert transfers.of_actor(an_operator(TENANT), ACTOR, SPAN).transfers == 0
    assert transfers.of_actor(an_operator(TENANT), ACTOR._replace(id="ent_2"), SPAN).transfers == 1


def test_given_records_with_a_signal_twice_when_counted_then_each_record_counts_once(
    database: duckdb.DuckDBPyConnection,
) -> None:
    def reasons(*signals: str) -> str:
        return msgspec.json.encode([{"id": "X", "signal": signal, "weight": 1} for signal in signals]).decode()

    rows = [
        a_score(offset=1, scored_at=SPAN.start - 1, reasons=reasons("fan_in")),
        a_score(offset=2, scored_at=SPAN.start, reasons=reasons("fan_in", "fan_in", "fan_out")),
        a_score(offset=3, scored_at=SPAN.end - 1, reasons=reasons("fan_in")),
        a_score(offset=4, scored_at=SPAN.end, reasons=reasons("fan_in")),
        a_score(offset=5, scored_at=SPAN.before.start - 1, reasons=reasons("fan_in")),
    ]
    BatchWriter(database).commit(row_tables({ScoreRow: rows}), {}, AT)
    scores, subject = ReportScores(database), ReportSubject(PROGRAM, "entity", "ent_1")

    signals = scores.signals(an_operator(TENANT), subject, SPAN)

    assert signals == [SignalCount("fan_in", 2, 1), SignalCount("fan_out", 1, 0)]


def test_given_a_key_of_another_program_when_it_reads_for_a_report_then_it_is_refused(
    database: duckdb.DuckDBPyConnection,
) -> None:
    key = a_key(TENANT, "prg_2")

    with pytest.raises(ForbiddenError):
        ReportTransfers(database).of_actor(key, ACTOR, SPAN)
    with pytest.raises(ForbiddenError):
        ReportScores(database).entered_band(key, PROGRAM, "hold", SPAN)


def test_given_a_subject_that_came_into_a_band_twice_when_counted_then_it_counts_once_with_the_last_time(
    database: duckdb.DuckDBPyConnection,
) -> None:
    hold = {"band": "hold", "former_band": "clear", "score": 80}
    rows = [
        a_score(id="scr_1", offset=1, scored_at=AT, **hold),
        a_score(id="scr_2", offset=2, scored_at=AT + 1, band="clear", former_band="hold"),
        a_score(id="scr_3", offset=3, scored_at=AT + 2, **hold),
        a_score(id="scr_4", offset=4, scored_at=AT + 1, subject_id="ent_2", **hold),
    ]
    BatchWriter(database).commit(row_tables({ScoreRow: rows}), {}, AT)

    entered, listed = ReportScores(database).entered_band(an_operator(TENANT), PROGRAM, "hold", SPAN)

    assert entered == 2
    assert [(each.id, each.at) for each in listed] == [("ent_2", AT + 1), ("ent_1", AT + 2)]


def test_given_transfers_scored_by_several_cards_when_reported_then_those_of_the_span_are_named(
    database: duckdb.DuckDBPyConnection,
) -> None:
    own, another = "trs-v1+scorecard-v1", "trs-v1+scorecard-v2"
    scorings = [
        some_features(offset=1, scored_at=SPAN.start, score_version="trs-v1"),
        some_features(offset=2, scored_at=SPAN.end - 1, score_version=own),
        some_features(offset=3, scored_at=SPAN.end, score_version=another),
        some_features(offset=4, scored_at=AT, score_version=another, program_id="prg_2"),
    ]
    BatchWriter(database).commit(row_tables({TransferFeaturesRow: scorings}), {}, AT)

    reports = ReportScores(database)

    assert reports.transfer_versions(an_operator(TENANT), PROGRAM, SPAN) == ["trs-v1", own]
    with pytest.raises(ForbiddenError):
        reports.transfer_versions(a_key(TENANT, "prg_2"), PROGRAM, SPAN)
