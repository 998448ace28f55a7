"""Pre-flight over HTTP."""

from functools import partial
from typing import Final

import msgspec
from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.types import Scope

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.fast_route import FastRoute, JsonAnswer, answered_by_middleware
from clearhold.api.http.gate import body_of, checked, effect_id_of, principal_of, query_of
from clearhold.api.http.operation import PREFLIGHT_BODY_LIMIT, Access, Operation, RateClass
from clearhold.api.http.outcomes import Outcome, note
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.preflight.details import PreflightDetails
from clearhold.api.preflight.examples import PREFLIGHT, PREFLIGHT_DETAIL, PREFLIGHT_REQUEST, PREFLIGHT_STATS
from clearhold.api.preflight.schemas import (
    PreflightDetail,
    PreflightRequest,
    PreflightStats,
    PreflightStatsQuery,
    preflight_rules,
)
from clearhold.api.preflight.service import PreflightService
from clearhold.api.preflight.stats import PreflightStatistics
from clearhold.api.programs.service import ProgramService
from clearhold.features.core.entries.preflight import Preflight
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.preflights import Preflights

_operation: Final = partial(Operation, tag="preflight", access=Access.BEARER, scope=KeyScope.PREFLIGHT)
_SUBMIT: Final = _operation(
    id="submitPreflight",
    summary="Scores a proposed transfer before origination and records the answer.",
    rate=RateClass.PREFLIGHT,
    answers={201: Preflight, 200: Preflight},
    refusals=(
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.STARTING,
        ErrorCode.CATCHING_UP,
    ),
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
    refusals=(ErrorCode.PREFLIGHT_NOT_FOUND, ErrorCode.STARTING, ErrorCode.UNAVAILABLE),
    answer_example=PREFLIGHT_DETAIL,
)

_STATS: Final = _operation(
    id="getPreflightStats",
    summary="Decisions of pre-flights, their latency, and their decisions compared with later labels.",
    answers={200: PreflightStats},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    query=RequestSchema(PreflightStatsQuery),
    answer_example=PREFLIGHT_STATS,
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
        note(scope, Outcome.DEGRADED)
    return 200 if answer.idempotent else 201, msgspec.json.encode(answer), []


@post("/api/preflight", opt=_SUBMIT.as_opt, middleware=[FastRoute("preflights", _submit)])
async def preflight_is_answered_by_middleware() -> Preflight:
    """Names the route only."""
    answered_by_middleware()


@get("/api/preflight/{preflight_id:str}", opt=_READ.as_opt)
async def get_preflight(
    preflight_id: FromPath[str], request: ApiRequest, preflight_details: NamedDependency[PreflightDetails]
) -> PreflightDetail:
    return await preflight_details.read(principal_of(request.scope), preflight_id)


@get("/api/preflight/stats", opt=_STATS.as_opt)
async def get_preflight_stats(
    request: ApiRequest, preflight_statistics: NamedDependency[PreflightStatistics]
) -> PreflightStats:
    scope = request.scope
    return await preflight_statistics.read(principal_of(scope), query_of(scope, PreflightStatsQuery))


def _preflights(resources: Resources) -> PreflightService:
    stores = resources.stores
    return PreflightService(
        programs=ProgramService(stores.registry.tenancy),
        owner=stores.owner,
        log=resources.preflight_log,
        clock=stores.clock,
        new_id=stores.new_id,
    )


def _preflight_details(resources: Resources) -> PreflightDetails:
    programs = ProgramService(resources.stores.registry.tenancy)
    return PreflightDetails(programs=programs, recorded=resources.recorded_preflights)


def _preflight_statistics(resources: Resources) -> PreflightStatistics:
    stores = resources.stores
    return PreflightStatistics(
        programs=ProgramService(stores.registry.tenancy), preflights=Preflights(stores.database), clock=stores.clock
    )


AREA: Final = Area(
    routes=(preflight_is_answered_by_middleware, get_preflight, get_preflight_stats),
    provide={
        "preflights": _preflights,
        "preflight_details": _preflight_details,
        "preflight_statistics": _preflight_statistics,
    },
)
