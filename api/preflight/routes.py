"""Pre-flight over HTTP."""

from typing import Any, Final

from litestar import Request, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from api.gate import body_of, effect_id_of, passed, principal_of
from api.metrics import Outcome, note
from api.operation import PREFLIGHT_BODY_LIMIT, Access, Operation
from api.preflight.schemas import PreflightDetail, PreflightRequest, names_one_program
from api.preflight.service import PreflightDetails, PreflightService
from api.shapes import Shape
from features.preflight import Preflight

MISMATCH: Final = "Idempotent-Mismatch"

_SUBMIT: Final = Operation(
    id="submitPreflight",
    tag="preflight",
    summary="Scores a proposed transfer before origination and records the answer.",
    access=Access.BEARER,
    answers={201: Preflight, 200: Preflight, 400: None, 401: None, 404: None, 413: None, 415: None, 503: None},
    body=Shape(PreflightRequest, rules=names_one_program),
    body_limit=PREFLIGHT_BODY_LIMIT,
    headers=(MISMATCH,),
)
_READ: Final = Operation(
    id="getPreflight",
    tag="preflight",
    summary="A recorded pre-flight with its question and, once it landed, its transfer.",
    access=Access.BEARER,
    answers={200: PreflightDetail, 400: None, 401: None, 404: None, 503: None},
)


@post("/api/preflight", opt=_SUBMIT.as_opt)
async def submit_preflight(
    request: Request[Any, Any, Any], preflights: NamedDependency[PreflightService]
) -> Response[Preflight]:
    """201 when it is new and recorded, 200 when it is replayed."""
    asked = body_of(request.scope, PreflightRequest)
    plain, effect_id = passed(request.scope).plain, effect_id_of(request.scope)
    answer = await preflights.submit(principal_of(request.scope), asked, plain, effect_id)
    if answer.preflight.degraded:
        note(request.scope, Outcome.DEGRADED)
    headers = {MISMATCH: "true"} if answer.mismatch else {}
    return Response(answer.preflight, status_code=200 if answer.preflight.idempotent else 201, headers=headers)


@get("/api/preflight/{preflight_id:str}", opt=_READ.as_opt)
async def get_preflight(
    preflight_id: FromPath[str], request: Request[Any, Any, Any], preflight_details: NamedDependency[PreflightDetails]
) -> PreflightDetail:
    return await preflight_details.read(principal_of(request.scope), preflight_id)


ROUTES: Final = (submit_preflight, get_preflight)
