"""Opens the alerts of a screening outcome when the bank states it: denied, politically exposed, high risk, fraud risk.

The subject is an actor that moved money in the 90 days before, and the alert rests on its newest transfer, named in its
evidence by log offset alone. An actor that moved none gets the alert with its next transfer, as the detector says. The
findings are those of the same detectors at a transfer, so alerts are joined alike.

Window  transfers from 90 days before the outcome until its delivery
"""

from collections.abc import Iterator

import msgspec

from clearhold.features.alerts.listing import NO_ID
from clearhold.features.alerts.opener import AlertOpener
from clearhold.features.core.instants import DAYS_90
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.rows.record import Emit
from clearhold.features.detectors.detector import DetectionContext, Finding
from clearhold.features.detectors.finding import reason_findings
from clearhold.features.landing.landing_result import known_result
from clearhold.features.landing.rescoring import score_again
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.measurement.identity import has_fraud_risk, identity_at
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.features.state.parties import Actor
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.edges import EDGES_A_NODE, node_of_actor


def open_for_outcomes(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Open the alerts of the outcomes that this entry has brought."""
    news, program.screening_news = program.screening_news, []
    for actor, reason_ids in news if program.runs_detectors else ():
        transfer = _newest_transfer(program, actor, position)
        if transfer is not None:
            _open(program, actor, reason_ids, transfer, position, emit)


def _open(
    program: ProgramState,
    actor: Actor,
    reason_ids: frozenset[str],
    transfer: StoredTransfer,
    position: EntryPosition,
    emit: Emit,
) -> None:
    assessment, at = score_again(transfer), position.event_at
    stated = msgspec.structs.asdict(identity_at(actor, at)) | {"entity_fraud_risk": has_fraud_risk(actor, at)}
    vector = msgspec.structs.replace(assessment.vector, **stated)
    fired = tuple(reason for reason in trs_v1.DEFAULT.fired(vector) if reason.id in reason_ids)
    landed = known_result(NO_ID, transfer, msgspec.structs.replace(assessment, vector=vector))
    assert landed.assessment is not None
    context = DetectionContext(program, transfer, landed, landed.assessment, fired)
    opener = AlertOpener(context, position, emit)
    for finding in _at(reason_findings(context), at):
        opener.open_or_join(finding)


def _at(findings: list[Finding], at: int) -> Iterator[Finding]:
    """The findings as of the outcome, with windows as long as at a transfer."""
    for finding in findings:
        before, after = finding.at - finding.after, finding.until - finding.at
        yield msgspec.structs.replace(finding, at=at, after=at - before, until=at + after)


def _newest_transfer(program: ProgramState, actor: Actor, position: EntryPosition) -> StoredTransfer | None:
    graph, node = program.graph, node_of_actor(actor.index)
    after, upto = position.event_at - DAYS_90, position.appended_at
    places = [
        place
        for side in (graph.into, graph.out, graph.alone)
        if (edges := side.get(node)) is not None
        for place in edges.newest_places(after, upto, EDGES_A_NODE)
    ]
    for _, row in sorted(places, reverse=True):
        transfer = StoredTransfer.read(program, row)
        if transfer.actor is actor:
            return transfer
    return None
