"""Rescoring on request: the flow does it, this waits. The paths' segment ``skoor`` is literal.

Errors  UnavailableError when the service stops meanwhile
"""

from typing import Annotated, Final

import msgspec

from clearhold.api.area import Area, Resources
from clearhold.api.http.operation import Access, Operation
from clearhold.api.lists.handlers import write_route
from clearhold.features.core.entries.commands import ActorsRescored
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import about

_TAG: Final = "rescoring"


class TransfersRescored(msgspec.Struct, frozen=True, kw_only=True):
    """``scored`` counts every transfer of the program, including those whose score did not change."""

    scored: Annotated[int, about("How many transfers were scored again.")]


class RescoringService:
    def __init__(self, resources: Resources) -> None:
        self._rescoring = resources.rescoring

    async def transfers(self, principal: Principal, program_id: str, effect_id: str | None) -> TransfersRescored:
        """Every transfer of the program, which the gate has checked to be the principal's."""
        scored = await self._rescoring.rescore_transfers(principal.tenant_id, program_id, effect_id)
        return TransfersRescored(scored=scored)

    async def actors(self, principal: Principal, program_id: str, effect_id: str | None) -> ActorsRescored:
        """Every entity, counterparty and agent of the program."""
        return await self._rescoring.rescore_actors(principal.tenant_id, program_id, effect_id)


_TRANSFERS: Final = Operation(
    id="rescoreTransfers",
    tag=_TAG,
    summary="Rescores every transfer of the program with the current scorer and all that was delivered since. "
    "Live traffic goes on. Answers when all is recorded. A second call while one is running returns the same "
    "result, unless something was delivered in between: then it waits for the next run.",
    access=Access.OWNER,
    answers={200: TransfersRescored},
    refusals=(ErrorCode.STARTING,),
    answer_example={"scored": 48_210},
)
_ACTORS: Final = Operation(
    id="rescoreActors",
    tag=_TAG,
    summary="Rescores every entity, counterparty and agent of the program as of now. The detectors run again on their "
    "newest transfers. Agents are counted among the entities as well.",
    access=Access.OWNER,
    answers={200: ActorsRescored},
    refusals=(ErrorCode.STARTING,),
    answer_example={"entities": 412, "counterparties": 1_894, "agents": 0},
)


AREA: Final = Area(
    routes=(
        write_route("/api/skoor/backfill/{program_id:str}", _TRANSFERS, _TAG, RescoringService.transfers),
        write_route("/api/skoor/actors/backfill/{program_id:str}", _ACTORS, _TAG, RescoringService.actors),
    ),
    provide={_TAG: RescoringService},
)
