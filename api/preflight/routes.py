"""Pre-flight over HTTP."""

from typing import Any, Final

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from api.examples import PREFLIGHT, PREFLIGHT_DETAIL, PREFLIGHT_REQUEST
from api.http.fast_route import FastRoute, JsonAnswer
from api.http.gate import body_of, effect_id_of, passed, principal_of
from api.http.operation import PREFLIGHT_BODY_LIMIT, Access, Operation, RateClass
from api.http.request_schema import RequestSchema
from api.preflight.schemas import NAMES_ONE_PROGRAM, PreflightDetail, PreflightRequest, names_one_program
from api.preflight.service import PreflightDetails, PreflightService
from api.telemetry.metrics import Outcome, note
from features.core.preflight import Preflight
from features.core.principal import KeyScope

MISMATCH: Final = "Idempotent-Mismatch"

_SUBMIT: Final = Operation(
    id="submitPreflight",
    tag="preflight",
    summary="Scores a proposed transfer before origination and records the answer.",
    access=Access.BEARER,
    scope=KeyScope.PREFLIGHT,
    rate=RateClass.PREFLIGHT,
    answers={201: Preflight, 200: Preflight, 404: None},
    body=RequestSchema(PreflightRequest, rules=names_one_program, rules_schema=NAMES_ONE_PROGRAM),
    body_limit=PREFLIGHT_BODY_LIMIT,
    example=PREFLIGHT_REQUEST,
    answer_example=PREFLIGHT,
    headers=(MISMATCH,),
)
_READ: Final = Operation(
    id="getPreflight",
    tag="preflight",
    summary="A recorded pre-flight with its question and, once it landed, its transfer.",
    access=Access.BEARER,
    scope=KeyScope.PREFLIGHT,
    answers={200: PreflightDetail, 404: None, 503: None},
    answer_example=PREFLIGHT_DETAIL,
)


async def _submit(services: Any, scope: Any) -> JsonAnswer:
    """201 when it is new and recorded, 200 when it is replayed."""
    preflights: PreflightService = services.preflights
    asked = body_of(scope, PreflightRequest)
    answer = await preflights.submit(principal_of(scope), asked, passed(scope).plain, effect_id_of(scope))
    if answer.preflight.degraded:
        note(scope, Outcome.DEGRADED)
    further = [(MISMATCH.lower().encode(), b"true")] if answer.mismatch else []
    return 200 if answer.preflight.idempotent else 201, msgspec.json.encode(answer.preflight), further


@post("/api/preflight", opt=_SUBMIT.as_opt, middleware=[FastRoute(_submit)])
async def submit_preflight() -> Preflight:
    """Names the route, which is answered at once."""
    raise RuntimeError("The pre-flight route is answered by its middleware.")


@get("/api/preflight/{preflight_id:str}", opt=_READ.as_opt)
async def get_preflight(
    preflight_id: FromPath[str], request: Request[Any, Any, Any], preflight_details: NamedDependency[PreflightDetails]
) -> PreflightDetail:
    return await preflight_details.read(principal_of(request.scope), preflight_id)


ROUTES: Final = (submit_preflight, get_preflight)
