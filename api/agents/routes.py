"""On-chain agents: read, and imported from the scan index."""

from functools import partial
from typing import Any, Final

from litestar import Response, get, post
from litestar.di import NamedDependency

from clearhold.api.agents.service import Agent, AgentService, AgentsQuery, ImportRequest, ImportResult, ImportState
from clearhold.api.area import Area
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import optional_body_of, principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route
from clearhold.api.lists.lists import next_link
from clearhold.api.programs.examples import PROGRAM_ID
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

ENTITY_ID: Final = "agent:8453:0x8004a169fb4a3325136eb29fa0ceb6d2e539a432:22"
AGENT: Final[dict[str, Any]] = {
    "entityId": ENTITY_ID,
    "name": "Quote Bot",
    "chainId": 8453,
    "agentId": "22",
    "address": "0x00000000000000000000000000000000000a6e27",
    "verificationStatus": "UNVERIFIED",
    "screeningStatus": "clear",
    "lastScreenedAt": "2026-03-01T00:00:00.000Z",
    "settlements": 412,
    "volumeCents": "103020",
    "score": 12,
    "bandName": "clear",
    "n": 412,
    "confidence": 0.95,
    "version": "ars-v1",
}
IMPORT: Final[dict[str, Any]] = {"full": True}
RESULT: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "agents": 3,
    "profiles": 3,
    "settlementsScanned": 412,
    "transfers": 12,
    "counterparties": 5,
    "agentCounterparties": 1,
}
STATE: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "stage": "done",
    "reading": None,
    "agents": 3,
    "profiles": 3,
    "settlementsScanned": 412,
    "skipped": {"unknown_asset": 2},
    "reason": None,
    "updatedAt": "2026-03-02T09:00:04.000Z",
}


_TAG: Final = "agents"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.REPORTS)
_LIST: Final = _operation(
    id="listAgents",
    summary="The agents of the program `agents`, by entity id, each with its score of now; empty without that program. "
    "`band` narrows to those "
    "whose score has one of these, `unscored` to those without a score too. A list of more than `limit`, or "
    '1,000, goes on behind `Link: rel="next"`.',
    answers={200: tuple[Agent, ...]},
    refusals=(ErrorCode.CURSOR_INVALID, ErrorCode.UNAVAILABLE, ErrorCode.STARTING),
    answer_example=[AGENT],
    query=RequestSchema(AgentsQuery),
    headers=("Link",),
)
_READ: Final = _operation(
    id="getAgent",
    summary="One agent with its score of now.",
    answers={200: Agent},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.AGENT_NOT_FOUND, ErrorCode.UNAVAILABLE, ErrorCode.STARTING),
    answer_example=AGENT,
)
_IMPORT: Final = Operation(
    id="importAgents",
    tag=_TAG,
    summary="Imports agents, their profiles and their settlements from the scan index. "
    "Answers once everything is recorded; live traffic continues. It also runs every hour. A call while an import "
    "is under way gets the result of that import. `full` reads all settlements from the beginning and imports "
    "unchanged ones again; it runs after an import under way that is not full. Stored settlements "
    "change nothing: importing twice adds 0 transfers.",
    access=Access.OPERATOR,
    answers={200: ImportResult},
    refusals=(
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.SCAN_INDEX_UNSET,
        ErrorCode.SCAN_INDEX_FAILED,
        ErrorCode.STARTING,
    ),
    body=RequestSchema(ImportRequest),
    body_required=False,
    example=IMPORT,
    answer_example=RESULT,
)
_STATE: Final = _operation(
    id="getAgentImport",
    summary="The progress of the import under way, else the result of the last one, with the items left out.",
    answers={200: ImportState},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    answer_example=STATE,
)


@get("/api/agents", opt=_LIST.as_opt)
async def list_agents(request: ApiRequest, agents: NamedDependency[AgentService]) -> Response[tuple[Agent, ...]]:
    page, next_cursor = await agents.page(principal_of(request.scope), query_of(request.scope, AgentsQuery))
    return Response(page, headers=next_link(request, next_cursor))


@post("/api/agents/import", status_code=200, opt=_IMPORT.as_opt)
async def import_agents(request: ApiRequest, agents: NamedDependency[AgentService]) -> ImportResult:
    body = optional_body_of(request.scope, ImportRequest)
    return await agents.run_import(principal_of(request.scope), body)


AREA: Final = Area(
    routes=(
        list_agents,
        answer_route("/api/agents/import", _STATE, _TAG, AgentService.import_state),
        answer_route("/api/agents/{entity_id:str}", _READ, _TAG, AgentService.read),
        import_agents,
    ),
    provide={_TAG: AgentService},
)
