"""A program's caps over HTTP. A change is approved on the route of actions."""

from functools import partial
from typing import Any, Final

from clearhold.api.actions.schemas import ACTION
from clearhold.api.area import Area
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.limits.service import (
    LimitAction,
    LimitHistoryPage,
    LimitHistoryQuery,
    Limits,
    LimitService,
    NewLimit,
    limit_rules,
)
from clearhold.api.lists.handlers import answer_route, write_route
from clearhold.api.programs.routes import PROGRAM_ID
from clearhold.features.core.errors import ErrorCode

_NOTE: Final = "The pilot is over; agreed with the program on 1 March."
NEW_LIMIT: Final[dict[str, Any]] = {"kind": "ach_debit_daily", "capCents": "25000000", "note": _NOTE}
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
_NO_CAP: Final[dict[str, Any]] = dict.fromkeys(
    ("capCents", "capCount", "version", "requestedBy", "approvedBy", "since", "note")
)
LIMITS: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "asOf": "2026-03-02T15:04:05.000Z",
    "limits": [
        {
            "kind": "ach_debit_daily",
            "capCents": "10000000",
            "capCount": None,
            "version": "limits-v1",
            "requestedBy": "ann",
            "approvedBy": "bob",
            "since": "2026-01-05T09:30:00.000Z",
            "observed": "4210000",
            "n": 37,
            "note": "For the pilot.",
        },
        _NO_CAP | {"kind": "ach_debit_monthly", "observed": "4210000", "n": 37},
        _NO_CAP | {"kind": "per_transaction", "observed": "980000", "n": 52},
        _NO_CAP | {"kind": "entity_daily", "observed": "1150000", "n": 3},
        _NO_CAP | {"kind": "entity_velocity_24h", "observed": 7, "n": 7},
    ],
    "pending": [
        {
            "actionId": LIMIT_ACTION["id"],
            "kind": "ach_debit_daily",
            "capCents": "25000000",
            "capCount": None,
            "requestedBy": "ann",
            "note": _NOTE,
            "createdAt": "2026-03-02T15:00:00.000Z",
        }
    ],
}
CHANGED_LIMIT: Final[dict[str, Any]] = {
    "kind": "ach_debit_daily",
    "from": None,
    "to": "10000000",
    "version": "limits-v1",
    "requestedBy": "ann",
    "approvedBy": "bob",
    "note": "For the pilot.",
    "at": "2026-01-05T09:30:00.000Z",
    "actionId": "2f6a4f7e-1f0d-4f0b-8a38-0d3f4a6b9c55",
}


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
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER)
_READ: Final = _operation(
    id="getLimits",
    summary="All five kinds of cap of a program with their use now, and the changes that wait. A day and a month are "
    "of the calendar (UTC). `per_transaction` shows the largest outgoing transfer of the day, and the two kinds on one "
    "entity the entity that uses most.",
    answers={200: Limits},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    asks_owner=True,
    answer_example=LIMITS,
)
_HISTORY: Final = _operation(
    id="listLimitHistory",
    summary="The changes of a program's caps that were approved, newest first.",
    answers={200: LimitHistoryPage},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    asks_owner=True,
    query=RequestSchema(LimitHistoryQuery),
    answer_example={"data": [CHANGED_LIMIT], "hasMore": False, "nextCursor": None},
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
