"""Alerts as the interface shows them, the filters of their lists, decisions and appeals."""

from typing import Annotated, Any

import msgspec

from clearhold.api.actions.schemas import Action
from clearhold.api.dispositions.schemas import Disposition
from clearhold.api.http.fields import BankIds, CursorText, Listed, Moment, PageLimit, ProgramIds, Prose
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT, instant_text
from clearhold.api.transfers.schemas import Transfer
from clearhold.features.alerts.draft import Draft
from clearhold.features.core.instants import format_instant
from clearhold.features.core.program import Simulated
from clearhold.features.core.reason import Reason
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.vocabulary import AlertDecision, AlertStatus, Band, Route, Severity, SlaTier, SubjectType

_SOME = msgspec.Meta(min_length=1, max_length=20)


class AlertFilters(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Filters of lists and exports of alerts; ``overdue`` means undecided past the due time.

    ``fromHistory`` false leaves out what transfers opened that were history when they were delivered.
    """

    status: Annotated[tuple[AlertStatus, ...], _SOME] | None = None
    route: Annotated[tuple[Route, ...], _SOME] | None = None
    detector: Annotated[tuple[Listed, ...], _SOME] | None = None
    severity: Annotated[tuple[Severity, ...], _SOME] | None = None
    sla_tier: Annotated[tuple[SlaTier, ...], _SOME] | None = None
    program_id: ProgramIds | None = None
    subject_type: Annotated[tuple[SubjectType, ...], _SOME] | None = None
    subject_id: BankIds | None = None
    transfer_id: BankIds | None = None
    overdue: bool | None = None
    from_history: bool | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None


class AlertsQuery(AlertFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class Alert(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A finding of a detector, with the state of its decision."""

    id: str
    tenant_id: str
    program_id: str
    detector: str
    severity: Severity
    subject_type: SubjectType
    subject_id: str
    transfer_id: str | None
    summary: str
    evidence: dict[str, Any]
    score_at_alert: int | None
    band_at_alert: Band | None
    hard_signal: bool
    status: AlertStatus
    route: Route | None
    policy_version: str | None
    opened_at: str
    closed_at: str | None
    dedupe_key: str | None
    due_at: str | None
    escalated_at: str | None
    sla_tier: SlaTier | None
    from_history: bool
    simulated: Simulated = msgspec.UNSET


class AlertPage(ListPage[Alert], frozen=True, kw_only=True, rename="camel"):
    pass


class AlertDetail(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An alert with all that a decision needs. ``dispositions`` and ``actions`` are oldest first."""

    alert: Alert
    transfer: Transfer | None
    reasons: tuple[Reason, ...]
    draft: Draft | None
    dispositions: tuple[Disposition, ...]
    actions: tuple[Action, ...]


class DecisionRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    decision: AlertDecision
    narrative: Prose


class AppealRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    reason: Prose


def to_alert(row: AlertRow, evidence: dict[str, Any]) -> Alert:
    return Alert(
        id=row.id,
        tenant_id=row.tenant_id,
        program_id=row.program_id,
        detector=row.detector,
        severity=Severity(row.severity),
        subject_type=SubjectType(row.subject_type),
        subject_id=row.subject_id,
        transfer_id=row.transfer_id,
        summary=row.summary,
        evidence=evidence,
        score_at_alert=row.score_at_alert,
        band_at_alert=None if row.band_at_alert is None else Band(row.band_at_alert),
        hard_signal=row.hard_signal,
        status=AlertStatus(row.status),
        route=Route(row.route),
        policy_version=row.policy_version,
        opened_at=format_instant(row.opened_at),
        closed_at=instant_text(row.closed_at),
        dedupe_key=row.dedupe_key,
        due_at=instant_text(row.due_at),
        escalated_at=instant_text(row.escalated_at),
        sla_tier=SlaTier(row.sla_tier),
        from_history=row.from_history,
    )
