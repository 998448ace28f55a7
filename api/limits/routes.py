"""A program's caps over HTTP. A change is approved on the route of actions."""

from typing import Final

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.actions.service import ActionService
from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.limits.examples import CHANGED_LIMIT, LIMIT_ACTION, LIMITS, NEW_LIMIT
from clearhold.api.limits.schemas import LimitAction, LimitHistoryPage, LimitHistoryQuery, Limits, NewLimit, limit_rules
from clearhold.api.limits.service import LimitService
from clearhold.api.lists.handlers import write_route
from clearhold.api.lists.lists import next_link
from clearhold.features.core.errors import ErrorCode
from clearhold.store.duck.decisions import Actions

_TAG: Final = "limits"

_REQUEST: Final = Operation(
    id="requestLimit",
    tag=_TAG,
    summary="Requests a new cap for a program, or its end. The change is an action `set_limit` that waits for a second "
    "person, who approves it with `POST /api/actions/{id}/approve`. One change of a kind waits at a time.",
    access=Access.OPERATOR,
    answers={201: LimitAction},
    refusals=(
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.CHANGE_PENDING,
        ErrorCode.LIMIT_UNCHANGED,
        ErrorCode.NOT_CONFIRMED,
        ErrorCode.STARTING,
    ),
    body=RequestSchema(NewLimit, rules=limit_rules),
    example=NEW_LIMIT,
    answer_example=LIMIT_ACTION,
)
_READ: Final = Operation(
    id="getLimits",
    tag=_TAG,
    summary="All five kinds of cap of a program with their use now, and the changes that wait. A day and a month are "
    "of the calendar (UTC). `per_transaction` shows the largest outgoing transfer of the day, and the two kinds on one "
    "entity the entity that uses most.",
    access=Access.BEARER,
    answers={200: Limits},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.UNAVAILABLE, ErrorCode.STARTING),
    answer_example=LIMITS,
)
_HISTORY: Final = Operation(
    id="listLimitHistory",
    tag=_TAG,
    summary="The changes of a program's caps that were approved, newest first.",
    access=Access.BEARER,
    answers={200: LimitHistoryPage},
    refusals=(
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.CURSOR_INVALID,
        ErrorCode.UNAVAILABLE,
        ErrorCode.STARTING,
    ),
    query=RequestSchema(LimitHistoryQuery),
    answer_example={"data": [CHANGED_LIMIT], "hasMore": False, "nextCursor": None},
    headers=("Link",),
)


@get("/api/limits/program/{program_id:str}", opt=_READ.as_opt)
async def get_limits(program_id: FromPath[str], request: ApiRequest, limits: NamedDependency[LimitService]) -> Limits:
    return await limits.read(principal_of(request.scope), program_id)


@get("/api/limits/program/{program_id:str}/history", opt=_HISTORY.as_opt)
async def list_limit_history(
    program_id: FromPath[str], request: ApiRequest, limits: NamedDependency[LimitService]
) -> Response[LimitHistoryPage]:
    query = query_of(request.scope, LimitHistoryQuery)
    page = await limits.history(principal_of(request.scope), program_id, query)
    return Response(page, headers=next_link(request, page.next_cursor))


def _limits(resources: Resources) -> LimitService:
    stores = resources.stores
    return LimitService(
        programs=resources.programs,
        owner=stores.owner,
        requests=ActionService(resources),
        actions=Actions(stores.database),
        clock=stores.clock,
    )


AREA: Final = Area(
    routes=(
        write_route("/api/limits/program/{program_id:str}", _REQUEST, _TAG, LimitService.request),
        get_limits,
        list_limit_history,
    ),
    provide={_TAG: _limits},
)
