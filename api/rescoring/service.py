"""Rescoring a program, for whoever asks over HTTP. The work is done by the flow; this waits for it.

Errors  UnavailableError when the service stops meanwhile
"""

from typing import Protocol

from api.rescoring.schemas import TransfersRescored
from features.core.backfill import ActorsRescored
from features.core.principal import Principal


class Rescoring(Protocol):
    """Who gives scores again. A caller that goes away stops nothing."""

    async def rescore_transfers(self, tenant_id: str, program_id: str, backfill_id: str | None) -> int: ...

    async def rescore_actors(self, tenant_id: str, program_id: str, backfill_id: str | None) -> ActorsRescored: ...


class RescoringService:
    def __init__(self, rescoring: Rescoring) -> None:
        self._rescoring = rescoring

    async def transfers(self, principal: Principal, program_id: str, effect_id: str | None) -> TransfersRescored:
        """Every transfer of the program; the gate has seen that it is the principal's."""
        scored = await self._rescoring.rescore_transfers(principal.tenant_id, program_id, effect_id)
        return TransfersRescored(scored=scored)

    async def actors(self, principal: Principal, program_id: str, effect_id: str | None) -> ActorsRescored:
        """Every entity, counterparty and agent of the program."""
        return await self._rescoring.rescore_actors(principal.tenant_id, program_id, effect_id)
