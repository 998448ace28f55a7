"""The number of payments in a row, each before the next and within two hours of it, that end at a node.

Bounds   ``MOST_HOPS`` hops; a node that was paid more than ``HUB_FROM`` times in the two hours is a hub, whose payers
         are not followed, so a search reads at most 73 nodes, and nearly always one
Source   FFIEC BSA/AML manual, appendix F (funds that pass through several accounts quickly); the figures are proposed
         here
"""

from typing import Final

from clearhold.features.core.instants import HOUR_US
from clearhold.features.windows.edges import NOBODY
from clearhold.features.windows.graph import Graph

HOP_US: Final = 2 * HOUR_US
MOST_HOPS: Final = 3
HUB_FROM: Final = 8


def quick_hops(graph: Graph, source: int, target: int, at: int, *, but: int) -> int:
    """The hops before a payment from ``source`` to ``target`` that is the transfer ``but``."""
    return 0 if source == NOBODY else _behind(graph, source, at, at, but, (source, target))


def _behind(graph: Graph, node: int, at: int, as_of: int, but: int, seen: tuple[int, ...]) -> int:
    edges = graph.into.get(node)
    if edges is None:
        return 0
    near = edges.near(at - HOP_US, at - 1, but=but, as_of=as_of, most=HUB_FROM + 1)
    if not near.rows or len(near.rows) > HUB_FROM:
        return 0
    most = 0
    for index, payer in enumerate(near.others):
        if payer not in seen:
            further = seen if len(seen) > MOST_HOPS else (*seen, payer)
            hops = 1 if further is seen else 1 + _behind(graph, payer, near.times[index], as_of, but, further)
            most = max(most, hops)
    return most
