"""The limit ladder over HTTP."""

from functools import partial
from typing import Final

from litestar import Response, get, post
from litestar.di import NamedDependency

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, principal_of, query_of
from clearhold.api.http.operation import PREFLIGHT_BODY_LIMIT, Access, Operation, RateClass
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.ladder.examples import EVALUATION_REQUEST, LADDER, LIMIT_EVALUATION, RESCREEN_DUE
from clearhold.api.ladder.schemas import EvaluationRequest, LadderInForce, LadderQuery, RescreenPage, RescreenQuery
from clearhold.api.ladder.service import LadderService
from clearhold.api.lists.lists import next_link
from clearhold.api.preflight.schemas import transfer_rules
from clearhold.api.programs.service import ProgramService
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.features.limits.proposed import LimitEvaluation
from clearhold.store.duck.rescreening import Rescreening

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
        programs=ProgramService(stores.registry.tenancy),
        policies=stores.registry.tenancy.policies,
        owner=stores.owner,
        rescreening=Rescreening(stores.database),
        clock=stores.clock,
    )


AREA: Final = Area(routes=(get_ladder, evaluate_ladder, list_rescreening_due), provide={"ladder": _ladder})
