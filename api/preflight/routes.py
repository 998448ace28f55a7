"""Pre-flight over HTTP."""

from typing import Any, Final

import msgspec
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from api.at_once import AtOnce, JsonAnswer
from api.gate import body_of, effect_id_of, passed, principal_of
from api.metrics import Outcome, note
from api.operation import PREFLIGHT_BODY_LIMIT, Access, Operation, RateClass
from api.preflight.schemas import PreflightDetail, PreflightRequest, names_one_program
from api.preflight.service import PreflightDetails, PreflightService
from api.shapes import Shape
from features.preflight import Preflight
from features.principal import KeyScope

MISMATCH: Final = "Idempotent-Mismatch"

_PROGRAM_ID: Final = "0b9f6f0e-3f0a-4a43-8f2f-5a4f3d0c7a10"
_PREFLIGHT: Final[dict[str, Any]] = {
    "preflightId": "0f7d5c1a-5e0b-5b0c-9a66-2d8a1c0c7e11",
    "decision": "review",
    "score": 35,
    "band": "review",
    "version": "trs-v1",
    "n": 42,
    "confidence": 0.84,
    "reasons": [
        {
            "id": "TRS-CPY-01",
            "signal": "first_time_counterparty",
            "weight": 15,
            "hard": False,
            "sentence": "This counterparty has not been seen on the program before.",
        }
    ],
    "limitsHit": [],
    "degraded": False,
    "degradedReasons": [],
    "latencyMs": 1,
    "idempotent": False,
    "programId": _PROGRAM_ID,
}
_REQUEST: Final[dict[str, Any]] = {
    "programId": _PROGRAM_ID,
    "idempotencyKey": "payout-2026-03-02-0001",
    "transfer": {
        "rail": "ach",
        "direction": "outgoing",
        "type": "CREDIT",
        "amountCents": "125000",
        "entityId": "enti_2zExample0001",
        "counterparty": {"name": "Example Supply Co", "routingNumber": "021000021", "accountLast4": "6789"},
    },
}

_SUBMIT: Final = Operation(
    id="submitPreflight",
    tag="preflight",
    summary="Scores a proposed transfer before origination and records the answer.",
    access=Access.BEARER,
    scope=KeyScope.PREFLIGHT,
    rate=RateClass.PREFLIGHT,
    answers={201: Preflight, 200: Preflight, 404: None},
    body=Shape(PreflightRequest, rules=names_one_program),
    body_limit=PREFLIGHT_BODY_LIMIT,
    example=_REQUEST,
    answer_example=_PREFLIGHT | {"idempotent": True},
    headers=(MISMATCH,),
)
_READ: Final = Operation(
    id="getPreflight",
    tag="preflight",
    summary="A recorded pre-flight with its question and, once it landed, its transfer.",
    access=Access.BEARER,
    scope=KeyScope.PREFLIGHT,
    answers={200: PreflightDetail, 404: None, 503: None},
    answer_example=_PREFLIGHT
    | {
        "request": _REQUEST
        | {
            "operator": "ann",
            "resolved": {"entityId": "enti_2zExample0001", "counterpartyId": None, "counterpartyCountry": None},
        },
        "matchedTransferId": None,
        "createdAt": "2026-03-02T15:04:05.000Z",
    },
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


@post("/api/preflight", opt=_SUBMIT.as_opt, middleware=[AtOnce(_submit)])
async def submit_preflight() -> Preflight:
    """Names the route, which is answered at once."""
    raise RuntimeError("The pre-flight route is answered by its middleware.")


@get("/api/preflight/{preflight_id:str}", opt=_READ.as_opt)
async def get_preflight(
    preflight_id: FromPath[str], request: Request[Any, Any, Any], preflight_details: NamedDependency[PreflightDetails]
) -> PreflightDetail:
    return await preflight_details.read(principal_of(request.scope), preflight_id)


ROUTES: Final = (submit_preflight, get_preflight)
