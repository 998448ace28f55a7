"""Pre-flight over HTTP."""

from functools import partial
from typing import Any, Final

import msgspec
from litestar import post
from litestar.types import Scope

from clearhold.api.area import Area
from clearhold.api.http.envelope import Outcome, note
from clearhold.api.http.gate import body_of, checked, effect_id_of, principal_of
from clearhold.api.http.operation import PREFLIGHT_BODY_LIMIT, Access, Operation, RateClass, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import FastRoute, JsonAnswer, answer_route, answered_by_middleware, list_operation
from clearhold.api.preflight.schemas import (
    PreflightDetail,
    PreflightPage,
    PreflightRequest,
    PreflightsQuery,
    PreflightStats,
    PreflightStatsQuery,
    preflight_rules,
)
from clearhold.api.preflight.service import PreflightReads, PreflightService
from clearhold.api.programs.routes import PROGRAM_ID
from clearhold.api.transfers.routes import REASON, STRUCTURING_REASON
from clearhold.features.core.entries.preflight import Preflight
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

_EXAMPLES: Final = examples_of(__file__)
PREFLIGHT_REQUEST: Final[dict[str, Any]] = _EXAMPLES["preflight_request"]
PREFLIGHT: Final[dict[str, Any]] = {
    "preflightId": "0f7d5c1a-5e0b-5b0c-9a66-2d8a1c0c7e11",
    "decision": "review",
    "score": 35,
    "band": "review",
    "version": "trs-v1",
    "n": 42,
    "confidence": 0.84,
    "reasons": [STRUCTURING_REASON, REASON],
    "limitsHit": [],
    "degraded": False,
    "degradedReasons": [],
    "latencyMs": 2,
    "scoringUs": 210,
    "usdRate": None,
    "idempotent": True,
    "programId": PROGRAM_ID,
}
PREFLIGHT_DETAIL: Final = PREFLIGHT | {
    "request": PREFLIGHT_REQUEST
    | {
        "operator": "ann",
        "resolved": {"entityId": "enti_2zExample0001", "counterpartyId": None, "counterpartyCountry": None},
    },
    "matchedTransferId": None,
    "createdAt": "2026-03-02T15:04:05.000Z",
}


_operation: Final = partial(Operation, tag="preflight", access=Access.BEARER, scope=KeyScope.PREFLIGHT)
_SUBMIT: Final = _operation(
    id="submitPreflight",
    summary="Scores a proposed transfer before origination and records the answer.",
    rate=RateClass.PREFLIGHT,
    answers={201: Preflight, 200: Preflight},
    refusals=(ErrorCode.STARTING, ErrorCode.CATCHING_UP),
    body=RequestSchema(PreflightRequest, rules=preflight_rules),
    body_limit=PREFLIGHT_BODY_LIMIT,
    takes_deadline=True,
    example=PREFLIGHT_REQUEST,
    answer_example=PREFLIGHT,
)
_READ: Final = _operation(
    id="getPreflight",
    summary="A recorded pre-flight with its request and, once it has landed, its transfer.",
    answers={200: PreflightDetail},
    refusals=(ErrorCode.PREFLIGHT_NOT_FOUND,),
    asks_owner=True,
    answer_example=PREFLIGHT_DETAIL,
)

_STATS: Final = _operation(
    id="getPreflightStats",
    summary="Decisions of pre-flights, their latency, and their decisions compared with later labels.",
    answers={200: PreflightStats},
    query=RequestSchema(PreflightStatsQuery),
    answer_example=_EXAMPLES["preflight_stats"],
)


PREFLIGHT_SUMMARY: Final[dict[str, Any]] = {
    name: PREFLIGHT[name] for name in ("preflightId", "programId", "decision", "score", "band", "degraded", "latencyMs")
} | {
    "rail": "ach",
    "direction": "outgoing",
    "amountCents": "285000",
    "currency": "USD",
    "entityId": "enti_2zExample0001",
    "counterpartyId": None,
    "matchedTransferId": None,
    "createdAt": "2026-03-02T15:04:05.000Z",
}
_LIST: Final = list_operation(
    "listPreflights",
    tag="preflight",
    summary="Recorded pre-flights without their reasons, newest first.",
    scope=KeyScope.PREFLIGHT,
    page=PreflightPage,
    query=PreflightsQuery,
    example=PREFLIGHT_SUMMARY,
)


async def _submit(preflights: PreflightService, scope: Scope) -> JsonAnswer:
    """201 for a new recorded answer, 200 for a replay."""
    request = body_of(scope, PreflightRequest)
    passed = checked(scope)
    answer = await preflights.submit(
        principal_of(scope),
        request,
        passed.plain,
        effect_id_of(scope),
        arrived_at=passed.arrived_at,
        answer_by=passed.answer_by,
    )
    if answer.degraded:
        note(scope, outcome=Outcome.DEGRADED)
    return 200 if answer.idempotent else 201, msgspec.json.encode(answer), []


@post("/api/preflight", opt=_SUBMIT.as_opt, middleware=[FastRoute("preflights", _submit)])
async def preflight_is_answered_by_middleware() -> Preflight:
    """Names the route only."""
    answered_by_middleware()


AREA: Final = Area(
    routes=(
        preflight_is_answered_by_middleware,
        answer_route("/api/preflight", _LIST, "preflight_reads", PreflightReads.page),
        answer_route("/api/preflight/{preflight_id:str}", _READ, "preflight_reads", PreflightReads.read),
        answer_route("/api/preflight/stats", _STATS, "preflight_reads", PreflightReads.statistics),
    ),
    provide={"preflights": PreflightService, "preflight_reads": PreflightReads},
)
