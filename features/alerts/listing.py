"""Opens the alert of a wallet that appears on a sanctions list after it paid or was paid.

The alert rests on the wallet's newest settlement, named in its evidence by log offset alone. Its time is the delivery
of the listing: later payments join it. A wallet that a hard alert already covers gets no further alert.

Window  settlements of 90 days, as many as a search of the graph looks at
"""

from typing import Final

from clearhold.features.alerts.opener import AlertOpener
from clearhold.features.core.instants import DAYS_90
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.rows.record import Emit
from clearhold.features.detectors.detector import DetectionContext
from clearhold.features.detectors.finding import listed_finding
from clearhold.features.landing.landing_result import known_result
from clearhold.features.landing.rescoring import score_again
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.parties.agents import Listed
from clearhold.features.state.parties import Actor
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.edges import EDGES_A_NODE, node_of_actor

NO_ID: Final = ""


def open_for_listed(program: ProgramState, listed: Listed, position: EntryPosition, emit: Emit) -> None:
    """Open the alert of a newly listed wallet, if it paid or was paid."""
    transfer = _newest_settlement(program, listed, position.appended_at)
    if transfer is None:
        return
    landed = known_result(NO_ID, transfer, score_again(transfer))
    assert landed.assessment is not None
    context = DetectionContext(program, transfer, landed, landed.assessment, ())
    opener = AlertOpener(context, position, emit)
    finding = listed_finding(context, listed, at=position.appended_at)
    alert = opener.alert_covering(finding)
    if alert is None or not alert.hard:
        opener.open_or_join(finding)


def _newest_settlement(program: ProgramState, listed: Listed, upto: int) -> StoredTransfer | None:
    """The newest payment to an agent, or from this wallet by a payer with possibly several wallets."""
    graph = program.graph
    nodes, node = (graph.into, node_of_actor(listed.index)) if isinstance(listed, Actor) else (graph.out, listed.node)
    edges = nodes.get(node)
    if edges is None:
        return None
    for _, row in reversed([*edges.newest_places(upto - DAYS_90, upto, EDGES_A_NODE)]):
        transfer = StoredTransfer.read(program, row)
        if any(party is listed for party in transfer.parties()):
            return transfer
    return None
