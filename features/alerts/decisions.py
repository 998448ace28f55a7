"""Applies decisions, appeals and labels to the alerts and transfers of a program, or records why one was refused.

From    open: close, hold, escalate, no_action; held: release, close, escalate, no_action, and hold as the first
        decision, when the policy held it; escalated: close, hold, no_action; auto_closed: all but release; closed is
        final, and an appeal opens a new alert
To      close, no_action and release: closed; hold: held; escalate: escalated
Errors  none: a refusal is a word of ``EntryResult`` in the entry's result
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from clearhold.features.alerts.evidence import appeal_evidence, text_of
from clearhold.features.alerts.evidence_bodies import AppealedAlert
from clearhold.features.alerts.labelling import note_label
from clearhold.features.alerts.rows import (
    alert_body_row,
    alert_id_of,
    alert_row,
    alert_transfer_rows,
    result_row,
)
from clearhold.features.alerts.signing import sign, signer
from clearhold.features.core.entries.commands import (
    AppealEntry,
    DecisionEntry,
    EntryResult,
    LabelEntry,
    ResultKind,
    needs_person,
)
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.rows.alerts import LabelRow
from clearhold.features.core.rows.record import Emit
from clearhold.features.core.vocabulary import AlertDecision, AlertStatus, Route, SlaTier
from clearhold.features.parties.actor_scores import settle_clearings
from clearhold.features.policy.in_force import InForce, policy_in_force
from clearhold.features.policy.routing import hours_us
from clearhold.features.state.alert_state import AlertState
from clearhold.features.state.program import ProgramState

_CLOSE, _HOLD, _ESCALATE = AlertDecision.CLOSE, AlertDecision.HOLD, AlertDecision.ESCALATE
_RELEASE, _NO_ACTION = AlertDecision.RELEASE, AlertDecision.NO_ACTION
ALLOWED: Final[Mapping[AlertStatus, frozenset[AlertDecision]]] = {
    AlertStatus.OPEN: frozenset({_CLOSE, _HOLD, _ESCALATE, _NO_ACTION}),
    AlertStatus.HELD: frozenset({_RELEASE, _CLOSE, _ESCALATE, _NO_ACTION}),
    AlertStatus.ESCALATED: frozenset({_CLOSE, _HOLD, _NO_ACTION}),
    AlertStatus.AUTO_CLOSED: frozenset({_CLOSE, _HOLD, _ESCALATE, _NO_ACTION}),
    AlertStatus.CLOSED: frozenset(),
}


def decide(program: ProgramState, entry: DecisionEntry, position: EntryPosition, emit: Emit) -> None:
    """Apply the decision if the alert's status allows it; an entry that was applied before changes nothing."""
    alert = program.alerts.get(entry.alert_id)
    if alert is not None and entry.id in alert.disposition_ids:
        return
    result = result_of(program, alert, entry, position)
    if alert is None or result is not EntryResult.MADE:
        emit(result_row(program, position, result, ResultKind.DECISION, entry.id, alert_id=entry.alert_id))
        return
    sign(program, alert, entry, position, emit)
    kind = ResultKind.DECISION
    emit(result_row(program, position, result, kind, entry.id, alert_id=alert.id, disposition_id=entry.id))


def result_of(
    program: ProgramState, alert: AlertState | None, entry: DecisionEntry, position: EntryPosition
) -> EntryResult:
    """``made`` for a decision that may be signed, or the reason why not."""
    if alert is None:
        return EntryResult.UNKNOWN
    if alert.status is AlertStatus.CLOSED:
        return EntryResult.FINAL
    if needs_person(entry.operator_kind, alert.status, alert.route):
        return EntryResult.NEEDS_PERSON
    is_first_hold = entry.decision is _HOLD and alert.newest_disposition_id is None
    if entry.decision not in ALLOWED[alert.status] and not is_first_hold:
        return EntryResult.NOT_HELD if entry.decision is _RELEASE else EntryResult.ALREADY
    policy = policy_in_force(program, position.appended_at).policy
    if len(entry.narrative.strip()) < policy.least_narrative(alert.severity, hard=alert.hard):
        return EntryResult.NARRATIVE_TOO_SHORT
    return EntryResult.MADE


def appeal(program: ProgramState, entry: AppealEntry, position: EntryPosition, emit: Emit) -> None:
    """Open the one appeal of a closed alert. One that the policy closed has no appeal: a person may decide it."""
    book = program.alerts
    old = book.get(entry.alert_id)
    earlier = book.get(alert_id_of(program.id, appeal_key(entry.alert_id)))
    if earlier is not None and entry.id in earlier.disposition_ids:
        return
    result = EntryResult.MADE
    if old is None:
        result = EntryResult.UNKNOWN
    elif old.status is not AlertStatus.CLOSED:
        result = EntryResult.NOT_FINAL
    elif earlier is not None:
        result = EntryResult.APPEALED
    if old is None or result is not EntryResult.MADE:
        emit(result_row(program, position, result, ResultKind.APPEAL, entry.id, alert_id=entry.alert_id))
        return
    policies = policy_in_force(program, position.appended_at)
    alert = _appeal_of(old, entry, policies, position.appended_at, program.id)
    against = AppealedAlert(alert_id=old.id, status=old.status, reason=entry.reason, by=signer(entry.operator))
    evidence = appeal_evidence(old, against, policies, auto_hold=alert.status is AlertStatus.HELD)
    about = f"{old.detector} on {old.subject_type} {old.subject_id}"
    book.set_texts(alert, (f"Appeal of alert {old.id}: {about}.", text_of(evidence), None))
    body = alert_body_row(program, alert, evidence, None, position)
    book.put(alert)
    program.clearings.appeal(alert.id, old.id)
    program.day_tallies.count_alert(alert.opened_at, closed=False)
    emit(alert_row(program, alert, position))
    emit(body)
    rows = [row for each in alert.transfers if (row := program.transfers.row_of(each)) is not None]
    for of_transfer in alert_transfer_rows(program, alert, rows, position):
        emit(of_transfer)
    settle_clearings(program, position, emit)
    kind = ResultKind.APPEAL
    emit(result_row(program, position, result, kind, entry.id, alert_id=old.id, opened_alert_id=alert.id))


def appeal_key(alert_id: str) -> str:
    """The dedupe key of the appeal against an alert."""
    return f"appeal:{alert_id}"


def _appeal_of(old: AlertState, entry: AppealEntry, policies: InForce, opened_at: int, program_id: str) -> AlertState:
    """An alert of the same detector on the same subject, for a person to decide, without a draft."""
    key = appeal_key(old.id)
    auto_hold = policies.policy.hold_band_auto_hold and old.in_hold
    return msgspec.structs.replace(
        old,
        id=alert_id_of(program_id, key),
        status=AlertStatus.HELD if auto_hold else AlertStatus.OPEN,
        route=Route.REVIEWED,
        policy_version=policies.policy.version,
        opened_at=opened_at,
        closed_at=None,
        dedupe_key=key,
        due_at=opened_at + hours_us(policies.clock, SlaTier.APPEAL),
        escalated_at=None,
        sla_tier=SlaTier.APPEAL,
        from_history=False,
        appeal_of=old.id,
        alert_sha256="",
        recommendation=None,
        ends_at=opened_at,
        disposition_ids=(entry.id,),
        stored_texts=b"",
    )


def label(program: ProgramState, entry: LabelEntry, position: EntryPosition, emit: Emit) -> None:
    """Record the label of a transfer, once for each entry's id."""
    row = program.transfers.row_of(entry.transfer_id)
    result = EntryResult.UNKNOWN if row is None else EntryResult.MADE
    if row is not None and not program.alerts.add_label(entry.id):
        return
    if row is not None:
        program.alerts.labelled_by_person.add(row)
        program.clearings.label(row, entry.label)
        settle_clearings(program, position, emit)
        note_label(program, row, entry.label, position)
        emit(
            LabelRow(
                tenant_id=program.tenant_id,
                program_id=program.id,
                id=entry.id,
                shard=position.shard,
                offset=position.offset,
                transfer_id=entry.transfer_id,
                label=entry.label.value,
                reason=entry.reason,
                source=entry.source.value,
                recorded_by=entry.recorded_by,
                created_at=min(entry.at, position.appended_at),
            )
        )
    emit(result_row(program, position, result, ResultKind.LABEL, entry.id, transfer_id=entry.transfer_id))
