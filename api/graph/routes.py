"""The graph of money around a subject."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from clearhold.api.area import Area
from clearhold.api.graph.schemas import GRAPH, GraphQuery, SubjectGraph
from clearhold.api.graph.service import GraphService
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.http.validation import Failure, moment_failures
from clearhold.api.lists.handlers import answer_route
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope


def instant_exists(plain: Mapping[str, Any]) -> Iterable[Failure]:
    return moment_failures("asOf", plain.get("asOf"))


_TAG: Final = "graph"
_READ: Final = Operation(
    id="getGraph",
    tag=_TAG,
    summary="Parties around a subject and the money between them: directed edges, the heaviest first. The window of "
    "`days` ends at the program's newest transfer, or at `asOf`. `hops=2` adds the transfers of parties next to the "
    "center. Transfers of an alert's path and evidence count whatever their time is. "
    "400 if several programs have a subject of that id and programId names none of them.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: SubjectGraph},
    refusals=(
        ErrorCode.PROGRAM_REQUIRED,
        ErrorCode.TRANSFER_NOT_FOUND,
        ErrorCode.ENTITY_NOT_FOUND,
        ErrorCode.ACCOUNT_NOT_FOUND,
        ErrorCode.COUNTERPARTY_NOT_FOUND,
        ErrorCode.AGENT_NOT_FOUND,
        ErrorCode.ALERT_NOT_FOUND,
    ),
    asks_owner=True,
    answer_example=GRAPH,
    query=RequestSchema(GraphQuery, rules=instant_exists),
)


AREA: Final = Area(
    routes=(answer_route("/api/graph", _READ, _TAG, GraphService.read),),
    provide={_TAG: GraphService},
)
