"""Alerts as the interface shows them, the filters of their lists, decisions and appeals, and examples of them all."""

from typing import Annotated, Any, Final
from uuid import UUID

import msgspec

from clearhold.api.actions.schemas import ACTION, Action
from clearhold.api.assignments.schemas import ASSIGNMENT, Assignment
from clearhold.api.dispositions.routes import ALERT_ID, DISPOSITION, Disposition
from clearhold.api.http.fields import BankIds, CursorText, Listed, Moment, PageLimit, ProgramIds, Prose
from clearhold.api.lists.exports import ExportFormat
from clearhold.api.lists.lists import DEFAULT_LIMIT, ListPage
from clearhold.api.notes.schemas import NEWEST_NOTES, NOTE, AlertNote
from clearhold.api.programs.routes import PROGRAM_ID, TENANT_ID
from clearhold.api.transfers.routes import REASON, STRUCTURING_REASON, TRANSFER
from clearhold.api.transfers.service import Transfer
from clearhold.features.alerts.evidence_bodies import Draft
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import (
    AlertDecision,
    AlertStatus,
    Band,
    Reason,
    Route,
    Severity,
    SlaTier,
    SubjectType,
    about,
    minted,
)
from clearhold.store.duck.alert_orders import AlertOrder

_SOME = msgspec.Meta(min_length=1, max_length=20)


class AlertFilters(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Filters of lists and exports of alerts; ``overdue`` means undecided past the due time.

    ``fromHistory`` false leaves out alerts on transfers that were delivered as history.
    """

    status: Annotated[tuple[AlertStatus, ...], _SOME] | None = None
    route: Annotated[tuple[Route, ...], _SOME] | None = None
    detector: Annotated[tuple[Listed, ...], _SOME] | None = None
    severity: Annotated[tuple[Severity, ...], _SOME] | None = None
    sla_tier: Annotated[tuple[SlaTier, ...], _SOME] | None = None
    band: Annotated[tuple[Band, ...], _SOME] | None = None
    program_id: ProgramIds | None = None
    subject_type: Annotated[tuple[SubjectType, ...], _SOME] | None = None
    subject_id: BankIds | None = None
    transfer_id: BankIds | None = None
    account_id: BankIds | None = None
    stack_id: Annotated[tuple[UUID, ...], _SOME] | None = None
    assignee: BankIds | None = None
    overdue: bool | None = None
    from_history: bool | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None


class AlertsQuery(AlertFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    sort: AlertOrder = AlertOrder.WORST
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class AlertExportQuery(AlertFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    format: ExportFormat = ExportFormat.NDJSON


class Alert(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A finding of a detector, with the state of its decision."""

    id: Annotated[str, minted("alert")]
    tenant_id: str
    program_id: str
    detector: str
    severity: Severity
    subject_type: Annotated[SubjectType, about("What the alert is about.")]
    subject_id: Annotated[str, about("The bank's id of what the alert is about.")]
    transfer_id: Annotated[str | None, about("The bank's id of the transfer; null when none is concerned.")]
    summary: str
    evidence: Annotated[dict[str, Any], about("The finding's figures, and the ids of the transfers that it rests on.")]
    score_at_alert: Annotated[int | None, about("The subject's score as the alert opened; null without one.")]
    band_at_alert: Annotated[Band | None, about("Band of that score; null without one.")]
    hard_signal: Annotated[bool, about("Whether its finding or one of its reasons is hard; a person decides it.")]
    status: Annotated[
        AlertStatus,
        about(
            "open, held and escalated need a decision; closed is final; an auto_closed one a person may still decide."
        ),
    ]
    route: Route | None
    policy_version: str | None
    opened_at: str
    closed_at: Annotated[str | None, about("When it was closed; null until then.")]
    dedupe_key: Annotated[str | None, about("One alert per detector, subject and window: further findings join it.")]
    due_at: str | None
    escalated_at: str | None
    sla_tier: SlaTier | None
    from_history: bool
    stack_id: Annotated[
        str | None, about("The stack of alerts that are looked at together; null until it first waits.")
    ]
    assignee: Annotated[str | None, about("The person that works on it; null: unassigned. Others may decide it, too.")]
    simulated: Simulated = msgspec.UNSET


class AlertPage(ListPage[Alert], frozen=True, kw_only=True, rename="camel"):
    pass


class AlertDetail(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An alert with all that a decision needs. Lists are oldest first."""

    alert: Annotated[Alert, about("The alert.")]
    transfer: Annotated[Transfer | None, about("The alert's transfer, with its score; null when it is about none.")]
    reasons: Annotated[
        tuple[Reason, ...], about("The reasons of the score at the opening; they add up to scoreAtAlert.")
    ]
    draft: Annotated[Draft | None, about("A proposed decision, made from the evidence; null without one.")]
    dispositions: Annotated[tuple[Disposition, ...], about("The decisions so far, oldest first.")]
    actions: Annotated[tuple[Action, ...], about("The actions so far, oldest first.")]
    notes: Annotated[tuple[AlertNote, ...], about(f"The newest {NEWEST_NOTES} notes, oldest first.")]
    note_count: Annotated[int, about("How many notes there are. GET /api/alerts/{alertId}/notes has them all.")]
    assignments: Annotated[
        tuple[Assignment, ...], about(f"The newest {NEWEST_NOTES} assignments, oldest first; the last one counts.")
    ]


class DecisionRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    decision: Annotated[
        AlertDecision, about("close is final; hold keeps the money; release ends a hold; escalate hands on.")
    ]
    narrative: Annotated[
        Prose, about("Why, in words: it goes on the record. The policy sets its least length by severity.")
    ]


class AppealRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    reason: Annotated[Prose, about("Why the decision should be looked at again, in words: it goes on the record.")]


STACK_ID: Final = "5f0c7f3e-0b0c-5e55-8c55-5d3f2b1a9e10"
ALERT: Final[dict[str, Any]] = {
    "id": ALERT_ID,
    "tenantId": TENANT_ID,
    "programId": PROGRAM_ID,
    "detector": "structuring_pattern",
    "severity": "high",
    "subjectType": "entity",
    "subjectId": "enti_2zExample0001",
    "transferId": "acht_2zExample0001",
    "summary": f"structuring pattern on entity enti_2zExample0001: {STRUCTURING_REASON['sentence']}",
    "evidence": {
        "routeReason": "always_reviewed",
        "autoHold": False,
        "finding": STRUCTURING_REASON["sentence"],
        "reasons": [STRUCTURING_REASON],
        "scoreReasons": [STRUCTURING_REASON, REASON],
        "transferIds": ["acht_2zExample0001"],
        "restsOn": ["acht_2zExample0001"],
        "restsOnCount": 1,
        "hits": 1,
    },
    "scoreAtAlert": 35,
    "bandAtAlert": "review",
    "hardSignal": False,
    "status": "open",
    "route": "reviewed",
    "policyVersion": "policy-v1",
    "openedAt": "2026-03-02T15:04:05.120Z",
    "closedAt": None,
    "dedupeKey": "structuring_pattern:entity:enti_2zExample0001:2026-03-02T15:04:05.000Z",
    "dueAt": "2026-03-05T15:04:05.120Z",
    "escalatedAt": None,
    "slaTier": "complex",
    "fromHistory": False,
    "stackId": STACK_ID,
    "assignee": "ann",
}
APPEAL_REQUEST: Final = {"reason": "The program says that the recipients are new."}
APPEALED: Final = ALERT | {
    "id": "0a4b1d2c-7e0f-5b7a-8d3e-4f1a6c9b2e11",
    "summary": f"Appeal of alert {ALERT['id']}: structuring pattern on entity enti_2zExample0001.",
    "evidence": {
        "routeReason": "appeal",
        "autoHold": False,
        "transferIds": ["acht_2zExample0001"],
        "policyVersion": "policy-v1",
        "clockVersion": "clock-v1",
        "appeal": {
            "alertId": ALERT["id"],
            "status": "closed",
            "reason": APPEAL_REQUEST["reason"],
            "by": "operator:bob",
        },
    },
    "openedAt": "2026-03-04T09:30:00.000Z",
    "dedupeKey": f"appeal:{ALERT['id']}",
    "dueAt": "2026-03-07T09:30:00.000Z",
    "slaTier": "appeal",
    "assignee": None,
}
ALERT_DETAIL: Final[dict[str, Any]] = {
    "alert": ALERT,
    "transfer": TRANSFER,
    "reasons": [STRUCTURING_REASON, REASON],
    "draft": {
        "narrative": f"Recommended: escalate for review. Alert {ALERT['id']} of detector structuring pattern, severity "
        "high, not a hard signal, opened at 2026-03-02T15:04:05.120Z and routed to a person (always reviewed).",
        "recommendation": "escalate",
        "confidence": None,
        "narrativeModel": None,
    },
    "dispositions": [DISPOSITION],
    "actions": [ACTION],
    "notes": [NOTE],
    "noteCount": 1,
    "assignments": [ASSIGNMENT],
}
DECISION_REQUEST: Final = {"decision": "close", "narrative": DISPOSITION["narrative"]}
