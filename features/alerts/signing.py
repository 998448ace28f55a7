"""Signs a decision on an alert: its new status, the disposition and its link, and its counts."""

from collections.abc import Mapping
from typing import Final

from clearhold.features.alerts.contradictions import warnings_of
from clearhold.features.alerts.evidence import with_totals
from clearhold.features.alerts.evidence_bodies import Escalation
from clearhold.features.alerts.rows import SignedDecision, alert_row, disposition_rows
from clearhold.features.core.entries.commands import DecisionEntry, OperatorKind
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.principal import is_key_operator
from clearhold.features.core.rows.record import Emit
from clearhold.features.core.vocabulary import AlertDecision, AlertStatus, Route
from clearhold.features.detectors.amount import STRUCTURING
from clearhold.features.parties.actor_scores import settle_clearings
from clearhold.features.policy.in_force import InForce, policy_in_force
from clearhold.features.policy.routing import RouteReason, hours_us, tier_of
from clearhold.features.state.alert_book import AlertBook
from clearhold.features.state.alert_state import AlertState
from clearhold.features.state.program import ProgramState

BECOMES: Final[Mapping[AlertDecision, AlertStatus]] = {
    AlertDecision.CLOSE: AlertStatus.CLOSED,
    AlertDecision.NO_ACTION: AlertStatus.CLOSED,
    AlertDecision.RELEASE: AlertStatus.CLOSED,
    AlertDecision.HOLD: AlertStatus.HELD,
    AlertDecision.ESCALATE: AlertStatus.ESCALATED,
}
_RECOMMENDATION_OF: Final = {
    AlertDecision.CLOSE: "close",
    AlertDecision.NO_ACTION: "close",
    AlertDecision.RELEASE: "close",
    AlertDecision.HOLD: "hold",
    AlertDecision.ESCALATE: "escalate",
}
CLOSING: Final = frozenset(decision for decision, status in BECOMES.items() if status is AlertStatus.CLOSED)


def sign(
    program: ProgramState,
    alert: AlertState,
    entry: DecisionEntry,
    position: EntryPosition,
    emit: Emit,
    *,
    action_id: str | None = None,
) -> None:
    """Sign a decision that the alert's status allows; ``action_id`` is the action that it follows from."""
    policies = policy_in_force(program, position.appended_at)
    at = min(entry.at, position.appended_at)
    decided_by = signer(entry.operator)
    signed = SignedDecision(
        id=entry.id,
        decided_by=decided_by,
        decision=entry.decision,
        narrative=entry.narrative,
        overturns_draft=_overturns(alert.recommendation, entry.decision),
        policy_version=policies.policy.version,
        policy_sha256=policies.sha256,
        at=at,
        action_id=action_id,
        warnings=warnings_of(program, alert, entry.decision),
        identity=entry.identity,
    )
    _tally(program, alert, entry, signed)
    _apply(program.alerts, alert, entry.decision, policies, at, decided_by)
    alert.disposition_ids = (*alert.disposition_ids, entry.id)
    if entry.operator_kind is OperatorKind.PERSON:
        program.clearings.decide(alert.id, waits=alert.waits)
        program.closing_evidence.review(alert.id, position.appended_at, overturned=entry.decision not in CLOSING)
    program.alerts.put(alert)
    if alert.detector == STRUCTURING:
        program.alerts.mark_decided(alert.detector, alert.subject_type, alert.subject_id)
    emit(alert_row(program, alert, position))
    for row in disposition_rows(program, alert, signed, position):
        emit(row)
    settle_clearings(program, position, emit)


def signer(operator: str) -> str:
    """The signer's name on the record; a key's name already has its prefix."""
    return operator if is_key_operator(operator) else f"operator:{operator}"


def _overturns(recommendation: str | None, decision: AlertDecision) -> bool | None:
    """Whether the decision contradicts the draft; None without a draft."""
    return None if recommendation is None else _RECOMMENDATION_OF[decision] != recommendation


def _tally(program: ProgramState, alert: AlertState, entry: DecisionEntry, signed: SignedDecision) -> None:
    """Count the decision of a person; the first one on an alert also with the alert's waiting time."""
    if entry.operator_kind is not OperatorKind.PERSON:
        return
    if alert.newest_disposition_id is None:
        program.day_tallies.count_first_decision(signed.at, alert.opened_at)
    if signed.overturns_draft is not None:
        program.day_tallies.count_review(signed.at, overturned=signed.overturns_draft)


def _apply(
    book: AlertBook, alert: AlertState, decision: AlertDecision, policies: InForce, at: int, decided_by: str
) -> None:
    """Change the alert's status. An alert that the policy had closed waits again, on a person's clock."""
    was_closed = alert.status is AlertStatus.AUTO_CLOSED
    alert.status = BECOMES[decision]
    alert.closed_at = None if alert.waits else at
    if was_closed and alert.waits:
        tier = tier_of(alert.severity, hard=alert.hard)
        alert.sla_tier, alert.due_at = tier, at + hours_us(policies.clock, tier)
        alert.route = Route.REVIEWED
    escalation = Escalation(at=format_instant(at), by=decided_by) if decision is AlertDecision.ESCALATE else None
    summary, evidence, draft = book.texts(alert)
    reopened = RouteReason.REOPENED if was_closed and alert.waits else None
    book.set_texts(alert, (summary, with_totals(evidence, alert, escalation, reopened), draft))
