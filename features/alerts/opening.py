"""Turns the findings on one assessed transfer into alerts, and applies the effects of its return.

A transfer in review or hold without an alert gets one. ``features/alerts/opener.py`` decides which alert a finding
joins or opens. Matches of rules that log and of rules in testing are counted. A rule that opens an alert is not: the
alert is its match.

Two statements open alerts at their delivery, without a transfer. Both alerts rest on the newest transfer of their
subject, named in the evidence by log offset alone; an actor without one gets the alert with its next transfer.

screening   denied, politically exposed, high risk, fraud risk: by the detectors that find it at a transfer. A denied
            entity may have been paid by a book transfer alone. An alert that a person closed covers no new outcome. A
            transfer of the 90 days before an outcome that arrives after it opens the alert too, unless one covers it
sanctions   a wallet that paid or was paid appears on a list; a hard alert that already covers it gets no further one

Window  the newest transfer of 90 days before a statement, among as many as a search of the graph looks at
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec

from clearhold.features.alerts.labelling import label_by_return, note_label, return_label_row, stands_unauthorized
from clearhold.features.alerts.opener import AlertOpener
from clearhold.features.alerts.rows import emit_newest
from clearhold.features.bank.statuses import FROZEN_RETURN_CODE
from clearhold.features.core.instants import DAYS_90
from clearhold.features.core.log_entry import Emit, EntryPosition, no_rows
from clearhold.features.core.money import BOOK_CLASSES
from clearhold.features.core.rows.alerts import RuleMatchRow
from clearhold.features.core.vocabulary import LabelValue, Reason, SubjectType
from clearhold.features.detectors.detector import DetectionContext, Finding
from clearhold.features.detectors.finding import (
    cap_finding,
    denied_payee,
    denied_payee_finding,
    is_of_listed,
    listed_finding,
    listed_findings,
    matching_rules,
    reason_findings,
    return_findings,
    rule_finding,
)
from clearhold.features.detectors.table import DETECTOR_OF_BAND, TRIGGERS
from clearhold.features.landing.rescoring import score_again
from clearhold.features.landing.stored_transfer import LandingResult, StoredTransfer, known_result
from clearhold.features.limits.caps import crossed_by_landed
from clearhold.features.measurement.actor_inputs import has_fraud_risk, identity_at
from clearhold.features.measurement.assessment import Assessment
from clearhold.features.parties.agents import Listed
from clearhold.features.parties.party_rows import outcomes_since
from clearhold.features.policy.rule_set import RuleInForce
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.features.scorers.trs_v1.identity import DENIED
from clearhold.features.state.parties import EVER, Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import ReturnState
from clearhold.features.windows.edges import EDGES_A_NODE, Edges, node_of_actor

_NO_ID: Final = ""
_ACTORS: Final = frozenset({SubjectType.ENTITY, SubjectType.COUNTERPARTY, SubjectType.ACCOUNT})


def run_detectors(program: ProgramState, landed: LandingResult, position: EntryPosition, emit: Emit) -> None:
    """Run every detector on an assessed transfer, and label it when an unauthorized return is delivered or lifted."""
    assessment, transfer = landed.assessment, landed.transfer
    if assessment is None or transfer is None:
        return
    fired, matches = _fired(assessment), matching_rules(program, assessment.vector)
    crossings = tuple(crossed_by_landed(program, transfer, now=position.appended_at)) if program.caps else ()
    label = label_by_return(program, landed)
    if label is not None:
        note_label(program, landed.row_index, label, position)
    returned = _finding_return(program, landed, is_news=label is LabelValue.BAD)
    is_book = transfer.record.class_id in BOOK_CLASSES
    if (
        not crossings
        and not matches
        and label is None
        and returned is None
        and not any(reason.id in TRIGGERS for reason in fired)
        and assessment.score.band not in DETECTOR_OF_BAND
        and not is_of_listed(program, landed.parties)
        and not (is_book and denied_payee(program, transfer, transfer.record.at))
    ):
        return
    context = DetectionContext(program, transfer, landed, assessment, fired)
    rows: list[msgspec.Struct] = []
    opener = AlertOpener(context, position, emit if emit is no_rows else rows.append, later=emit)
    for finding in _findings(context, returned):
        opener.open_or_join(finding)
    for crossing in crossings:
        opener.open_or_join(cap_finding(context, crossing))
    for match in matches:
        if match.opens_alert:
            opener.open_or_join(rule_finding(context, match))
    opener.open_for_band()
    emit_newest(rows, emit)
    if matches:
        emit_rule_matches(context, matches, position, emit)
    if label is not None:
        emit(return_label_row(program, landed, label, position))


def run_actor_detectors(program: ProgramState, landed: LandingResult, position: EntryPosition, emit: Emit) -> None:
    """Run the detectors of actors on a known transfer; a finding that an alert covers changes nothing."""
    context = _context_of(program, landed)
    if context is None:
        return
    returned = _finding_return(program, landed, is_news=True)
    opener = AlertOpener(context, position, emit)
    for finding in _findings(context, returned):
        if finding.subject.type in _ACTORS and opener.alert_covering(finding) is None:
            opener.open_or_join(finding)


def open_for_band(program: ProgramState, landed: LandingResult, position: EntryPosition, emit: Emit) -> None:
    """Open the alert of a known transfer without one that a new score takes to review or hold."""
    context = _context_of(program, landed)
    if context is not None and context.assessment.score.band in DETECTOR_OF_BAND:
        AlertOpener(context, position, emit).open_for_band()


def open_for_outcomes(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Open the alerts of the screening outcomes that this entry has brought."""
    news, program.screening_news = program.screening_news, []
    for actor, reason_ids in news if program.runs_detectors else ():
        at = max(position.event_at, actor.profile.known_at)
        graph, node = program.graph, node_of_actor(actor.index)
        sides = [side.get(node) for side in (graph.into, graph.out, graph.alone)]
        transfer = _newest_transfer(program, partial(_is_of, actor), sides, at, position.appended_at)
        if transfer is None and DENIED.id in reason_ids:
            _open_for_denied_payee(program, actor, sides, at, position, emit)
        elif transfer is not None:
            context = _context_of_outcome(transfer, actor, reason_ids, at)
            opener = AlertOpener(context, position, emit)
            for finding in _at(reason_findings(context), at):
                opener.open_or_join(finding, is_outcome=True)


def _open_for_denied_payee(
    program: ProgramState,
    owner: Actor,
    sides: Sequence[Edges | None],
    at: int,
    position: EntryPosition,
    emit: Emit,
) -> None:
    """Open the alert of a denied entity that moved no money, and was paid by a book transfer."""
    transfer = _newest_transfer(
        program, lambda each: denied_payee(program, each, at) is owner, sides, at, position.appended_at
    )
    if transfer is not None:
        context = _context_without_reasons(transfer)
        finding = denied_payee_finding(context, owner, at=at)
        AlertOpener(context, position, emit).open_or_join(finding, is_outcome=True)


def open_for_late_money(program: ProgramState, landed: LandingResult, position: EntryPosition, emit: Emit) -> None:
    """Open the alerts of outcomes that came before this transfer and are of the days after it."""
    actor, transfer = landed.parties[0], landed.transfer
    if not landed.is_new or transfer is None or not transfer.record.moved:
        return
    if transfer.record.class_id in BOOK_CLASSES:
        _open_for_late_payee(transfer, position, emit)
    if actor is None:
        return
    moved_at, at = transfer.record.at, actor.profile.known_at
    reason_ids = outcomes_since(program, actor, actor.profile_at(moved_at)) if moved_at < at else None
    if not reason_ids or moved_at <= at - DAYS_90:
        return
    context = _context_of_outcome(transfer, actor, reason_ids, at)
    opener = AlertOpener(context, position, emit)
    for finding in _at(reason_findings(context), at):
        if opener.alert_covering(finding) is None:
            opener.open_or_join(finding)


def _open_for_late_payee(transfer: StoredTransfer, position: EntryPosition, emit: Emit) -> None:
    """Open the alert of an entity that was denied after this transfer had paid it."""
    program, moved_at = transfer.program, transfer.record.at
    owner = denied_payee(program, transfer, EVER)
    if owner is None or denied_payee(program, transfer, moved_at) is owner:
        return
    at = owner.profile.known_at
    if moved_at > at - DAYS_90:
        context = _context_without_reasons(transfer)
        finding, opener = denied_payee_finding(context, owner, at=at), AlertOpener(context, position, emit)
        if opener.alert_covering(finding) is None:
            opener.open_or_join(finding)


def open_for_listed(program: ProgramState, listed: Listed, position: EntryPosition, emit: Emit) -> None:
    """Open the alert of a newly listed wallet, if it paid or was paid; later payments join it."""
    at, graph = position.appended_at, program.graph
    edges = graph.into.get(node_of_actor(listed.index)) if isinstance(listed, Actor) else graph.out.get(listed.node)
    transfer = _newest_transfer(program, partial(_is_of, listed), [edges], at, at)
    if transfer is None:
        return
    context = _context_without_reasons(transfer)
    opener = AlertOpener(context, position, emit)
    finding = listed_finding(context, listed, at=at)
    alert = opener.alert_covering(finding)
    if alert is None or not alert.hard:
        opener.open_or_join(finding)


def _context_without_reasons(transfer: StoredTransfer) -> DetectionContext:
    assessment = score_again(transfer)
    return DetectionContext(transfer.program, transfer, known_result(_NO_ID, transfer, assessment), assessment, ())


def _context_of_outcome(
    transfer: StoredTransfer, actor: Actor, reason_ids: frozenset[str], at: int
) -> DetectionContext:
    """The transfer with the bank's statements on the actor as known at ``at``, and the reasons of the outcomes."""
    assessment = score_again(transfer)
    stated = msgspec.structs.asdict(identity_at(actor, at)) | {"entity_fraud_risk": has_fraud_risk(actor, at)}
    vector = msgspec.structs.replace(assessment.vector, **stated)
    assessment = msgspec.structs.replace(assessment, vector=vector)
    fired = tuple(reason for reason in trs_v1.DEFAULT.fired(vector) if reason.id in reason_ids)
    return DetectionContext(transfer.program, transfer, known_result(_NO_ID, transfer, assessment), assessment, fired)


def _at(findings: Iterable[Finding], at: int) -> Iterator[Finding]:
    """The findings as of the outcome, with windows as long as at a transfer."""
    for finding in findings:
        before, after = finding.at - finding.after, finding.until - finding.at
        yield msgspec.structs.replace(finding, at=at, after=at - before, until=at + after)


def _newest_transfer(
    program: ProgramState,
    is_meant: Callable[[StoredTransfer], bool],
    sides: Iterable[Edges | None],
    since: int,
    upto: int,
) -> StoredTransfer | None:
    """The newest transfer that is meant: a node of the graph may have several wallets or accounts."""
    newest = (edges.newest_places(since - DAYS_90, upto, EDGES_A_NODE) for edges in sides if edges is not None)
    for _, row in sorted((place for columns in newest for place in zip(*columns, strict=True)), reverse=True):
        transfer = StoredTransfer.read(program, row)
        if is_meant(transfer):
            return transfer
    return None


def _is_of(party: Actor | KnownCounterparty, transfer: StoredTransfer) -> bool:
    return any(each is party for each in transfer.parties())


def _context_of(program: ProgramState, landed: LandingResult) -> DetectionContext | None:
    """None where the transfer was not assessed."""
    assessment, transfer = landed.assessment, landed.transfer
    if assessment is None or transfer is None:
        return None
    return DetectionContext(program, transfer, landed, assessment, _fired(assessment))


def _fired(assessment: Assessment) -> tuple[Reason, ...]:
    """Every reason that fires by default, whether the transfer has a score or not.

    A card sets the points of signals, not the alerts that they open: detectors look for the same signals under every
    card. A reason has its points in the score, 0 where the card has none for it.
    """
    score = assessment.score
    if score.value is not None and score.version == trs_v1.VERSION:
        return score.reasons
    fired = tuple(trs_v1.DEFAULT.fired(assessment.vector))
    if score.value is None:
        return fired
    points = {reason.id: reason.weight for reason in score.reasons}
    return tuple(msgspec.structs.replace(reason, weight=points.get(reason.id, 0)) for reason in fired)


def _findings(context: DetectionContext, returned: ReturnState | None) -> Iterator[Finding]:
    listed = [*listed_findings(context)]
    covered = {(each.detector.id, each.subject) for each in listed}
    yield from listed
    yield from (each for each in reason_findings(context) if (each.detector.id, each.subject) not in covered)
    owner = denied_payee(context.program, context.transfer, context.at)
    if owner is not None:
        yield denied_payee_finding(context, owner, at=context.at)
    if returned is not None:
        yield from return_findings(context, returned)


def _finding_return(program: ProgramState, landed: LandingResult, *, is_news: bool) -> ReturnState | None:
    """The transfer's return, if it needs an alert: R16 always, an unauthorized one when it ``is_news``."""
    returned = program.returned.get(landed.row_index)
    if returned is None or not (returned.code == FROZEN_RETURN_CODE or (is_news and stands_unauthorized(returned))):
        return None
    return returned


def emit_rule_matches(
    context: DetectionContext, matches: Sequence[RuleInForce], position: EntryPosition, emit: Emit
) -> None:
    """Remember the counted matches of an assessed transfer."""
    program, row = context.program, context.landed.row_index
    for match in matches:
        if match.opens_alert or not program.rule_matches.add(match.mode, match.sha256, row):
            continue
        emit(
            RuleMatchRow(
                tenant_id=program.tenant_id,
                program_id=program.id,
                shard=position.shard,
                offset=position.offset,
                rule_id=match.rule.id,
                rule_sha256=match.sha256,
                version=match.version,
                mode=match.mode.value,
                transfer_id=context.transfer_id,
                band=context.assessment.score.band.value,
                bank_created_at=context.at,
                matched_at=position.appended_at,
            )
        )
