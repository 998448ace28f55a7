"""The money around an alert, a transfer or a party: its own page, and a part of the workspace."""

from typing import Final
from urllib.parse import urlencode

import htpy as h

from clearhold.api.console.components.below import link_below, part_heading
from clearhold.api.console.components.money_graph import money_graph
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit
from clearhold.api.graph.routes import instant_exists
from clearhold.api.graph.schemas import GraphQuery
from clearhold.api.http.request_schema import RequestSchema

PATH: Final = "/console/graph"
AROUND: Final = "around"
MOST_PAIRS: Final = 24
"""The pairs of parties that are drawn, the heaviest first; those on an alert's path always."""
_TITLE: Final = "The money around it"
_QUERY: Final = RequestSchema(GraphQuery, rules=instant_exists)


def address_around(kind: str, id_: str, program_id: str) -> str:
    return f"{PATH}?{urlencode({'around': f'{kind}:{id_}', 'programId': program_id})}"


def around_link(visit: Visit, address: str) -> h.Node:
    """The way to the graph."""
    return link_below(visit, address, AROUND, "Everything around it in 90 days")


async def show(visit: Visit) -> Answer:
    query = _QUERY.read_query([*({"limit": str(MOST_PAIRS)} | dict(visit.query)).items()])
    graph = money_graph(await visit.services.graph.read(visit.principal, query))
    if visit.target == AROUND:
        return HtmlAnswer(_TITLE, [part_heading(_TITLE), graph])
    return HtmlAnswer(_TITLE, h.div(".thing")[h.h1[_TITLE], h.section[graph]])
