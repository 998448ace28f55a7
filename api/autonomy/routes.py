"""Autonomy over HTTP: read, and changed by operators."""

from functools import partial
from typing import Final

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.actions.routes import action_service
from clearhold.api.actions.schemas import Action
from clearhold.api.actions.version_routes import write_route
from clearhold.api.area import Area, Resources
from clearhold.api.autonomy.examples import AUTONOMY, TIER_REQUEST
from clearhold.api.autonomy.schemas import TierRequest
from clearhold.api.autonomy.service import AutonomyService
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.features.policy.program_autonomy import ProgramAutonomy

_TAG: Final = "autonomy"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.POLICIES)

_LIST: Final = _operation(
    id="listAutonomy",
    summary="The alerts that the platform may close without a person on each program, with the evidence.",
    answers={200: tuple[ProgramAutonomy, ...]},
    refusals=(ErrorCode.STARTING, ErrorCode.UNAVAILABLE),
    answer_example=[AUTONOMY],
)
_READ: Final = _operation(
    id="getAutonomy",
    summary="The alerts that the platform may close without a person on the program, with the evidence.",
    answers={200: ProgramAutonomy},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.STARTING, ErrorCode.UNAVAILABLE),
    answer_example=AUTONOMY,
)
_CHANGE: Final = Operation(
    id="changeAutonomy",
    tag=_TAG,
    summary="Changes the program's tier. A narrower tier takes effect at once (200), and `warnings` names "
    "the detectors that are no longer closed alone and the way back. A wider one, or the same one for withdrawn "
    "detectors that are eligible again, needs a second person (201): the action `set_autonomy` waits for its "
    "approval. Each granted or withdrawn detector that becomes closable needs evidence; `supervised` to `standard` "
    "needs none for the policy's others. "
    "A tier widens at most once in 7 days.",
    access=Access.OPERATOR,
    answers={200: ProgramAutonomy, 201: Action},
    refusals=(
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.CHANGE_PENDING,
        ErrorCode.AUTONOMY_UNCHANGED,
        ErrorCode.AUTONOMY_NOT_ELIGIBLE,
        ErrorCode.AUTONOMY_TOO_EARLY,
        ErrorCode.STARTING,
        ErrorCode.NOT_CONFIRMED,
    ),
    body=RequestSchema(TierRequest),
    example=TIER_REQUEST,
    answer_example=AUTONOMY,
)


@get("/api/autonomy", opt=_LIST.as_opt)
async def list_autonomy(request: ApiRequest, autonomy: NamedDependency[AutonomyService]) -> tuple[ProgramAutonomy, ...]:
    return await autonomy.list(principal_of(request.scope))


@get("/api/autonomy/{program_id:str}", opt=_READ.as_opt)
async def get_autonomy(
    program_id: FromPath[str], request: ApiRequest, autonomy: NamedDependency[AutonomyService]
) -> ProgramAutonomy:
    return await autonomy.read(principal_of(request.scope), program_id)


def _autonomy(resources: Resources) -> AutonomyService:
    return AutonomyService(
        programs=resources.programs,
        actions=action_service(resources),
        owner=resources.stores.owner,
        clock=resources.stores.clock,
    )


AREA: Final = Area(
    routes=(
        list_autonomy,
        get_autonomy,
        write_route("/api/autonomy/{program_id:str}", _CHANGE, _TAG, AutonomyService.change),
    ),
    provide={_TAG: _autonomy},
)
