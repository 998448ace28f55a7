"""An alert as rows: its versions, and its body as opened, which dispositions cite by its digest."""

from typing import Any

import msgspec

from features.alerts.narrative import Draft
from features.core.canonical import Chain, canonical, digest_of
from features.core.commands import DecisionResult, ResultKind
from features.core.ids import ALERT_IDS
from features.core.instants import format_instant
from features.core.log_entry import EntryPosition
from features.core.rows.alerts import AlertBodyRow, AlertRow, DecisionResultRow, DispositionRow
from features.core.rows.record import ChainFactRow
from features.state.alert_book import Alert
from features.state.program import ProgramState


class AlertBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The alert of the interface as it was opened, with the draft that was offered."""

    id: str
    tenant_id: str
    program_id: str
    detector: str
    severity: str
    subject_type: str
    subject_id: str
    transfer_id: str | None
    summary: str
    evidence: Any
    score_at_alert: int | None
    band_at_alert: str | None
    hard_signal: bool
    status: str
    route: str
    policy_version: str
    opened_at: str
    dedupe_key: str
    due_at: str | None
    sla_tier: str
    appeal_of: str | None
    draft: Draft | None


class DispositionBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a disposition's hash is taken of: the Disposition of the interface without its hashes, and two digests."""

    id: str
    tenant_id: str
    alert_id: str
    decided_by: str
    decision: str
    narrative: str
    narrative_model: str | None
    recommendation: str | None
    confidence: float | None
    policy_version: str
    overturns_draft: bool | None
    created_at: str
    alert_sha256: str
    policy_sha256: str


def alert_id_of(program_id: str, dedupe_key: str) -> str:
    return ALERT_IDS.id_of(f"{program_id}/{dedupe_key}")


def derived_from(alert_id: str, cause: str) -> str:
    """The id of what follows from an alert without anybody asking."""
    return ALERT_IDS.id_of(f"{alert_id}/{cause}")


def alert_row(program: ProgramState, alert: Alert, when: EntryPosition) -> AlertRow:
    """The alert as it stands after this entry."""
    summary, evidence, draft = alert.texts
    return AlertRow(
        program.tenant_id,
        program.id,
        alert.id,
        when.shard,
        when.offset,
        alert.detector,
        alert.severity,
        alert.subject_type,
        alert.subject_id,
        alert.transfer_id,
        summary,
        evidence,
        alert.score,
        alert.band,
        alert.hard,
        alert.status,
        alert.route,
        alert.policy_version,
        alert.opened_at,
        alert.closed_at,
        alert.dedupe_key,
        alert.due_at,
        alert.escalated_at,
        alert.sla_tier,
        alert.appeal_of,
        draft,
        alert.alert_sha256,
        when.appended_at,
    )


def alert_body_row(
    program: ProgramState, alert: Alert, evidence: object, draft: Draft | None, when: EntryPosition
) -> AlertBodyRow:
    """The body of an alert that is being opened; the alert keeps its digest."""
    body = canonical(
        AlertBody(
            id=alert.id,
            tenant_id=program.tenant_id,
            program_id=program.id,
            detector=alert.detector,
            severity=alert.severity,
            subject_type=alert.subject_type,
            subject_id=alert.subject_id,
            transfer_id=alert.transfer_id,
            summary=alert.texts[0],
            evidence=evidence,
            score_at_alert=alert.score,
            band_at_alert=alert.band,
            hard_signal=alert.hard,
            status=alert.status,
            route=alert.route,
            policy_version=alert.policy_version,
            opened_at=format_instant(alert.opened_at),
            dedupe_key=alert.dedupe_key,
            due_at=None if alert.due_at is None else format_instant(alert.due_at),
            sla_tier=alert.sla_tier,
            appeal_of=alert.appeal_of,
            draft=draft,
        )
    )
    alert.alert_sha256 = digest_of(body)
    return AlertBodyRow(
        program.tenant_id,
        program.id,
        alert.id,
        when.shard,
        when.offset,
        body.decode(),
        alert.alert_sha256,
        when.appended_at,
    )


class SignedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision on an alert says, and who made it."""

    id: str
    decided_by: str
    decision: str
    narrative: str
    overturns_draft: bool | None
    policy_version: str
    policy_sha256: str
    at: int


def disposition_rows(
    program: ProgramState, alert: Alert, signed: SignedDecision, when: EntryPosition
) -> tuple[DispositionRow, ChainFactRow]:
    """A decision that was made, and the fact of it for the record."""
    body = canonical(
        DispositionBody(
            id=signed.id,
            tenant_id=program.tenant_id,
            alert_id=alert.id,
            decided_by=signed.decided_by,
            decision=signed.decision,
            narrative=signed.narrative,
            narrative_model=None,
            recommendation=alert.recommendation,
            confidence=None,
            policy_version=signed.policy_version,
            overturns_draft=signed.overturns_draft,
            created_at=format_instant(signed.at),
            alert_sha256=alert.alert_sha256,
            policy_sha256=signed.policy_sha256,
        )
    )
    place = (program.tenant_id, program.id)
    return (
        DispositionRow(
            *place,
            signed.id,
            when.shard,
            when.offset,
            alert.id,
            signed.decided_by,
            signed.decision,
            signed.narrative,
            None,
            alert.recommendation,
            None,
            signed.policy_version,
            signed.overturns_draft,
            alert.alert_sha256,
            signed.policy_sha256,
            signed.at,
        ),
        ChainFactRow(*place, Chain.DISPOSITIONS.value, signed.id, when.shard, when.offset, body.decode(), signed.at),
    )


def result_row(
    program: ProgramState,
    when: EntryPosition,
    result: DecisionResult,
    kind: ResultKind,
    entry_id: str,
    *,
    alert_id: str | None = None,
    transfer_id: str | None = None,
    disposition_id: str | None = None,
    opened_alert_id: str | None = None,
) -> DecisionResultRow:
    """What came of an entry."""
    return DecisionResultRow(
        program.tenant_id,
        program.id,
        entry_id,
        when.shard,
        when.offset,
        kind.value,
        alert_id,
        transfer_id,
        result.value,
        disposition_id,
        opened_alert_id,
        when.appended_at,
    )
