"""Rescoring a program on request. The flow does the work; the service waits for it.

Errors  UnavailableError when the service stops meanwhile
"""

from clearhold.api.area import Rescoring
from clearhold.api.rescoring.schemas import TransfersRescored
from clearhold.features.core.entries.backfill import ActorsRescored
from clearhold.features.core.principal import Principal


class RescoringService:
    def __init__(self, rescoring: Rescoring) -> None:
        self._rescoring = rescoring

    async def transfers(self, principal: Principal, program_id: str, effect_id: str | None) -> TransfersRescored:
        """Every transfer of the program, which the gate has checked to be the principal's."""
        scored = await self._rescoring.rescore_transfers(principal.tenant_id, program_id, effect_id)
        return TransfersRescored(scored=scored)

    async def actors(self, principal: Principal, program_id: str, effect_id: str | None) -> ActorsRescored:
        """Every entity, counterparty and agent of the program."""
        return await self._rescoring.rescore_actors(principal.tenant_id, program_id, effect_id)
