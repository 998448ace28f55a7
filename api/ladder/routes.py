"""The limit ladder over HTTP."""

from functools import partial
from typing import Any, Final

import msgspec
from litestar import Response, get, post
from litestar.di import NamedDependency

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, principal_of, query_of
from clearhold.api.http.operation import PREFLIGHT_BODY_LIMIT, Access, Operation, RateClass
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.ladder.schemas import EvaluationRequest, LadderInForce, LadderQuery, RescreenPage, RescreenQuery
from clearhold.api.ladder.service import LadderService
from clearhold.api.lists.lists import next_link
from clearhold.api.preflight.schemas import transfer_rules
from clearhold.api.programs.examples import PROGRAM_ID
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.features.limits.proposed import LimitEvaluation
from clearhold.features.policy.seeds import LADDER_V1, LADDER_VERSION
from clearhold.store.duck.parties import Rescreening

_LADDER: Final[dict[str, Any]] = msgspec.to_builtins(LADDER_V1)
LADDER: Final[dict[str, Any]] = {"version": LADDER_VERSION, "ladder": _LADDER}
LIMIT_HIT: Final[dict[str, Any]] = {
    "limit": "counterparty.daily",
    "actor": "counterparty",
    "actorId": "cpty_2zExample0001",
    "band": "review",
    "cap": "5000000",
    "observed": "4800000",
    "proposed": "285000",
    "severity": "soft",
}
EVALUATION_REQUEST: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "transfer": {
        "rail": "wire",
        "direction": "outgoing",
        "amountCents": "285000",
        "entityId": "enti_2zExample0001",
        "counterpartyId": "cpty_2zExample0001",
    },
}
LIMIT_EVALUATION: Final[dict[str, Any]] = {
    "hits": [LIMIT_HIT],
    "hard": False,
    "bands": {"entity": "clear", "counterparty": "review"},
    "rescreen": {
        "entity": {
            "cadenceDays": 365,
            "lastScreenedAt": "2026-02-20T08:00:00.000Z",
            "dueAt": "2027-02-20T08:00:00.000Z",
            "overdue": False,
        },
        "counterparty": {"cadenceDays": 180, "lastScreenedAt": None, "dueAt": None, "overdue": None},
    },
    "ladder": _LADDER,
}
RESCREEN_DUE: Final[dict[str, Any]] = {
    "programId": PROGRAM_ID,
    "entityId": "enti_2zExample0001",
    "band": "hold",
    "requiresScreening": True,
    "cadenceDays": 30,
    "lastScreenedAt": "2026-01-05T08:00:00.000Z",
    "dueAt": "2026-02-04T08:00:00.000Z",
}


_TAG: Final = "ladder"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.POLICIES)

_READ: Final = _operation(
    id="getLadder",
    summary="The limit ladder in force for the tenant, or for one program, which may have its own. It caps entities "
    "and counterparties by band, and sets how often each is screened.",
    answers={200: LadderInForce},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    query=RequestSchema(LadderQuery),
    answer_example=LADDER,
)
_EVALUATE: Final = Operation(
    id="evaluateLadder",
    tag=_TAG,
    summary="Compares a proposed transfer with the limit ladder, as its pre-flight would; nothing is recorded. Caps "
    "are on outgoing transfers; a day and a month are of the calendar (UTC).",
    access=Access.BEARER,
    scope=KeyScope.PREFLIGHT,
    rate=RateClass.PREFLIGHT,
    answers={200: LimitEvaluation},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.STARTING),
    body=RequestSchema(EvaluationRequest, rules=transfer_rules),
    body_limit=PREFLIGHT_BODY_LIMIT,
    example=EVALUATION_REQUEST,
    answer_example=LIMIT_EVALUATION,
)
_DUE: Final = _operation(
    id="listRescreeningDue",
    summary="The entities that are due to be screened again. It is due if it must be screened and never was, "
    "or if its last screening is older than its band's cadence. The bank reports no screening of counterparties.",
    answers={200: RescreenPage},
    refusals=(ErrorCode.CURSOR_INVALID, ErrorCode.PROGRAM_NOT_FOUND),
    query=RequestSchema(RescreenQuery),
    answer_example={"data": [RESCREEN_DUE], "hasMore": False, "nextCursor": None},
    headers=("Link",),
)


@get("/api/ladder", opt=_READ.as_opt)
async def get_ladder(request: ApiRequest, ladder: NamedDependency[LadderService]) -> LadderInForce:
    return ladder.read(principal_of(request.scope), query_of(request.scope, LadderQuery).program_id)


@post("/api/ladder/evaluate", status_code=200, opt=_EVALUATE.as_opt)
async def evaluate_ladder(request: ApiRequest, ladder: NamedDependency[LadderService]) -> LimitEvaluation:
    return await ladder.evaluate(principal_of(request.scope), body_of(request.scope, EvaluationRequest))


@get("/api/ladder/rescreen", opt=_DUE.as_opt)
async def list_rescreening_due(request: ApiRequest, ladder: NamedDependency[LadderService]) -> Response[RescreenPage]:
    page = await ladder.due(principal_of(request.scope), query_of(request.scope, RescreenQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


def _ladder(resources: Resources) -> LadderService:
    stores = resources.stores
    return LadderService(
        programs=resources.programs,
        policies=stores.registry.tenancy.policies,
        owner=stores.owner,
        rescreening=Rescreening(stores.database),
        clock=stores.clock,
    )


AREA: Final = Area(routes=(get_ladder, evaluate_ladder, list_rescreening_due), provide={"ladder": _ladder})
