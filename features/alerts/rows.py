"""Rows of an alert: its versions, its body as opened with a digest for citations, and its dispositions."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from clearhold.features.alerts.evidence_bodies import Draft
from clearhold.features.core.canonical import ALERT_IDS, Chain, canonical, digest_of
from clearhold.features.core.entries.commands import DecisionWarning, EntryResult, ResultKind
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import ChainFactRow, Emit, EntryPosition, copied
from clearhold.features.core.principal import OperatorIdentity
from clearhold.features.core.rows.alerts import AlertBodyRow, AlertRow, AlertTransferRow, DispositionRow, EntryResultRow
from clearhold.features.core.vocabulary import AlertDecision
from clearhold.features.detectors.detector import Grade, worse_of
from clearhold.features.policy.bodies import ClockPolicy
from clearhold.features.policy.routing import hours_us, tier_of
from clearhold.features.state.alert_book import AlertBook
from clearhold.features.state.alert_state import AlertState
from clearhold.features.state.program import ProgramState


class AlertBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The alert of the API at its opening, with its draft."""

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
    from_history: bool
    appeal_of: str | None
    draft: Draft | None


class DispositionBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body that a disposition's hash covers: the Disposition of the API without its hashes, and two digests."""

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
    identity: OperatorIdentity | None
    created_at: str
    alert_sha256: str
    policy_sha256: str
    action_id: str | None
    warnings: tuple[DecisionWarning, ...]


def make_worse(book: AlertBook, alert: AlertState, grade: Grade, clock: ClockPolicy, at: int) -> None:
    """Give the alert the worse grade; one that waits is due as soon as an alert of that grade would be from now on."""
    alert.severity, alert.hard = worse_of(Grade(alert.severity, alert.hard), grade)
    tier = tier_of(alert.severity, hard=alert.hard)
    due_at = at + hours_us(clock, tier)
    if alert.waits and alert.due_at is not None and due_at < alert.due_at:
        alert.sla_tier, alert.due_at = tier, due_at
        book.put(alert)


def alert_id_of(program_id: str, dedupe_key: str) -> str:
    return ALERT_IDS.id_of(f"{program_id}/{dedupe_key}")


def derived_from(source_id: str, cause: str) -> str:
    """The id of a row that follows from an alert or a transfer without a request."""
    return ALERT_IDS.id_of(f"{source_id}/{cause}")


def alert_row(program: ProgramState, alert: AlertState, position: EntryPosition) -> AlertRow:
    """The alert after this entry."""
    summary, evidence, draft = program.alerts.texts(alert)
    return copied(
        AlertRow,
        alert,
        *position.first_columns(program.tenant_id, program.id, alert.id),
        summary=summary,
        evidence=evidence,
        score_at_alert=alert.score,
        band_at_alert=alert.band,
        hard_signal=alert.hard,
        draft=draft,
        updated_at=position.appended_at,
    )


def alert_body_row(
    program: ProgramState, alert: AlertState, evidence: object, draft: Draft | None, position: EntryPosition
) -> AlertBodyRow:
    """The body of an alert that is being opened; the alert keeps its digest."""
    opened = copied(
        AlertBody,
        alert,
        tenant_id=program.tenant_id,
        program_id=program.id,
        summary=program.alerts.texts(alert)[0],
        evidence=evidence,
        score_at_alert=alert.score,
        band_at_alert=alert.band,
        hard_signal=alert.hard,
        opened_at=format_instant(alert.opened_at),
        due_at=None if alert.due_at is None else format_instant(alert.due_at),
        draft=draft,
    )
    body = canonical(opened)
    alert.alert_sha256 = digest_of(body)
    return AlertBodyRow(
        *position.first_columns(program.tenant_id, program.id, alert.id),
        body=body.decode(),
        sha256=alert.alert_sha256,
        created_at=position.appended_at,
    )


def emit_transfers(
    program: ProgramState, alert: AlertState, rows: Iterable[int], position: EntryPosition, emit: Emit
) -> None:
    """The rows by which the alert is found from its transfers, and a transfer names its alerts."""
    for row in dict.fromkeys(rows):
        emit(AlertTransferRow(program.tenant_id, program.id, alert.id, position.shard, position.offset, row))


def emit_newest(rows: Sequence[msgspec.Struct], emit: Emit) -> None:
    """An alert that one entry changed several times is written once, in its last state."""
    newest = {row.id: row for row in rows if isinstance(row, AlertRow)}
    for row in rows:
        if not isinstance(row, AlertRow) or newest[row.id] is row:
            emit(row)


class SignedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision on an alert, with the operator, key or policy that signs it.

    ``overturns_draft`` is None without a draft. ``action_id`` is the executed action that the decision follows from,
    ``warnings`` name actions that it contradicts.
    """

    id: str
    decided_by: str
    decision: AlertDecision
    narrative: str
    overturns_draft: bool | None
    policy_version: str
    policy_sha256: str
    at: int
    action_id: str | None = None
    warnings: tuple[DecisionWarning, ...] = ()
    identity: OperatorIdentity | None = None


def disposition_rows(
    program: ProgramState, alert: AlertState, signed: SignedDecision, position: EntryPosition
) -> tuple[DispositionRow, ChainFactRow]:
    """A disposition, and the fact that the record chains."""
    disposition = copied(
        DispositionRow,
        signed,
        *position.first_columns(program.tenant_id, program.id, signed.id),
        alert_id=alert.id,
        decision=signed.decision.value,
        narrative_model=None,
        recommendation=alert.recommendation,
        confidence=None,
        alert_sha256=alert.alert_sha256,
        created_at=signed.at,
        warnings=canonical(signed.warnings).decode() if signed.warnings else None,
    )
    created_at = format_instant(signed.at)
    body = copied(DispositionBody, disposition, created_at=created_at, warnings=signed.warnings)
    fact = ChainFactRow(
        tenant_id=program.tenant_id,
        program_id=program.id,
        chain=Chain.DISPOSITIONS.value,
        id=signed.id,
        shard=position.shard,
        offset=position.offset,
        body=canonical(body).decode(),
        created_at=signed.at,
    )
    return disposition, fact


def result_row(
    program: ProgramState,
    position: EntryPosition,
    result: EntryResult,
    kind: ResultKind,
    entry_id: str,
    *,
    alert_id: str | None = None,
    transfer_id: str | None = None,
    disposition_id: str | None = None,
    opened_alert_id: str | None = None,
) -> EntryResultRow:
    """The result of an entry that decides, appeals or labels."""
    return EntryResultRow(
        *position.first_columns(program.tenant_id, program.id, entry_id),
        kind=kind.value,
        alert_id=alert_id,
        transfer_id=transfer_id,
        result=result.value,
        disposition_id=disposition_id,
        opened_alert_id=opened_alert_id,
        created_at=position.appended_at,
    )
