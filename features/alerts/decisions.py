"""Applies decisions and appeals to the alerts of a program, or records why one was refused.

From    open: close, hold, escalate, no_action; held: release, close, escalate, no_action, and hold as the first
        decision, when the policy held it; escalated: close, hold, no_action; auto_closed: all but release; closed is
        final, and an appeal opens a new alert
To      close, no_action and release: closed; hold: held; escalate: escalated
Warns   where the decision contradicts an action that was executed on the same transfer, card or account. An alert is
        also on the transfers that its evidence rests on, and one on an entity on all accounts of the entity
Errors  none: a refusal is a word of ``EntryResult`` in the entry's result
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from clearhold.features.alerts.evidence import appeal_evidence, with_totals
from clearhold.features.alerts.evidence_bodies import AppealedAlert, Escalation, Recommendation
from clearhold.features.alerts.rows import (
    SignedDecision,
    alert_body_row,
    alert_id_of,
    alert_row,
    disposition_rows,
    emit_transfers,
    result_row,
)
from clearhold.features.alerts.stacks import place_in_stack
from clearhold.features.core.canonical import json_text
from clearhold.features.core.entries.actions import ActionType
from clearhold.features.core.entries.commands import (
    AppealEntry,
    DecisionEntry,
    DecisionWarning,
    EntryResult,
    OperatorKind,
    ResultKind,
    needs_person,
)
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import Emit, EntryPosition
from clearhold.features.core.plain_text import without_invisible
from clearhold.features.core.principal import is_key_operator
from clearhold.features.core.vocabulary import AlertDecision, AlertStatus, Route, SlaTier, SubjectType, words
from clearhold.features.detectors.amount import STRUCTURING
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.parties.actor_scores import settle_clearings
from clearhold.features.policy.in_force import InForce, policy_in_force
from clearhold.features.policy.routing import RouteReason, hours_us, tier_of
from clearhold.features.state.alert_book import AlertBook
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
BECOMES: Final[Mapping[AlertDecision, AlertStatus]] = {
    AlertDecision.CLOSE: AlertStatus.CLOSED,
    AlertDecision.NO_ACTION: AlertStatus.CLOSED,
    AlertDecision.RELEASE: AlertStatus.CLOSED,
    AlertDecision.HOLD: AlertStatus.HELD,
    AlertDecision.ESCALATE: AlertStatus.ESCALATED,
}
_RECOMMENDED_FOR: Final = {
    AlertStatus.CLOSED: Recommendation.CLOSE,
    AlertStatus.HELD: Recommendation.HOLD,
    AlertStatus.ESCALATED: Recommendation.ESCALATE,
}
CLOSING: Final = frozenset(decision for decision, status in BECOMES.items() if status is AlertStatus.CLOSED)
_STOPPED: Final = (
    ActionType.CANCEL_TRANSFER,
    ActionType.FREEZE_ACCOUNT,
    ActionType.PAUSE_CARD,
    ActionType.SUSPEND_CARD_ACCOUNT,
)
_LET_GO: Final = (ActionType.CLEAR_HOLD,)
_ACCOUNTS: Final = ("account", "card_account")


_SENTENCE: Final = (
    "This decision contradicts the action {action_id}, {type} of {target_type} {target_id}, which was executed: "
    "the decision does not undo it."
)


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
    if len(without_invisible(entry.narrative).strip()) < policy.least_narrative(alert.severity, hard=alert.hard):
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
    place_in_stack(program, alert, alert.opened_at, None)
    against = AppealedAlert(alert_id=old.id, status=old.status, reason=entry.reason, by=signer(entry.operator))
    evidence = appeal_evidence(old, against, policies, auto_hold=alert.status is AlertStatus.HELD)
    about = f"{words(old.detector)} on {old.subject_type} {old.subject_id}"
    book.set_texts(alert, (f"Appeal of alert {old.id}: {about}.", json_text(evidence), None))
    body = alert_body_row(program, alert, evidence, None, position)
    book.put(alert)
    program.clearings.decide(_rows_of(program, alert), waited=False, waits=True, by_person=False)
    program.day_tallies.count_alert(alert.opened_at, closed=False)
    emit(alert_row(program, alert, position))
    emit(body)
    named = (known for known in map(program.transfers.row_of, alert.newest_transfers) if known is not None)
    emit_transfers(program, alert, (*named, *alert.older()), position, emit)
    settle_clearings(program, position, emit)
    emit(result_row(program, position, result, ResultKind.APPEAL, entry.id, alert_id=old.id, opened_alert_id=alert.id))


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
        older_rows=old.older_rows and old.older_rows.copy(),
        disposition_ids=(entry.id,),
        stack_id=None,
        stack_kind=None,
        stack_key=None,
        stored_texts=b"",
    )


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
    policies, at = policy_in_force(program, position.appended_at), min(entry.at, position.appended_at)
    decided_by, draft = signer(entry.operator), alert.recommendation
    signed = SignedDecision(
        id=entry.id,
        decided_by=decided_by,
        decision=entry.decision,
        narrative=entry.narrative,
        overturns_draft=None if draft is None else _RECOMMENDED_FOR[BECOMES[entry.decision]] != draft,
        policy_version=policies.policy.version,
        policy_sha256=policies.sha256,
        at=at,
        action_id=action_id,
        warnings=warnings_of(program, alert, entry.decision),
        identity=entry.identity,
    )
    _tally(program, alert, entry, signed)
    waited, by_person = alert.waits, entry.operator_kind is OperatorKind.PERSON
    _apply(program.alerts, alert, entry.decision, policies, at, decided_by)
    if alert.waits and alert.stack_id is None:  # the policy had closed it
        transfer = None if alert.transfer_id is None else StoredTransfer.find(program, alert.transfer_id)
        place_in_stack(program, alert, alert.last_at, transfer)
    alert.disposition_ids = (*alert.disposition_ids, entry.id)
    program.clearings.decide(_rows_of(program, alert), waited=waited, waits=alert.waits, by_person=by_person)
    if by_person:
        program.closing_evidence.review(alert.id, position.appended_at, overturned=entry.decision not in CLOSING)
    program.alerts.put(alert)
    if alert.detector == STRUCTURING:
        program.alerts.mark_decided(alert.detector, alert.subject_type, alert.subject_id)
    emit(alert_row(program, alert, position))
    for row in disposition_rows(program, alert, signed, position):
        emit(row)
    settle_clearings(program, position, emit)


def _rows_of(program: ProgramState, alert: AlertState) -> list[int]:
    """The transfers that a decision on the alert is on, too; an alert on the program is on none."""
    named = () if alert.subject_type is SubjectType.PROGRAM else alert.newest_transfers
    newest = {row for each in named if (row := program.transfers.row_of(each)) is not None}
    return sorted(newest.union(alert.older()))


def signer(operator: str) -> str:
    """The signer's name on the record; a key's name already has its prefix."""
    return operator if is_key_operator(operator) else f"operator:{operator}"


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


def warnings_of(program: ProgramState, alert: AlertState, decision: AlertDecision) -> tuple[DecisionWarning, ...]:
    """One for each executed action that the decision contradicts, the newest of each type and target."""
    if not program.actions.has_executed:
        return ()
    against = _STOPPED if decision in CLOSING else _LET_GO
    contradicted = (
        {"action_id": action_id, "type": action_type, "target_type": target_type, "target_id": target_id}
        for target_type, target_id in sorted(set(_targets(program, alert)))
        for action_type, action_id in sorted(program.actions.executed_on(target_type, target_id).items())
        if action_type in against
    )
    return tuple(DecisionWarning(**each, sentence=_SENTENCE.format(**each)) for each in contradicted)


def _targets(program: ProgramState, alert: AlertState) -> Iterator[tuple[str, str]]:
    """The targets that an action on the alert's subject and transfers may have."""
    if alert.subject_type is SubjectType.ACCOUNT:
        yield from _account(alert.subject_id)
    for transfer_id in alert.transfers:
        yield "transfer", transfer_id
        transfer = StoredTransfer.find(program, transfer_id)
        if transfer is None:
            continue
        account_id, card_id = transfer.account_id(), program.card_table.id_of(transfer.record.card)
        if account_id is not None:
            yield from _account(account_id)
        if card_id is not None:
            yield "card", card_id
    if alert.subject_type is not SubjectType.PROGRAM:
        evidence = msgspec.json.decode(program.alerts.texts(alert)[1])
        rests_on = frozenset(evidence.get("restsOn", ()))  # an appeal rests on none
        for target_type, target_id in program.actions.executed_targets():
            if _concerns(program, alert, rests_on, target_type, target_id):
                yield target_type, target_id


def _concerns(
    program: ProgramState, alert: AlertState, rests_on: frozenset[str], target_type: str, target_id: str
) -> bool:
    """Whether the target is an account of the alert's entity, an older transfer of the alert, or one that the evidence
    rests on, which names the entry that delivered it: the newest one, or the one that scored it.
    """
    if target_type in _ACCOUNTS:
        return alert.subject_type is SubjectType.ENTITY and program.accounts.owner_of(target_id) == alert.subject_id
    transfer = StoredTransfer.find(program, target_id) if target_type == "transfer" else None
    if transfer is None:
        return False
    offsets = transfer.record.raw_offset, transfer.record.scored_offset
    return alert.has_older(transfer.row_index) or not rests_on.isdisjoint(map(str, offsets))


def _account(account_id: str) -> Iterator[tuple[str, str]]:
    return ((target_type, account_id) for target_type in _ACCOUNTS)
