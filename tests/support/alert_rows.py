"""What alert rows state, and decisions on them."""

from typing import Any

import msgspec

from clearhold.features.core.entries.commands import DecisionEntry, OperatorKind
from clearhold.features.core.rows.alerts import AlertRow, EntryResultRow
from clearhold.features.core.vocabulary import AlertDecision, Severity
from tests.support.clock import T0


def evidence_of(alert: AlertRow) -> dict[str, Any]:
    evidence: dict[str, Any] = msgspec.json.decode(alert.evidence)
    return evidence


def grade_of(alert: AlertRow) -> tuple[str, bool]:
    return Severity(alert.severity).value, alert.hard_signal


def a_decision(alert: AlertRow, decision: str, at: int, **over: Any) -> DecisionEntry:
    """A person's decision, so many microseconds after T0."""
    usual: dict[str, Any] = {
        "id": f"dsp_{alert.id[:8]}_{decision}_{at}",
        "alert_id": alert.id,
        "decision": AlertDecision(decision),
        "narrative": "Looked at and decided.",
        "operator": "j.lee",
        "operator_kind": OperatorKind.PERSON,
        "at": T0 + at,
    }
    return DecisionEntry(**usual | over)


def results_of(rows: list[msgspec.Struct]) -> list[str]:
    """The results of the decisions and appeals among these rows."""
    return [row.result for row in rows if isinstance(row, EntryResultRow)]
