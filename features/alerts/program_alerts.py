"""Turns the findings of a snapshot on a program into alerts.

A finding joins the alert of its detector that waits, or whose window covers it; a waiting alert is written again when a
figure changed. After a decision, a new breach or a worse finding opens the next alert. An alert carries the score of
its snapshot; it has no transfer, so the policy never closes it.

A draft is written from the snapshot that the alert rests on, in the order of other drafts.

Figures  every one is of the evidence, or of the alert itself (its id, its times); ids only, never names
Length   150-500 words: such an alert is never closed by the policy, and its draft escalates it
"""

from typing import Final

import msgspec

from clearhold.features.alerts.evidence import lasting_of, refreshed, shown_figures
from clearhold.features.alerts.evidence_bodies import Draft, ProgramEvidence
from clearhold.features.alerts.narrative import ADVICE, ESCALATING, detector_of, heading, listed, recommended
from clearhold.features.alerts.rows import alert_body_row, alert_id_of, alert_row, emit_transfers, make_worse
from clearhold.features.alerts.stacks import place_in_stack
from clearhold.features.core.canonical import json_text
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import Emit, EntryPosition, no_rows
from clearhold.features.core.money import counted
from clearhold.features.core.vocabulary import Band, Score, SubjectType, band_word, words
from clearhold.features.detectors.detector import Grade, graded_with, worse_of
from clearhold.features.detectors.program import Parts, ProgramFinding, ProgramSnapshot, parts_of, program_findings
from clearhold.features.detectors.table import DETECTOR_OF
from clearhold.features.policy.bodies import KRI
from clearhold.features.policy.in_force import InForce, policy_in_force, version_in_force
from clearhold.features.policy.routing import Routing, RoutingInput, route
from clearhold.features.state.alert_book import key_of_subject
from clearhold.features.state.alert_state import NO_IDS, AlertState
from clearhold.features.state.kri_facts import Breach
from clearhold.features.state.transfer_table import RAW_OFFSET, ROW

_SHOWN: Final = 10


def run_program_detectors(snapshot: ProgramSnapshot, score: Score, position: EntryPosition, emit: Emit) -> None:
    findings = program_findings(snapshot)
    if findings:
        opener = SnapshotAlerts(snapshot, score, position, emit)
        for finding in findings:
            opener.open_or_join(finding, snapshot.program.kri_memory.add_breach(finding.detector, snapshot.at))


class SnapshotAlerts:
    __slots__ = ("_book", "_emit", "_policies", "_position", "_program", "_score", "_snapshot")

    def __init__(self, snapshot: ProgramSnapshot, score: Score, position: EntryPosition, emit: Emit) -> None:
        self._snapshot, self._score, self._position, self._emit = snapshot, score, position, emit
        self._program, self._book = snapshot.program, snapshot.program.alerts
        self._policies: InForce = policy_in_force(snapshot.program, position.appended_at)

    def open_or_join(self, finding: ProgramFinding, breach: Breach) -> None:
        """Join the alert that covers the finding, or open one."""
        finding = finding._replace(grade=graded_with(self._score, finding.grade))
        key = key_of_subject(finding.detector, SubjectType.PROGRAM, self._program.id)
        alert = self._book.alert_at(key, self._snapshot.at) or self._waiting(key)
        if alert is None:
            self._open(finding, breach, key)
        elif alert.waits:
            self._join(alert, finding, breach, key)
        elif breach.is_new or _is_worse(alert, finding):
            self._open(finding, breach, key)

    def _waiting(self, key: str) -> AlertState | None:
        """The newest alert of the key, if it waits, even when its window is over."""
        newest = self._book.newest_alert(key)
        return newest if newest is not None and newest.waits else None

    def _open(self, finding: ProgramFinding, breach: Breach, key: str) -> None:
        routing = self._routing(finding)
        alert = self._new_alert(finding, routing, key)
        place_in_stack(self._program, alert, self._snapshot.at, None)
        parts = parts_of(self._snapshot, finding)
        evidence = self._evidence(alert, finding, breach, routing, parts, self._book.alert_count(key))
        draft = self._write(alert, evidence)
        body = alert_body_row(self._program, alert, evidence, draft, self._position)
        self._book.open_window(key, self._snapshot.at - 1, alert)
        self._book.put(alert)
        self._program.day_tallies.count_alert(alert.opened_at, closed=False)
        self._emit(alert_row(self._program, alert, self._position))
        self._emit(body)
        emit_transfers(self._program, alert, parts.transfers.places[ROW].tolist(), self._position, self._emit)

    def _join(self, alert: AlertState, finding: ProgramFinding, breach: Breach, key: str) -> None:
        stored = self._book.texts(alert)[1]
        if not _is_worse(alert, finding) and msgspec.json.decode(stored)["finding"] == finding.sentence:
            return
        make_worse(self._book, alert, finding.grade, self._policies.clock, self._snapshot.at)
        alert.hits += 1
        alert.last_at = self._snapshot.at
        parts = parts_of(self._snapshot, finding)
        earlier = self._book.alert_count(key) - 1
        evidence = self._evidence(alert, finding, breach, self._routing(finding), parts, earlier)
        self._write(alert, refreshed(lasting_of(stored), evidence))
        if self._emit is not no_rows:
            self._emit(alert_row(self._program, alert, self._position))
            emit_transfers(self._program, alert, parts.transfers.places[ROW].tolist(), self._position, self._emit)

    def _write(self, alert: AlertState, evidence: ProgramEvidence) -> Draft:
        """Set the alert's texts."""
        draft = program_draft(alert, evidence, program_id=self._program.id)
        alert.recommendation = draft.recommendation.value
        summary = f"{words(alert.detector)} on program {self._program.id}: {evidence.finding}"
        if evidence.is_repeat:
            summary = f"{summary} {before(evidence)}"
        self._book.set_texts(alert, (summary, json_text(evidence), json_text(draft)))
        return draft

    def _routing(self, finding: ProgramFinding) -> Routing:
        grade = finding.grade
        inputs = RoutingInput(detector=finding.detector, severity=grade.severity, hard=grade.hard)
        return route(inputs, self._policies.policy)

    def _new_alert(self, finding: ProgramFinding, routing: Routing, key: str) -> AlertState:
        at = self._snapshot.at
        dedupe_key = f"{key}:{self._snapshot.id}"
        return AlertState(
            id=alert_id_of(self._program.id, dedupe_key),
            detector=finding.detector,
            severity=finding.grade.severity,
            subject_type=SubjectType.PROGRAM,
            subject_id=self._program.id,
            transfer_id=None,
            score=self._score.value,
            band=Band(band_word(self._score.value)),
            hard=finding.grade.hard,
            in_hold=False,
            status=routing.status,
            route=routing.route,
            policy_version=self._policies.policy.version,
            opened_at=at,
            dedupe_key=dedupe_key,
            due_at=routing.due_at(self._policies.clock, at),
            sla_tier=routing.sla_tier,
            from_history=False,
            ends_at=finding.until,
            cents=0,
            first_at=at,
            last_at=at,
            packed_transfers=NO_IDS,
        )

    def _evidence(
        self,
        alert: AlertState,
        finding: ProgramFinding,
        breach: Breach,
        routing: Routing,
        parts: Parts,
        earlier_alerts: int,
    ) -> ProgramEvidence:
        program, snapshot, score = self._program, self._snapshot, self._score
        reading = snapshot.kris[finding.kri]
        declared = program.declared_at(snapshot.at)
        return ProgramEvidence(
            route_reason=routing.reason.value,
            auto_hold=routing.auto_hold,
            finding=finding.sentence,
            snapshot_id=snapshot.id,
            as_of=format_instant(snapshot.at),
            kri=finding.kri.value,
            value=reading.value,
            n=reading.n,
            unit=reading.unit.value,
            threshold=reading.threshold,
            status=reading.status.value,
            kri_version=version_in_force(program, KRI, snapshot.at).version,
            features={**shown_figures(finding.figures)},
            thresholds=shown_figures(DETECTOR_OF[finding.detector].thresholds),
            score_reasons=score.reasons,
            rests_on=tuple(map(str, parts.transfers.places[RAW_OFFSET].tolist())),
            rests_on_count=parts.transfers.total,
            actor_ids=parts.actor_ids,
            counterparty_id=parts.counterparty_id,
            declared_rails=declared.rails,
            declared_countries=declared.countries,
            hits=alert.hits,
            first_at=format_instant(alert.first_at),
            last_at=format_instant(alert.last_at),
            window_ends_at=format_instant(alert.ends_at),
            is_repeat=bool(breach.earlier or earlier_alerts),
            earlier_breaches=len(breach.earlier),
            first_breach_at=format_instant(breach.earlier[0]) if breach.earlier else None,
            earlier_alerts=earlier_alerts,
            measured=score.n,
            program_score=score.value,
            program_score_n=score.n,
            scorer_version=score.version,
            policy_version=self._policies.policy.version,
            clock_version=self._policies.clock_version,
        )


def _is_worse(alert: AlertState, finding: ProgramFinding) -> bool:
    so_far = Grade(alert.severity, alert.hard)
    return worse_of(so_far, finding.grade) != so_far


def program_draft(alert: AlertState, e: ProgramEvidence, *, program_id: str) -> Draft:
    """The draft that a person may sign."""
    advice = recommended(alert.severity, None, hard=alert.hard)
    narrative = (
        f"Recommendation: {ADVICE[advice]}. {heading(alert)}, opened at {format_instant(alert.opened_at)} and routed "
        f"to a person ({words(e.route_reason)}). "
        f"Who: program {program_id}{_parties(e)}. "
        f"{_what_and_when(e)} "
        f"Where: across the program, on all rails and in all countries; declared rails {e.declared_rails or 'none'}, "
        f"declared countries {e.declared_countries or 'none'}. "
        f"{_why_alerted(e)} "
        f"Reviewed: all indicators of the snapshot, of which {e.measured} could be measured, the declaration and "
        f"{counted(e.earlier_alerts, 'earlier alert')} of this detector on the program. {before(e)} "
        f"{_why(alert, advice.value)}"
    )
    return Draft(narrative=narrative, recommendation=advice)


def before(e: ProgramEvidence) -> str:
    """Whether the indicator breached before: how often, and since when."""
    if not e.is_repeat:
        return "This is the program's first breach of this indicator."
    if e.first_breach_at is None:
        return "This detector alerted on the program before."
    times = "once" if e.earlier_breaches == 1 else f"{e.earlier_breaches} times"
    return f"The program breached this indicator {times} before, first at {e.first_breach_at}."


def _parties(e: ProgramEvidence) -> str:
    party = "" if e.counterparty_id is None else f"; counterparty {e.counterparty_id}"
    if not e.actor_ids:
        return party
    return f"{party}; its accounts and entities {', '.join(e.actor_ids[-_SHOWN:])}"


def _what_and_when(e: ProgramEvidence) -> str:
    transfers = (
        f"It rests on {counted(e.rests_on_count, 'transfer')}; the evidence names the newest."
        if e.rests_on_count
        else "No single transfer explains it: the snapshot supports the alert."
    )
    since = (
        f"first found in this snapshot, at {e.last_at}"
        if e.hits == 1
        else f"found with other figures in {e.hits} snapshots between {e.first_at} and {e.last_at}"
    )
    return f"What and when: indicator {e.kri} in snapshot {e.snapshot_id} as of {e.as_of}, {since}. {transfers}"


def _why_alerted(e: ProgramEvidence) -> str:
    score = (
        f"The Program Risk Score was not measured (n = {e.program_score_n})"
        if e.program_score is None
        else f"The Program Risk Score is {e.program_score} (n = {e.program_score_n})"
    )
    return (
        f"Why it alerted: {e.finding} The indicator's status is {e.status} under the lines of {e.kri_version}. "
        f"Also measured: {listed(e.features.items()) or 'nothing'}. "
        f"Further thresholds: {listed(e.thresholds.items()) or 'none'}. {score}."
    )


def _why(alert: AlertState, advice: str) -> str:
    detector = detector_of(alert)
    due = "as soon as possible" if alert.due_at is None else f"by {format_instant(alert.due_at)}"
    return (
        f"Why {advice}: open question: {detector.unexplained}. The figures above do not answer it. {ESCALATING} "
        f"Next step: {detector.next_step}, and record the answer with the decision, due {due}. "
        "A documented answer that fits the declared activity, and an indicator back within its limit, support closing "
        "the alert; no answer, or an indicator that moves further from its limit, supports further action."
    )
