"""Rescoring. The paths' segment ``skoor`` is literal."""

from typing import Final

from litestar import post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import effect_id_of, principal_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.rescoring.schemas import TransfersRescored
from clearhold.api.rescoring.service import RescoringService
from clearhold.features.core.entries.backfill import ActorsRescored
from clearhold.features.core.errors import ErrorCode

_TRANSFERS: Final = Operation(
    id="rescoreTransfers",
    tag="rescoring",
    summary="Rescores every transfer of the program with the current scorer, while live traffic goes on. "
    "Answers when all is recorded. A second call while one is running returns the same result.",
    access=Access.OWNER,
    answers={200: TransfersRescored},
    refusals=(ErrorCode.STARTING,),
    answer_example={"scored": 48_210},
)
_ACTORS: Final = Operation(
    id="rescoreActors",
    tag="rescoring",
    summary="Rescores every entity, counterparty and agent of the program. The scores are as of the program's newest "
    "transfer, and the detectors run on their newest transfers again. Agents are counted among the entities as well.",
    access=Access.OWNER,
    answers={200: ActorsRescored},
    refusals=(ErrorCode.STARTING,),
    answer_example={"entities": 412, "counterparties": 1_894, "agents": 0},
)


@post("/api/skoor/backfill/{program_id:str}", status_code=200, opt=_TRANSFERS.as_opt)
async def rescore_transfers(
    program_id: FromPath[str], request: ApiRequest, rescoring: NamedDependency[RescoringService]
) -> TransfersRescored:
    return await rescoring.transfers(principal_of(request.scope), program_id, effect_id_of(request.scope))


@post("/api/skoor/actors/backfill/{program_id:str}", status_code=200, opt=_ACTORS.as_opt)
async def rescore_actors(
    program_id: FromPath[str], request: ApiRequest, rescoring: NamedDependency[RescoringService]
) -> ActorsRescored:
    return await rescoring.actors(principal_of(request.scope), program_id, effect_id_of(request.scope))


AREA: Final = Area(
    routes=(rescore_transfers, rescore_actors),
    provide={"rescoring": lambda resources: RescoringService(resources.rescoring)},
)
