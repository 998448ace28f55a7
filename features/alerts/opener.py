"""Alerts of one assessed transfer: a finding joins the alert that covers it, or opens one.

A finding joins the open alert of the same detector, subject and window, which is counted from the first finding. A
joined alert that waits, or that the policy closed, is written again when the page of entries ends, with its newest
finding (``newest_finding.py``). An alert closed by a person is never changed: a more severe finding opens a new one. So
does a finding on an alert that the policy closed and would not close for this one. A rule of the bank opens one alert
on a transfer, and never another.

Window  an alert whose findings were all more than 48 hours old when they were delivered is ``from_history``
"""

from collections.abc import Iterable
from copy import copy
from itertools import count

import msgspec
import numpy as np

from clearhold.features.alerts.evidence import evidence_of, facts_of, lasting_of, subject_key, summary_of
from clearhold.features.alerts.evidence_bodies import Draft, MoneyPath, Recommendation
from clearhold.features.alerts.narrative import advice_of, draft_of, policy_close
from clearhold.features.alerts.newest_finding import NewestFinding
from clearhold.features.alerts.rows import (
    SignedDecision,
    alert_body_row,
    alert_id_of,
    alert_row,
    derived_from,
    disposition_rows,
    emit_transfers,
    make_worse,
)
from clearhold.features.alerts.stacks import place_in_stack
from clearhold.features.core.canonical import json_text
from clearhold.features.core.instants import HOURS_48, format_instant
from clearhold.features.core.log_entry import Emit, EntryPosition, no_rows
from clearhold.features.core.vocabulary import AlertDecision, AlertStatus, Band, Route, SubjectType
from clearhold.features.detectors.detector import DetectionContext, Finding, Grade, graded_with, worse_of
from clearhold.features.detectors.finding import FED_BY_RETURNS, band_finding
from clearhold.features.detectors.places import SupportingTransfers
from clearhold.features.detectors.supporting import rests_on
from clearhold.features.detectors.table import DETECTOR_OF_BAND
from clearhold.features.policy.in_force import policy_in_force
from clearhold.features.policy.routing import Routing, RoutingInput, route
from clearhold.features.state.alert_state import NO_IDS, AlertState, packed_ids
from clearhold.features.state.transfer_table import ROW
from clearhold.features.windows.narrow_table import Numbers


class AlertOpener:
    """The alerts of one assessed transfer, at one entry of the log; ``later`` takes the rows of joined alerts."""

    __slots__ = (
        *("_book", "_context", "_emit", "_is_in_hold", "_later", "_opened", "_policies", "_position", "_program"),
        "_row",
    )

    def __init__(
        self, context: DetectionContext, position: EntryPosition, emit: Emit, later: Emit | None = None
    ) -> None:
        self._context, self._position, self._emit, self._later = context, position, emit, later or emit
        self._opened = set[str]()
        self._program, self._book = context.program, context.program.alerts
        self._policies = policy_in_force(context.program, position.appended_at)
        self._row, self._is_in_hold = context.landed.row_index, context.assessment.score.band is Band.HOLD

    def open_or_join(self, finding: Finding, *, is_outcome: bool = False) -> None:
        """Join the alert that covers the finding, or open one; an alert on the program has no score.

        An outcome of screening is news: a waiting alert shows it, and one that a person closed does not cover it.
        """
        score = self._context.assessment.score
        if score.hard and finding.subject.type is not SubjectType.PROGRAM:
            finding = msgspec.structs.replace(finding, grade=graded_with(score, finding.grade))
        routing = route(self._routing_input(finding), self._policies.policy)
        alert = self.alert_covering(finding)
        if alert is None or not self._may_join(alert, finding, routing, is_outcome=is_outcome):
            self._open_alert(finding, routing)
        else:
            self._join_alert(alert, finding, routing, is_outcome=is_outcome)

    def open_for_band(self) -> None:
        """Open an alert on a transfer in review or hold that is in no alert for a person."""
        if self._book.is_alerted(self._row, in_hold=self._is_in_hold):
            return
        finding = band_finding(self._context)
        if finding is not None:
            self.open_or_join(finding)

    def alert_covering(self, finding: Finding) -> AlertState | None:
        """The newest alert whose window covers the finding; the window of an alert on a transfer has no end.

        The alerts on an id that a refund had until now are the refund's, and cover nothing of its purchase.
        """
        key = subject_key(finding)
        if finding.subject.type is SubjectType.TRANSFER:
            return None if self._context.landed.renamed is not None else self._newest_of_key(key)[0]
        return self._book.alert_at(key, finding.at) or self._alert_that_said_so(finding, key)

    def _alert_that_said_so(self, finding: Finding, key: str) -> AlertState | None:
        """The newest alert whose window is over, if the finding adds nothing to its first one."""
        said_before = finding.said_before
        if said_before is None:
            return None
        alert = self._book.newest_alert(key)
        if alert is None or not finding.at - said_before.window_us < alert.first_at < finding.at:
            return None
        return alert if said_before.nothing_new(self._context, alert.first_at) else None

    def _newest_of_key(self, key: str) -> tuple[AlertState | None, str]:
        """The newest alert of a dedupe key, and the key of the next one."""
        newest, free = None, key
        for number in count(2):
            alert = self._book.get(alert_id_of(self._program.id, free))
            if alert is None:
                break
            newest, free = alert, f"{key}:{number}"
        return newest, free

    def _routing_input(self, finding: Finding) -> RoutingInput:
        """An alert on the program has no score."""
        on_program = finding.subject.type is SubjectType.PROGRAM
        score = self._context.assessment.score
        return RoutingInput(
            detector=finding.detector.id,
            severity=finding.grade.severity,
            hard=finding.grade.hard,
            score=None if on_program else score.value,
            band=None if on_program else score.band,
            program_n=self._context.vector.program_n_90d,
            degraded=self._context.assessment.degraded,
        )

    def _may_join(self, alert: AlertState, finding: Finding, routing: Routing, *, is_outcome: bool) -> bool:
        if finding.rule is not None:
            return True  # a rule opens one alert on a transfer, also after a person decided on it
        if alert.status is AlertStatus.AUTO_CLOSED:
            return routing.route is Route.AUTOMATED
        return alert.waits or not (is_outcome or self._is_worse(alert, finding))

    def _is_worse(self, alert: AlertState, finding: Finding) -> bool:
        so_far = Grade(alert.severity, alert.hard)
        return worse_of(so_far, finding.grade) != so_far or (self._in_hold(finding) and not alert.in_hold)

    def _in_hold(self, finding: Finding) -> bool:
        return self._is_in_hold and finding.subject.type is not SubjectType.PROGRAM

    def _open_alert(self, finding: Finding, routing: Routing) -> None:
        program, position = self._program, self._position
        alert = self._new_alert(finding, routing)
        place_in_stack(program, alert, finding.at, self._context.transfer)
        resting = rests_on(self._context, finding)
        facts = facts_of(self._context, finding, resting)
        evidence = evidence_of(self._context, finding, alert, routing, self._policies, facts)
        is_automated = routing.route is Route.AUTOMATED
        draft = (policy_close if is_automated else draft_of)(alert, evidence, program_id=program.id)
        alert.recommendation = draft.recommendation.value
        self._book.set_texts(alert, (summary_of(finding, self._context), json_text(evidence), json_text(draft)))
        self._opened.add(alert.id)
        body = alert_body_row(program, alert, evidence, draft, position)
        rows = [] if self._emit is no_rows else [alert_row(program, alert, position), body]
        if is_automated:
            rows += self._close_by_policy(alert, draft)
        if finding.subject.type is not SubjectType.TRANSFER:
            self._book.open_window(subject_key(finding), finding.after, alert)
        self._book.put(alert)
        self._begin_wait(finding, alert)
        self._count_transfer(finding, alert)
        self._note_alerted(finding, alert)
        self._program.day_tallies.count_alert(alert.opened_at, closed=is_automated)
        self._count_as_alerted()
        if routing.is_closable:  # so it is evidence on its detector's alerts without a person
            self._program.closing_evidence.add_alert(alert.id, alert.detector, closed_by_policy=is_automated)
            self._program.closing_evidence.add_transfer(alert.id, self._row)
        for row in rows:
            self._emit(row)
        self._emit_transfers(alert, resting.places[ROW].tolist(), evidence.path)

    def _new_alert(self, finding: Finding, routing: Routing) -> AlertState:
        context, routed = self._context, self._routing_input(finding)
        opened_at = self._position.appended_at
        key = subject_key(finding)
        if finding.subject.type is not SubjectType.TRANSFER:
            key = f"{key}:{format_instant(finding.at)}"
        _, dedupe_key = self._newest_of_key(key)
        return AlertState(
            id=alert_id_of(self._program.id, dedupe_key),
            detector=finding.detector.id,
            severity=finding.grade.severity,
            subject_type=finding.subject.type,
            subject_id=finding.subject.id,
            transfer_id=None if finding.subject.type is SubjectType.PROGRAM else context.transfer_id or None,
            score=routed.score,
            band=routed.band,
            hard=finding.grade.hard,
            in_hold=self._in_hold(finding),
            status=routing.status,
            route=routing.route,
            policy_version=self._policies.policy.version,
            opened_at=opened_at,
            closed_at=opened_at if routing.route is Route.AUTOMATED else None,
            dedupe_key=dedupe_key,
            due_at=routing.due_at(self._policies.clock, opened_at),
            sla_tier=routing.sla_tier,
            from_history=self._is_history(finding),
            ends_at=finding.until,
            cents=context.vector.amount_cents or 0,
            first_at=context.at,
            last_at=context.at,
            packed_transfers=packed_ids((context.transfer_id,)) if context.transfer_id else NO_IDS,
        )

    def _close_by_policy(self, alert: AlertState, draft: Draft) -> tuple[msgspec.Struct, ...]:
        """The disposition of an alert that the policy closes as it opens."""
        policies = self._policies
        signed = SignedDecision(
            id=derived_from(alert.id, policies.policy.version),
            decided_by=f"policy:{policies.policy.version}",
            decision=AlertDecision.CLOSE,
            narrative=draft.narrative,
            overturns_draft=None,
            policy_version=policies.policy.version,
            policy_sha256=policies.sha256,
            at=alert.opened_at,
        )
        alert.disposition_ids = (signed.id,)
        return () if self._emit is no_rows else disposition_rows(self._program, alert, signed, self._position)

    def _join_alert(self, alert: AlertState, finding: Finding, routing: Routing, *, is_outcome: bool) -> None:
        if self._book.is_resting(alert.id):
            return  # it is decided and its window is over: a late finding changes nothing
        context, is_worse = self._context, self._is_worse(alert, finding)
        is_news = (finding.is_news or self._is_missing(alert)) and self._count_transfer(finding, alert)
        if is_news:
            self._add_finding(finding, alert)
            if routing.is_closable:
                self._program.closing_evidence.add_transfer(alert.id, self._row)
        if is_news or finding.subject.type is SubjectType.TRANSFER or self._book.is_alerted(self._row, in_hold=False):
            self._note_alerted(finding, alert)
        if alert.status is AlertStatus.CLOSED or not (is_news or ((is_worse or is_outcome) and alert.waits)):
            if is_news:
                self._emit_transfers(alert, (), None)
            return
        self._count_as_alerted()
        if is_worse:
            self._upgrade(alert, finding, routing)
        action = None if finding.rule is None else finding.rule.rule.action.value
        advice = advice_of(alert, context.assessment.score.band, action) if alert.waits else Recommendation.CLOSE
        alert.recommendation = advice.value
        former = self._book.unwritten.get(alert.id)
        before = former.lasting if isinstance(former, NewestFinding) else lasting_of(self._book.texts(alert)[1])
        resting = rests_on(context, finding)
        facts, tenant_id = facts_of(context, finding, resting), self._program.tenant_id
        is_opened_here = alert.id in self._opened
        when = tenant_id, self._position, self._emit if is_opened_here else self._later
        newest = NewestFinding(context, finding, copy(alert), routing, self._policies, facts, before, *when)
        self._book.write_later(alert, newest)
        if is_opened_here:
            self._book.texts(alert)
        if self._emit is not no_rows:
            offsets = former.facts.resting.offsets if isinstance(former, NewestFinding) else before.rests_on
            self._emit_transfers(alert, self._added(resting, offsets), facts.path)

    def _added(self, resting: SupportingTransfers, former: Numbers | frozenset[int]) -> list[int]:
        """The transfers behind a finding, besides its own, that the one before it did not rest on, by log offset."""
        rows, offsets = resting.places[ROW], resting.offsets
        if isinstance(former, np.ndarray):
            if len(rows) and rows[-1] == self._row and former.tobytes().endswith(offsets[:-1].tobytes()):
                return []
            former = frozenset(former.tolist())
        return [row for row, offset in zip(rows.tolist(), offsets.tolist(), strict=True) if offset not in former]

    def _emit_transfers(self, alert: AlertState, resting: Iterable[int], path: MoneyPath | None) -> None:
        """The transfer of the finding, and the transfers that it rests on, its path among them."""
        if self._emit is no_rows:
            return
        assessment = self._context.assessment
        hops = () if path is None else (*assessment.layering, *assessment.round_trip)
        rows = (self._row, *resting, *hops)
        emit_transfers(self._program, alert, rows, self._position, self._emit)

    def _is_missing(self, alert: AlertState) -> bool:
        """True for a known transfer without an alert that a new score takes to review or hold.

        A statement that is delivered without a transfer brings no transfer into the alert.
        """
        context = self._context
        return (
            bool(context.transfer_id)
            and context.assessment.score.band in DETECTOR_OF_BAND
            and alert.waits
            and not self._book.is_alerted(self._row, in_hold=False)
            and context.transfer_id not in alert.newest_transfers
        )

    def _note_alerted(self, finding: Finding, alert: AlertState) -> None:
        """An alert on the program has no score and a decided one does not change, so neither has the transfer.

        An alert by a delivery, without a transfer's id, rests on a transfer and is not about it.
        """
        if alert.waits and finding.subject.type is not SubjectType.PROGRAM and self._context.transfer_id:
            self._book.note_alerted(self._row, in_hold=self._in_hold(finding))

    def _add_finding(self, finding: Finding, alert: AlertState) -> None:
        context = self._context
        is_new, oldest_id = alert.add_finding(context.transfer_id, context.at, context.vector.amount_cents or 0)
        alert.from_history &= self._is_history(finding)
        if is_new and not alert.has_older(self._row):
            self._begin_wait(finding, alert)
        row = self._program.transfers.row_of(oldest_id) if oldest_id else None
        if row is not None and finding.subject.type is not SubjectType.PROGRAM:
            alert.add_older(row)

    def _begin_wait(self, finding: Finding, alert: AlertState) -> None:
        """A person's decision on the alert is one on the transfer, too, unless it came before."""
        if alert.waits and finding.subject.type is not SubjectType.PROGRAM and self._context.transfer_id:
            self._program.clearings.wait(self._row)

    def _count_as_alerted(self) -> None:
        transfer = self._context.transfer
        if self._context.transfer_id:
            self._program.day_tallies.set_alerted(self._row, transfer.record, transfer.returned())

    def _is_history(self, finding: Finding) -> bool:
        return self._position.appended_at - finding.at > HOURS_48

    def _count_transfer(self, finding: Finding, alert: AlertState) -> bool:
        """Count the transfer in the alert; False when it was counted at landing and is found again at its return."""
        if finding.detector.id not in FED_BY_RETURNS:
            return True
        return self._book.add_transfer(alert.id, self._row)

    def _upgrade(self, alert: AlertState, finding: Finding, routing: Routing) -> None:
        make_worse(self._book, alert, finding.grade, self._policies.clock, self._position.appended_at)
        alert.in_hold |= self._in_hold(finding)
        if alert.status is AlertStatus.OPEN and routing.auto_hold:
            alert.status = AlertStatus.HELD
