"""From a transfer that was assessed to alerts: each hit opens one, joins the one that covers it, or upgrades it.

One alert a detector, a subject and a window, counted from the first hit. A later hit inside joins it: a waiting or
automatically closed alert is written anew at its 2nd, 4th, 8th ... hit, and a waiting one at once when the hit is
graver than all before; what a person closed stays as it was decided on. A hit opens an alert of its own when the one
that covers it was closed by a person and the hit is graver, or by the policy and the policy would not close this one.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final

import msgspec

from features.alerts.evidence import evidence_of, refreshed, subject_key, text_of
from features.alerts.narrative import Draft, draft_of, policy_close
from features.alerts.rows import SignedDecision, alert_body_row, alert_id_of, alert_row, derived_from, disposition_rows
from features.bank.event_families import UNAUTHORIZED_RETURN_CODES
from features.core.instants import format_instant
from features.core.log_entry import EntryPosition
from features.core.reason import Reason
from features.core.rows.alerts import AlertRow, LabelRow
from features.core.rows.emit import Emit
from features.core.vocabulary import (
    AlertDecision,
    AlertStatus,
    Band,
    LabelSource,
    LabelValue,
    Route,
    Severity,
    SubjectType,
)
from features.detectors.detector import DetectionContext, Finding, Grade, worse_of
from features.detectors.finding import FED_BY_RETURNS, measured_finding, reason_findings, return_findings
from features.detectors.on_programs import ProgramMeasurement, measured_at
from features.detectors.table import TRIGGERS
from features.landing.landing import LandingResult
from features.measurement.assess import Assessment
from features.policy.in_force import InForce, policy_in_force
from features.policy.routing import Routing, RoutingInput, route
from features.scorers.trs_v1 import scorer as trs_v1
from features.state.alert_book import Alert
from features.state.program import ProgramState
from features.state.transfer_table import ReturnState

_CLOSED, _AUTO_CLOSED = AlertStatus.CLOSED.value, AlertStatus.AUTO_CLOSED.value
_ACTORS: Final = frozenset({SubjectType.ENTITY, SubjectType.COUNTERPARTY, SubjectType.ACCOUNT})
_OPEN, _HELD = AlertStatus.OPEN.value, AlertStatus.HELD.value


def run_detectors(program: ProgramState, landed: LandingResult, when: EntryPosition, emit: Emit) -> None:
    """Ask every detector about a transfer that was assessed; label one whose unauthorized return stands, or falls."""
    assessment, row = landed.assessment, landed.row
    if assessment is None or row is None:
        return
    fired = _fired(assessment)
    measured = measured_at(program, assessment.vector, landed.taken_at) if landed.is_new else ()
    returned, lifted = _is_newly_returned(program, landed), _is_lifted(program, landed)
    if not measured and not returned and not lifted and not any(reason.id in TRIGGERS for reason in fired):
        return
    context = DetectionContext(program, row.id, landed, assessment, fired)
    rows: list[msgspec.Struct] = []
    for finding in _findings(context, measured, program.returned[landed.row_index].at if returned else None):
        _take(context, finding, when, rows.append)
    _emit_newest(rows, emit)
    if returned:
        emit(_label(program, landed, LabelValue.BAD, f"Returned as {row.return_code}.", when))
    elif lifted:
        emit(_label(program, landed, LabelValue.OK, f"The return as {row.return_code} was dishonoured.", when))


def run_actor_detectors(program: ProgramState, landed: LandingResult, when: EntryPosition, emit: Emit) -> None:
    """Ask the detectors of actors about a transfer that is known; a hit that an alert covers changes nothing."""
    assessment, row = landed.assessment, landed.row
    if assessment is None or row is None:
        return
    context = DetectionContext(program, row.id, landed, assessment, _fired(assessment))
    returned = program.returned.get(landed.row_index)
    returned_at = None if returned is None or not _stands_unauthorized(returned) else returned.at
    for finding in _findings(context, (), returned_at):
        if finding.subject.type in _ACTORS and _covering(context, finding) is None:
            _take(context, finding, when, emit)


def _emit_newest(rows: Sequence[msgspec.Struct], emit: Emit) -> None:
    """An alert that several hits of one entry changed is written once, as the last of them left it."""
    newest = {row.id: row for row in rows if isinstance(row, AlertRow)}
    for row in rows:
        if not isinstance(row, AlertRow) or newest[row.id] is row:
            emit(row)


def _fired(assessment: Assessment) -> tuple[Reason, ...]:
    """Every reason that fired, whether the transfer has a score or not."""
    score = assessment.score
    return score.reasons if score.value is not None else tuple(trs_v1.fired(assessment.vector))


def _findings(
    context: DetectionContext, measured: Sequence[ProgramMeasurement], returned_at: int | None
) -> Iterator[Finding]:
    yield from reason_findings(context)
    for each in measured:
        yield measured_finding(context, each, context.at)
    if returned_at is not None:
        yield from return_findings(context, returned_at)


def _take(context: DetectionContext, finding: Finding, when: EntryPosition, emit: Emit) -> None:
    policies = policy_in_force(context.program.id, when.appended_at)
    routed = route(_routing_input(context, finding), policies.policy)
    held = _covering(context, finding)
    if held is None or not _joins(held, context, finding, routed):
        _open(context, finding, routed, policies, when, emit)
    else:
        _join(held, context, finding, routed, policies, when, emit)


def _routing_input(context: DetectionContext, finding: Finding) -> RoutingInput:
    """An alert on the program has no score of its own."""
    on_program = finding.subject.type is SubjectType.PROGRAM
    score = context.assessment.score
    return RoutingInput(
        detector=finding.detector.id,
        severity=finding.grade.severity,
        hard=finding.grade.hard,
        score=None if on_program else score.value,
        band=None if on_program else score.band,
        program_n=context.vector.program_n_90d,
        degraded=context.assessment.degraded,
    )


def _covering(context: DetectionContext, finding: Finding) -> Alert | None:
    """The newest alert that covers the hit; on a transfer there is one for good."""
    if finding.subject.type is SubjectType.TRANSFER:
        return _newest_called(context.program, subject_key(finding))[0]
    return context.program.alerts.alert_at(subject_key(finding), finding.at)


def _newest_called(program: ProgramState, key: str) -> tuple[Alert | None, str]:
    """The newest alert of a dedupe key, and the key that the next one would have."""
    newest, free = None, key
    for number in count(2):
        alert = program.alerts.get(alert_id_of(program.id, free))
        if alert is None:
            break
        newest, free = alert, f"{key}:{number}"
    return newest, free


def _joins(held: Alert, context: DetectionContext, finding: Finding, routed: Routing) -> bool:
    if held.status == _AUTO_CLOSED:
        return routed.route is Route.AUTOMATED
    return held.waits or not _is_worse(held, context, finding)


def _is_worse(held: Alert, context: DetectionContext, finding: Finding) -> bool:
    so_far = Grade(Severity(held.severity), held.hard)
    return worse_of(so_far, finding.grade) != so_far or (_in_hold(context, finding) and not held.in_hold)


def _in_hold(context: DetectionContext, finding: Finding) -> bool:
    return finding.subject.type is not SubjectType.PROGRAM and context.assessment.score.band is Band.HOLD


def _open(
    context: DetectionContext, finding: Finding, routed: Routing, policies: InForce, when: EntryPosition, emit: Emit
) -> None:
    program, opened_at = context.program, when.appended_at
    alert = _new_alert(context, finding, routed, policies, opened_at)
    evidence = evidence_of(context, finding, alert, routed, policies)
    is_automated = routed.route is Route.AUTOMATED
    draft = (policy_close if is_automated else draft_of)(alert, evidence, program_id=program.id)
    alert.recommendation = draft.recommendation.value
    alert.set_texts(_summary(finding), text_of(evidence), text_of(draft))
    body = alert_body_row(program, alert, evidence, draft, when)
    rows = [alert_row(program, alert, when), body]
    if is_automated:
        rows += _closed_by_policy(program, alert, draft, policies, when)
    if finding.subject.type is not SubjectType.TRANSFER:
        program.alerts.open_window(subject_key(finding), finding.after, alert)
    program.alerts.keep(alert)
    _take_hit(context, finding, alert)
    for row in rows:
        emit(row)


def _new_alert(
    context: DetectionContext, finding: Finding, routed: Routing, policies: InForce, opened_at: int
) -> Alert:
    program, asked = context.program, _routing_input(context, finding)
    key = subject_key(finding)
    if finding.subject.type is not SubjectType.TRANSFER:
        key = f"{key}:{format_instant(finding.at)}"
    _, dedupe_key = _newest_called(program, key)
    return Alert(
        id=alert_id_of(program.id, dedupe_key),
        detector=finding.detector.id,
        severity=finding.grade.severity.value,
        subject_type=finding.subject.type.value,
        subject_id=finding.subject.id,
        transfer_id=None if finding.subject.type is SubjectType.PROGRAM else context.transfer_id,
        score=asked.score,
        band=None if asked.band is None else asked.band.value,
        hard=finding.grade.hard,
        in_hold=_in_hold(context, finding),
        status=routed.status.value,
        route=routed.route.value,
        policy_version=policies.policy.version,
        opened_at=opened_at,
        closed_at=opened_at if routed.route is Route.AUTOMATED else None,
        dedupe_key=dedupe_key,
        due_at=routed.due_at(policies.clock, opened_at),
        escalated_at=None,
        sla_tier=routed.sla_tier.value,
        appeal_of=None,
        alert_sha256="",
        recommendation=None,
        ends_at=finding.until,
        hits=1,
        cents=context.vector.amount_cents,
        first_at=context.at,
        last_at=context.at,
        newest=(context.transfer_id,),
        made=(),
        said=b"",
    )


def _join(
    held: Alert,
    context: DetectionContext,
    finding: Finding,
    routed: Routing,
    policies: InForce,
    when: EntryPosition,
    emit: Emit,
) -> None:
    book = context.program.alerts
    if book.is_packed(held.id):
        return  # it is decided, and its time is over: a late hit changes nothing
    is_worse = _is_worse(held, context, finding)
    is_news = finding.is_news and _take_hit(context, finding, held)
    if is_news:
        held.count(context.transfer_id, context.at, context.vector.amount_cents)
    if held.status == _CLOSED or not ((is_worse and held.waits) or (is_news and held.hits & (held.hits - 1) == 0)):
        return
    if is_worse:
        _upgrade(held, context, finding)
        if held.status == _OPEN and routed.auto_hold:
            held.status = _HELD
    evidence = refreshed(held.texts[1], evidence_of(context, finding, held, routed, policies))
    draft = (draft_of if held.waits else policy_close)(held, evidence, program_id=context.program.id)
    held.recommendation = draft.recommendation.value
    held.set_texts(_summary(finding), text_of(evidence), text_of(draft))
    emit(alert_row(context.program, held, when))


def _take_hit(context: DetectionContext, finding: Finding, alert: Alert) -> bool:
    """True unless the transfer is a hit of the alert already: one that landed in it may come back, and hit it anew."""
    book, row_index = context.program.alerts, context.landed.row_index
    return finding.detector.id not in FED_BY_RETURNS or book.take_hit(alert.id, row_index)


def _upgrade(held: Alert, context: DetectionContext, finding: Finding) -> None:
    severity, held.hard = worse_of(Grade(Severity(held.severity), held.hard), finding.grade)
    held.severity = severity.value
    held.in_hold |= _in_hold(context, finding)


def _closed_by_policy(
    program: ProgramState, alert: Alert, draft: Draft, policies: InForce, when: EntryPosition
) -> tuple[msgspec.Struct, ...]:
    signed = SignedDecision(
        id=derived_from(alert.id, policies.policy.version),
        decided_by=f"policy:{policies.policy.version}",
        decision=AlertDecision.CLOSE.value,
        narrative=draft.narrative,
        overturns_draft=None,
        policy_version=policies.policy.version,
        policy_sha256=policies.sha256,
        at=alert.opened_at,
    )
    alert.made = (signed.id,)
    return disposition_rows(program, alert, signed, when)


def _summary(finding: Finding) -> str:
    return f"{finding.detector.id} on {finding.subject.type} {finding.subject.id}: {finding.sentence}"


def _stands_unauthorized(returned: ReturnState) -> bool:
    return returned.code in UNAUTHORIZED_RETURN_CODES and returned.counts


def _is_newly_returned(program: ProgramState, landed: LandingResult) -> bool:
    """True when an unauthorized return is delivered that stands, and again when one that was dishonoured does."""
    state, labelled_by_return = program.returned.get(landed.row_index), program.alerts.labelled_by_return
    if state is None or not _stands_unauthorized(state) or landed.row_index in labelled_by_return:
        return False
    labelled_by_return.add(landed.row_index)
    return True


def _is_lifted(program: ProgramState, landed: LandingResult) -> bool:
    """True when the return that labelled a transfer stands no more, and no person has said what the transfer is."""
    book = program.alerts
    if landed.row_index not in book.labelled_by_return or program.returned[landed.row_index].counts:
        return False
    book.labelled_by_return.remove(landed.row_index)
    return landed.row_index not in book.labelled_by_person


def _label(
    program: ProgramState, landed: LandingResult, value: LabelValue, reason: str, when: EntryPosition
) -> LabelRow:
    row = landed.row
    assert row is not None
    return LabelRow(
        program.tenant_id,
        program.id,
        derived_from(row.id, f"{program.id}/{when.offset}"),
        when.shard,
        when.offset,
        row.id,
        value.value,
        reason,
        LabelSource.RETURN.value,
        "bank",
        when.event_at,
    )
