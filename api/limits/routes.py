"""A program's caps over HTTP. A change is approved on the route of actions."""

from functools import partial
from typing import Any, Final

from clearhold.api.actions.schemas import ACTION
from clearhold.api.area import Area
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.limits.service import (
    LimitAction,
    LimitHistoryPage,
    LimitHistoryQuery,
    Limits,
    LimitService,
    LimitsQuery,
    NewLimit,
    limit_rules,
)
from clearhold.api.lists.handlers import answer_route, write_route
from clearhold.api.programs.routes import PROGRAM_ID
from clearhold.features.core.errors import ErrorCode

_NOTE: Final = "The pilot is over; agreed with the program on 1 March."
LIMIT_ACTION: Final[dict[str, Any]] = ACTION | {
    "alertId": None,
    "type": "set_limit",
    "targetType": "program",
    "targetId": PROGRAM_ID,
    "status": "requested",
    "bankResponse": None,
    "executedAt": None,
    "limit": {"kind": "ach_debit_daily", "from": "10000000", "to": "25000000"},
}
_EXAMPLES: Final = examples_of(__file__)
LIMITS: Final[dict[str, Any]] = _EXAMPLES["limits"]


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
    example={"kind": "ach_debit_daily", "capCents": "25000000", "note": _NOTE},
    answer_example=LIMIT_ACTION,
)
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER)
_READ: Final = _operation(
    id="getLimits",
    summary="All five kinds of cap of a program with their use now, and the changes that wait. A day and a month are "
    "of the calendar (UTC). `per_transaction` shows the largest outgoing transfer of the day, and the two kinds on one "
    "entity that of `entityId`, else the entity that uses most.",
    answers={200: Limits},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    asks_owner=True,
    query=RequestSchema(LimitsQuery),
    answer_example=LIMITS,
)
_HISTORY: Final = _operation(
    id="listLimitHistory",
    summary="The changes of a program's caps that were approved, newest first.",
    answers={200: LimitHistoryPage},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    asks_owner=True,
    query=RequestSchema(LimitHistoryQuery),
    answer_example={"data": [_EXAMPLES["changed_limit"]], "hasMore": False, "nextCursor": None},
)


_PATH: Final = "/api/limits/program/{program_id:str}"
AREA: Final = Area(
    routes=(
        write_route(_PATH, _REQUEST, _TAG, LimitService.request),
        answer_route(_PATH, _READ, _TAG, LimitService.read),
        answer_route(f"{_PATH}/history", _HISTORY, _TAG, LimitService.history),
    ),
    provide={_TAG: LimitService},
)
