"""From a transfer that was assessed to alerts: each hit opens one, joins the one that covers it, or upgrades it.

One alert a detector, a subject and a window, counted from the first hit. A later hit inside joins it: a waiting or
automatically closed alert is written anew at its 2nd, 4th, 8th ... hit, and a waiting one at once when the hit is
graver than all before; what a person closed stays as it was decided on. A hit opens an alert of its own when the one
that covers it was closed by a person and the hit is graver, or by the policy and the policy would not close this one.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Final

import msgspec

from features.alerts.evidence import evidence_of, refreshed, subject_key, text_of
from features.alerts.narrative import Draft, draft_of, policy_close
from features.alerts.rows import Signed, alert_id_of, alert_row, derived_from, disposition_rows, sealed
from features.bank.event_families import UNAUTHORIZED_RETURN_CODES
from features.core.instants import format_instant
from features.core.reason import Reason
from features.core.rows import AlertRow, LabelRow
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
from features.detectors.detector import Gravity, Hit, Scene, graver
from features.detectors.finding import FED_BY_RETURNS, measured_hit, reason_hits, return_hits
from features.detectors.on_programs import Measured, measured_at
from features.detectors.table import LINES
from features.landing.landing import Landed
from features.landing.stored_transfer import When
from features.measurement.assess import Assessment
from features.policy.in_force import InForce, policy_in_force
from features.policy.routing import Question, Routing, route
from features.scorers.trs_v1 import scorer as trs_v1
from features.state.alert_book import Alert
from features.state.program import ProgramState
from features.state.transfer_table import ReturnState

Emit = Callable[[msgspec.Struct], None]

_CLOSED, _AUTO_CLOSED = AlertStatus.CLOSED.value, AlertStatus.AUTO_CLOSED.value
_ACTORS: Final = frozenset({SubjectType.ENTITY, SubjectType.COUNTERPARTY, SubjectType.ACCOUNT})
_OPEN, _HELD = AlertStatus.OPEN.value, AlertStatus.HELD.value


def watch(program: ProgramState, landed: Landed, when: When, emit: Emit) -> None:
    """Ask every detector about a transfer that was assessed; label one whose unauthorized return stands, or falls."""
    assessment, row = landed.assessment, landed.row
    if assessment is None or row is None:
        return
    fired = _fired(assessment)
    measured = measured_at(program, assessment.vector, landed.taken_at) if landed.is_new else ()
    returned, lifted = _is_newly_returned(program, landed), _is_lifted(program, landed)
    if not measured and not returned and not lifted and not any(reason.id in LINES for reason in fired):
        return
    scene = Scene(program, row.id, landed, assessment, fired)
    rows: list[msgspec.Struct] = []
    for hit in _hits(scene, measured, program.returned[landed.place].at if returned else None):
        _take(scene, hit, when, rows.append)
    _emit_newest(rows, emit)
    if returned:
        emit(_label(program, landed, LabelValue.BAD, f"Returned as {row.return_code}.", when))
    elif lifted:
        emit(_label(program, landed, LabelValue.OK, f"The return as {row.return_code} was dishonoured.", when))


def watch_again(program: ProgramState, landed: Landed, when: When, emit: Emit) -> None:
    """Ask the detectors of actors about a transfer that is known; a hit that an alert covers changes nothing."""
    assessment, row = landed.assessment, landed.row
    if assessment is None or row is None:
        return
    scene = Scene(program, row.id, landed, assessment, _fired(assessment))
    returned = program.returned.get(landed.place)
    returned_at = None if returned is None or not _stands_unauthorized(returned) else returned.at
    for hit in _hits(scene, (), returned_at):
        if hit.subject.type in _ACTORS and _covering(scene, hit) is None:
            _take(scene, hit, when, emit)


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


def _hits(scene: Scene, measured: Sequence[Measured], returned_at: int | None) -> Iterator[Hit]:
    yield from reason_hits(scene)
    for each in measured:
        yield measured_hit(scene, each, scene.at)
    if returned_at is not None:
        yield from return_hits(scene, returned_at)


def _take(scene: Scene, hit: Hit, when: When, emit: Emit) -> None:
    law = policy_in_force(scene.program.id, when.appended_at)
    routed = route(_question(scene, hit), law.policy)
    held = _covering(scene, hit)
    if held is None or not _joins(held, scene, hit, routed):
        _open(scene, hit, routed, law, when, emit)
    else:
        _join(held, scene, hit, routed, law, when, emit)


def _question(scene: Scene, hit: Hit) -> Question:
    """An alert on the program has no score of its own."""
    on_program = hit.subject.type is SubjectType.PROGRAM
    score = scene.assessment.score
    return Question(
        detector=hit.detector.id,
        severity=hit.gravity.severity,
        hard=hit.gravity.hard,
        score=None if on_program else score.value,
        band=None if on_program else score.band,
        program_n=scene.vector.program_n_90d,
        degraded=scene.assessment.degraded,
    )


def _covering(scene: Scene, hit: Hit) -> Alert | None:
    """The newest alert that covers the hit; on a transfer there is one for good."""
    if hit.subject.type is SubjectType.TRANSFER:
        return _newest_called(scene.program, subject_key(hit))[0]
    return scene.program.alerts.covering(subject_key(hit), hit.at)


def _newest_called(program: ProgramState, key: str) -> tuple[Alert | None, str]:
    """The newest alert of a dedupe key, and the key that the next one would have."""
    newest, free = None, key
    for number in count(2):
        alert = program.alerts.get(alert_id_of(program.id, free))
        if alert is None:
            break
        newest, free = alert, f"{key}:{number}"
    return newest, free


def _joins(held: Alert, scene: Scene, hit: Hit, routed: Routing) -> bool:
    if held.status == _AUTO_CLOSED:
        return routed.route is Route.AUTOMATED
    return held.waits or not _is_graver(held, scene, hit)


def _is_graver(held: Alert, scene: Scene, hit: Hit) -> bool:
    so_far = Gravity(Severity(held.severity), held.hard)
    return graver(so_far, hit.gravity) != so_far or (_in_hold(scene, hit) and not held.in_hold)


def _in_hold(scene: Scene, hit: Hit) -> bool:
    return hit.subject.type is not SubjectType.PROGRAM and scene.assessment.score.band is Band.HOLD


def _open(scene: Scene, hit: Hit, routed: Routing, law: InForce, when: When, emit: Emit) -> None:
    program, opened_at = scene.program, when.appended_at
    alert = _new_alert(scene, hit, routed, law, opened_at)
    evidence = evidence_of(scene, hit, alert, routed, law)
    is_automated = routed.route is Route.AUTOMATED
    draft = (policy_close if is_automated else draft_of)(alert, evidence, program_id=program.id)
    alert.recommendation = draft.recommendation.value
    alert.tell(_summary(hit), text_of(evidence), text_of(draft))
    body = sealed(program, alert, evidence, draft, when)
    rows = [alert_row(program, alert, when), body]
    if is_automated:
        rows += _closed_by_policy(program, alert, draft, law, when)
    if hit.subject.type is not SubjectType.TRANSFER:
        program.alerts.cover(subject_key(hit), hit.after, alert)
    program.alerts.keep(alert)
    _take_hit(scene, hit, alert)
    for row in rows:
        emit(row)


def _new_alert(scene: Scene, hit: Hit, routed: Routing, law: InForce, opened_at: int) -> Alert:
    program, asked = scene.program, _question(scene, hit)
    key = subject_key(hit)
    if hit.subject.type is not SubjectType.TRANSFER:
        key = f"{key}:{format_instant(hit.at)}"
    _, dedupe_key = _newest_called(program, key)
    return Alert(
        id=alert_id_of(program.id, dedupe_key),
        detector=hit.detector.id,
        severity=hit.gravity.severity.value,
        subject_type=hit.subject.type.value,
        subject_id=hit.subject.id,
        transfer_id=None if hit.subject.type is SubjectType.PROGRAM else scene.transfer_id,
        score=asked.score,
        band=None if asked.band is None else asked.band.value,
        hard=hit.gravity.hard,
        in_hold=_in_hold(scene, hit),
        status=routed.status.value,
        route=routed.route.value,
        policy_version=law.policy.version,
        opened_at=opened_at,
        closed_at=opened_at if routed.route is Route.AUTOMATED else None,
        dedupe_key=dedupe_key,
        due_at=routed.due_at(law.clock, opened_at),
        escalated_at=None,
        sla_tier=routed.sla_tier.value,
        appeal_of=None,
        alert_sha256="",
        recommendation=None,
        ends_at=hit.until,
        hits=1,
        cents=scene.vector.amount_cents,
        first_at=scene.at,
        last_at=scene.at,
        newest=(scene.transfer_id,),
        made=(),
        said=b"",
    )


def _join(held: Alert, scene: Scene, hit: Hit, routed: Routing, law: InForce, when: When, emit: Emit) -> None:
    book = scene.program.alerts
    if book.is_packed(held.id):
        return  # it is decided, and its time is over: a late hit changes nothing
    is_graver = _is_graver(held, scene, hit)
    is_news = hit.is_news and _take_hit(scene, hit, held)
    if is_news:
        held.count(scene.transfer_id, scene.at, scene.vector.amount_cents)
    if held.status == _CLOSED or not ((is_graver and held.waits) or (is_news and held.hits & (held.hits - 1) == 0)):
        return
    if is_graver:
        _upgrade(held, scene, hit)
        if held.status == _OPEN and routed.auto_hold:
            held.status = _HELD
    evidence = refreshed(held.texts[1], evidence_of(scene, hit, held, routed, law))
    draft = (draft_of if held.waits else policy_close)(held, evidence, program_id=scene.program.id)
    held.recommendation = draft.recommendation.value
    held.tell(_summary(hit), text_of(evidence), text_of(draft))
    emit(alert_row(scene.program, held, when))


def _take_hit(scene: Scene, hit: Hit, alert: Alert) -> bool:
    """True unless the transfer is a hit of the alert already: one that landed in it may come back, and hit it anew."""
    return hit.detector.id not in FED_BY_RETURNS or scene.program.alerts.take_hit(alert.id, scene.landed.place)


def _upgrade(held: Alert, scene: Scene, hit: Hit) -> None:
    severity, held.hard = graver(Gravity(Severity(held.severity), held.hard), hit.gravity)
    held.severity = severity.value
    held.in_hold |= _in_hold(scene, hit)


def _closed_by_policy(
    program: ProgramState, alert: Alert, draft: Draft, law: InForce, when: When
) -> tuple[msgspec.Struct, ...]:
    signed = Signed(
        id=derived_from(alert.id, law.policy.version),
        decided_by=f"policy:{law.policy.version}",
        decision=AlertDecision.CLOSE.value,
        narrative=draft.narrative,
        overturns_draft=None,
        policy_version=law.policy.version,
        policy_sha256=law.sha256,
        at=alert.opened_at,
    )
    alert.made = (signed.id,)
    return disposition_rows(program, alert, signed, when)


def _summary(hit: Hit) -> str:
    return f"{hit.detector.id} on {hit.subject.type} {hit.subject.id}: {hit.sentence}"


def _stands_unauthorized(returned: ReturnState) -> bool:
    return returned.code in UNAUTHORIZED_RETURN_CODES and returned.counts


def _is_newly_returned(program: ProgramState, landed: Landed) -> bool:
    """True when an unauthorized return is delivered that stands, and again when one that was dishonoured does."""
    state, labelled = program.returned.get(landed.place), program.alerts.labelled
    if state is None or not _stands_unauthorized(state) or landed.place in labelled:
        return False
    labelled.add(landed.place)
    return True


def _is_lifted(program: ProgramState, landed: Landed) -> bool:
    """True when the return that labelled a transfer stands no more, and no person has said what the transfer is."""
    book = program.alerts
    if landed.place not in book.labelled or program.returned[landed.place].counts:
        return False
    book.labelled.remove(landed.place)
    return landed.place not in book.judged


def _label(program: ProgramState, landed: Landed, value: LabelValue, reason: str, when: When) -> LabelRow:
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
