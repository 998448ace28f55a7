"""What stands in JSON, as rows: the views name the fields as they are written; and the words that a column can have."""

# ruff: noqa: FBT003 - rows are built in the order of their columns

import re
from enum import StrEnum
from pathlib import Path

import duckdb
import msgspec
import pytest

from clearhold.features.catalogue.kris import KriStatus, KriUnit, KriValue, SnapshotCause
from clearhold.features.core.entries.actions import ActionStatus
from clearhold.features.core.entries.preflight import Preflight, PreflightRecord, ProposedTransfer, Resolved
from clearhold.features.core.rows.alerts import PolicyRow
from clearhold.features.core.rows.events import PreflightRow
from clearhold.features.core.rows.parties import KriSnapshotRow, ScoreRow
from clearhold.features.core.rules import RuleAction, RuleStatus
from clearhold.features.core.vocabulary import (
    AlertDecision,
    AlertStatus,
    Band,
    Decision,
    Direction,
    LabelSource,
    LabelValue,
    Rail,
    Reason,
    Severity,
    SlaTier,
    SubjectType,
)
from clearhold.features.policy.bodies import LimitsBody
from clearhold.store.analysts.meanings import meaning_of
from clearhold.store.duck.database import BatchWriter
from clearhold.store.tables import row_tables
from tests.support.clock import T0, FrozenClock
from tests.support.labelled_days import LabelledDays

OFFSET = T0 // 1_000 << 20
REASON = Reason(id="TRS-VEL-01", signal="velocity", weight=12, hard=False, sentence="It's the 9th today.")


def as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def a_preflight() -> PreflightRow:
    answer = Preflight(
        preflight_id="pf_1",
        decision=Decision.REVIEW,
        score=12,
        band=Band.CLEAR,
        version="trs-v1",
        n=40,
        confidence=0.5,
        reasons=(REASON,),
        limits_hit=(),
        degraded=False,
        degraded_reasons=(),
        latency_ms=2,
        idempotent=False,
        program_id="p",
    )
    record = PreflightRecord(
        tenant_id="t",
        answer=answer,
        request={"description": "to 000123456789"},
        transfer=ProposedTransfer(rail=Rail.ACH, direction=Direction.OUTGOING, amount_cents="12500"),
        operator="ann",
        resolved=Resolved(entity_id="enti_1", counterparty_id=None, counterparty_country="DE"),
        asked_at=T0,
        idempotency_key="secret-of-the-caller",
    )
    return PreflightRow("t", "p", "pf_1", 1, OFFSET, "review", 12, "clear", False, 2, "secret", as_json(record), T0)


def rows_with_json() -> list[msgspec.Struct]:
    limits = LimitsBody(
        ach_debit_daily_cents="50000",
        ach_debit_monthly_cents=None,
        per_transaction_cents="1000",
        entity_daily_cents=None,
        entity_velocity_24h_count="7",
    )
    kri = KriValue(value=0.25, n=4, unit=KriUnit.RATIO, threshold=0.1, status=KriStatus.BREACH)
    kris = as_json({"hold_share": kri})
    return [
        PolicyRow("t", "p", "limits-v1", 1, OFFSET, True, "act_1", "00", as_json(limits), T0),
        KriSnapshotRow("t", "p", "snap_1", 1, OFFSET, "tick", T0, 60, kris, None, 1, "prs-v1", "unscored", T0),
        ScoreRow(
            "t",
            "p",
            "s_1",
            "entity",
            "enti_1",
            1,
            OFFSET,
            "ers-v1",
            12,
            "clear",
            "unscored",
            9,
            0.5,
            False,
            False,
            as_json([REASON]),
            "{}",
            T0,
        ),
        a_preflight(),
    ]


def test_given_values_in_json_when_they_are_copied_then_views_have_them_as_rows(
    tmp_path: Path, database: duckdb.DuckDBPyConnection, clock: FrozenClock
) -> None:
    rows = rows_with_json()
    BatchWriter(database).commit(row_tables({type(row): [row] for row in rows}), {1: OFFSET}, T0)
    lake = LabelledDays(tmp_path, database, clock)
    lake.copy()

    assert sorted(lake.view("SELECT cap, value FROM limits WHERE value IS NOT NULL")) == [
        ("achDebitDailyCents", 50_000),
        ("entityVelocity24HCount", 7),
        ("perTransactionCents", 1_000),
    ]
    assert lake.view("SELECT kri, value, n, unit, threshold, status, note FROM kri_values") == [
        ("hold_share", 0.25, 4, "ratio", 0.1, "breach", None)
    ]
    reason = ("TRS-VEL-01", "velocity", 12, False, "It's the 9th today.")
    assert lake.view("SELECT reason_id, signal, weight, hard, sentence FROM actor_reasons") == [reason]
    assert lake.view("SELECT reason_id, signal, weight, hard, sentence FROM preflight_reasons") == [reason]
    answer = "score_version, n, confidence, limits_hit, rail, direction, amount_cents, currency, entity_id"
    assert lake.view(f"SELECT {answer}, counterparty_country FROM preflights") == [  # noqa: S608 - our own columns
        ("trs-v1", 40, 0.5, "[]", "ach", "outgoing", 12_500, "USD", "enti_1", "DE")
    ]
    everything = str(lake.view("FROM preflights"))
    assert "000123456789" not in everything
    assert "secret" not in everything


@pytest.mark.parametrize(
    ("view", "column", "words"),
    [
        ("actions", "status", ActionStatus),
        ("alerts", "severity", Severity),
        ("alerts", "sla_tier", SlaTier),
        ("alerts", "status", AlertStatus),
        ("alerts", "subject_type", SubjectType),
        ("dispositions", "decision", AlertDecision),
        ("kri_snapshots", "cause", SnapshotCause),
        ("kri_values", "status", KriStatus),
        ("kri_values", "unit", KriUnit),
        ("labels", "label", LabelValue),
        ("labels", "source", LabelSource),
        ("preflights", "decision", Decision),
        ("rules", "action", RuleAction),
        ("rules", "status", RuleStatus),
        ("transfers", "direction", Direction),
        ("transfers", "rail", Rail),
        ("transfers", "score_band", Band),
    ],
)
def test_given_a_column_of_a_closed_set_then_its_meaning_names_every_word_of_it(
    view: str, column: str, words: type[StrEnum]
) -> None:
    meaning = meaning_of(view, column) or ""

    assert [word.value for word in words if word.value not in re.findall("[a-z_]+", meaning)] == []
