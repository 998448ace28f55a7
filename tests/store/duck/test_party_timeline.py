"""Timelines over random rows, as a naive reading of the rows gives them."""

from collections.abc import Iterable, Iterator
from typing import Any, Final
from unittest.mock import patch

import duckdb
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.core.principal import Principal, PrincipalKind
from clearhold.features.core.rows.alerts import AlertRow, AlertTransferRow, DispositionRow, LabelRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.store.duck import timeline_parts
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.party_timeline import PartyTimeline, TimelineFilter, TimelineKind, TimelineSubject
from clearhold.store.tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_disposition, a_label, a_score, a_transfer, an_alert

LAST: Final = 2**63 - 1
TABLES: Final = ("transfers", "alerts", "alert_transfers", "dispositions", "labels", "scores")
PROGRAMS: Final = (PROGRAM, "prg_2")
OPERATOR: Final = Principal(kind=PrincipalKind.OPERATOR, id="tnt_1", tenant_id=TENANT, tenant="First Bank")


def drawn(draw: st.DrawFn, *values: Any) -> Any:
    return draw(st.sampled_from(values))


def instants() -> st.SearchStrategy[int]:
    return st.integers(AT, AT + 5)


@st.composite
def transfer_rows(draw: st.DrawFn, offsets: Iterator[int]) -> list[TransferRow]:
    """One to three versions of each transfer; program, parties and creation are the same in all of them."""
    found = []
    for number in range(draw(st.integers(1, 8))):
        same = {
            "id": f"trf_{number}",
            "number": number,
            "program_id": drawn(draw, *PROGRAMS),
            "bank_created_at": draw(instants()),
            "entity_id": drawn(draw, "ent_1", "ent_2"),
            "account_id": drawn(draw, "acc_1", "acc_2"),
            "counterparty_id": drawn(draw, "cpt_1", "cpt_2"),
        }
        for _ in range(draw(st.integers(1, 3))):
            version = {
                "offset": next(offsets),
                "returned_at": drawn(draw, None, AT + 3),
                "return_code": drawn(draw, None, "R01"),
                "score_band": drawn(draw, "clear", "hold"),
                "scored_at": draw(instants()),
                "status": drawn(draw, "SENT", "SETTLED"),
            }
            found.append(a_transfer(**same, **version))
    return found


@st.composite
def alert_rows(draw: st.DrawFn, offsets: Iterator[int]) -> list[AlertRow]:
    return [
        an_alert(
            id=f"alr_{number}",
            program_id=drawn(draw, *PROGRAMS),
            offset=next(offsets),
            opened_at=draw(instants()),
            subject_type=drawn(draw, "transfer", "account", "entity", "counterparty"),
            subject_id=drawn(draw, "trf_0", "trf_1", "acc_1", "ent_1", "cpt_1"),
            transfer_id=None,
        )
        for number in range(draw(st.integers(0, 6)))
    ]


@st.composite
def label_rows(draw: st.DrawFn, offsets: Iterator[int]) -> list[LabelRow]:
    return [
        a_label(
            id=f"lbl_{number}",
            program_id=drawn(draw, *PROGRAMS),
            transfer_id=f"trf_{draw(st.integers(0, 8))}",
            created_at=draw(instants()),
            offset=next(offsets),
        )
        for number in range(draw(st.integers(0, 6)))
    ]


@st.composite
def score_rows(draw: st.DrawFn, offsets: Iterator[int]) -> list[ScoreRow]:
    return [
        a_score(
            id=f"scr_{number}",
            program_id=drawn(draw, *PROGRAMS),
            subject_type=drawn(draw, "entity", "counterparty", "program"),
            subject_id=drawn(draw, "ent_1", "cpt_1", PROGRAM),
            band=drawn(draw, "clear", "hold"),
            former_band=drawn(draw, "clear", "unscored"),
            scored_at=draw(instants()),
            offset=next(offsets),
        )
        for number in range(draw(st.integers(0, 6)))
    ]


@st.composite
def tables_of_rows(draw: st.DrawFn) -> dict[type[msgspec.Struct], list[Any]]:
    offsets = iter(range(1, 1_000))
    transfers, alerts = draw(transfer_rows(offsets)), draw(alert_rows(offsets))
    found: dict[type[msgspec.Struct], list[Any]] = {
        TransferRow: transfers,
        AlertRow: alerts,
        AlertTransferRow: [
            AlertTransferRow(TENANT, alert.program_id, alert.id, 3, next(offsets), drawn(draw, 0, 1, 2))
            for alert in alerts
            if draw(st.booleans())
        ],
        DispositionRow: [
            a_disposition(id=f"dsp_{number}", alert_id=each.id, program_id=each.program_id, created_at=draw(instants()))
            for number, each in enumerate(alerts)
            if draw(st.booleans())
        ],
        LabelRow: draw(label_rows(offsets)),
        ScoreRow: draw(score_rows(offsets)),
    }
    return {kind: rows for kind, rows in found.items() if rows}


def transfers_of(own: dict[type[msgspec.Struct], list[Any]], wanted: TimelineFilter) -> dict[str, TransferRow]:
    """The newest version of each transfer of the thing."""
    newest = {row.id: row for row in own.get(TransferRow, [])}
    subject, id_ = wanted.subject, wanted.subject_id
    if subject is TimelineSubject.PROGRAM:
        return newest
    if subject is TimelineSubject.TRANSFER:
        return {row.id: row for row in newest.values() if row.id == id_}
    if subject is TimelineSubject.ALERT:
        numbers = {row.transfer_number for row in own.get(AlertTransferRow, []) if row.alert_id == id_}
        return {row.id: row for row in newest.values() if row.number in numbers}
    return {row.id: row for row in newest.values() if getattr(row, f"{subject}_id") == id_}


def concerns(
    own: dict[type[msgspec.Struct], list[Any]], alert: AlertRow, mine: dict[str, TransferRow], wanted: TimelineFilter
) -> bool:
    """Whether the alert is about the thing or one of its transfers."""
    if wanted.subject is TimelineSubject.ALERT:
        return bool(alert.id == wanted.subject_id)
    numbers = {row.number for row in mine.values()}
    rests = any(row.alert_id == alert.id and row.transfer_number in numbers for row in own.get(AlertTransferRow, []))
    on_it = (alert.subject_type, alert.subject_id) == (wanted.subject, wanted.subject_id)
    on_transfer = alert.subject_type == "transfer" and alert.subject_id in mine
    return wanted.subject is TimelineSubject.PROGRAM or on_it or on_transfer or rests


def scorings_of(own: dict[type[msgspec.Struct], list[Any]], transfer_ids: Iterable[str]) -> list[tuple[int, str, str]]:
    """The changes of band of transfers."""
    lines = []
    for each in transfer_ids:
        former = None
        for row in [row for row in own[TransferRow] if row.id == each]:
            if row.score_band != former:
                lines.append((row.scored_at, f"scored:{LAST - row.offset}:{each}", "score"))
            former = row.score_band
    return lines


def by_hand(rows: dict[type[msgspec.Struct], list[Any]], wanted: TimelineFilter) -> list[tuple[int, str]]:
    """Instant and key of each row, newest first."""
    own = {kind: [row for row in table if row.program_id == PROGRAM] for kind, table in rows.items()}
    subject, is_program = wanted.subject, wanted.subject is TimelineSubject.PROGRAM
    mine = transfers_of(own, wanted)
    alerts = {alert.id: alert for alert in own.get(AlertRow, []) if concerns(own, alert, mine, wanted)}
    lines = [(row.bank_created_at, f"money:{row.id}", "money") for row in mine.values()]
    lines += [(row.returned_at, f"return:{row.id}", "money") for row in mine.values() if row.returned_at is not None]
    if subject in {TimelineSubject.TRANSFER, TimelineSubject.ALERT}:
        lines += scorings_of(own, mine)
    accused = {(alert.subject_type, alert.subject_id) for alert in alerts.values()}
    scored = accused if subject is TimelineSubject.ALERT else {(str(subject), wanted.subject_id)}
    lines += [
        (row.scored_at, f"score:{LAST - row.offset}:{row.id}", "score")
        for row in own.get(ScoreRow, [])
        if (row.subject_type, row.subject_id) in scored and row.band != row.former_band
    ]
    lines += [(row.opened_at, f"alert:{row.id}", "alert") for row in alerts.values()]
    decided = [row for row in own.get(DispositionRow, []) if is_program or row.alert_id in alerts]
    lines += [(row.created_at, f"decision:{row.id}", "decision") for row in decided]
    labelled = [row for row in own.get(LabelRow, []) if is_program or row.transfer_id in mine]
    lines += [(row.created_at, f"label:{row.id}", "label") for row in labelled]
    kept = [(at, key) for at, key, kind in lines if wanted.kinds is None or kind in wanted.kinds]
    return sorted(kept, key=lambda each: (-each[0], each[1]))


SUBJECTS: Final = [
    (TimelineSubject.TRANSFER, "trf_0"),
    (TimelineSubject.ALERT, "alr_0"),
    (TimelineSubject.ENTITY, "ent_1"),
    (TimelineSubject.COUNTERPARTY, "cpt_1"),
    (TimelineSubject.ACCOUNT, "acc_1"),
    (TimelineSubject.PROGRAM, PROGRAM),
]


@pytest.mark.parametrize("few", [timeline_parts.FEW, 1])
@given(rows=tables_of_rows(), kinds=st.none() | st.sets(st.sampled_from(TimelineKind), min_size=1).map(tuple))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_given_random_rows_when_paged_then_each_row_comes_once_in_order_as_read_by_hand(
    database: duckdb.DuckDBPyConnection,
    few: int,
    rows: dict[type[msgspec.Struct], list[Any]],
    kinds: tuple[TimelineKind, ...] | None,
) -> None:
    """By small statements, and by one where there are more than a few."""
    for table in TABLES:
        database.execute(f"DELETE FROM {table}")  # noqa: S608 - a constant
    BatchWriter(database).commit(row_tables(rows), {}, AT)
    timeline = PartyTimeline(database)

    for subject, subject_id in SUBJECTS:
        wanted = TimelineFilter(program_id=PROGRAM, subject=subject, subject_id=subject_id, kinds=kinds)
        expected = by_hand(rows, wanted)
        found, after = list[tuple[int, str]](), None
        with patch.object(timeline_parts, "FEW", few):
            while page := timeline.list_page(OPERATOR, wanted, after, 3):
                found += [(row.at, row.id) for row in page]
                after = found[-1]
        assert found == expected, subject
