"""Autonomy of programs: read from the owners of their state, and changed by actions (``features/actions/autonomy.py``).

Errors  NotFoundError for a program that is not this tenant's; ConflictError for a change that the flow refuses;
        UnavailableError while the program has no owner, or when the change is not confirmed in time
"""

from typing import Any, Final

import msgspec

from clearhold.api.actions.schemas import Action
from clearhold.api.actions.service import ActionService
from clearhold.api.autonomy.schemas import TierRequest
from clearhold.api.program_service import ProgramService
from clearhold.features.core.entries.actions import ActionStatus, ActionType, AutonomyRequest
from clearhold.features.core.principal import Principal
from clearhold.features.policy.program_autonomy import ProgramAutonomy
from clearhold.features.shard.questions import Owner, ReadAutonomy
from clearhold.store.clock import Clock

TARGET_TYPE: Final = "program"


class AutonomyService:
    def __init__(self, *, programs: ProgramService, actions: ActionService, owner: Owner, clock: Clock) -> None:
        self._programs, self._actions, self._owner, self._clock = programs, actions, owner, clock

    async def list(self, principal: Principal) -> tuple[ProgramAutonomy, ...]:
        """The autonomy of each program within the principal's reach."""
        programs = self._programs.list(principal, source=None)
        return tuple([await self._of(program.id) for program in programs])

    async def read(self, principal: Principal, program_id: str) -> ProgramAutonomy:
        return await self._of(self._programs.read(principal, program_id).id)

    async def change(
        self, principal: Principal, program_id: str, request: TierRequest, effect_id: str | None
    ) -> ProgramAutonomy | Action:
        """The autonomy after a narrowing, which takes effect at once; else the action that waits for its approver."""
        program = self._programs.read(principal, program_id)
        change: dict[str, Any] = msgspec.to_builtins(AutonomyRequest(tier=request.tier, note=request.note))
        action = await self._actions.request_change(
            principal,
            ActionType.SET_AUTONOMY,
            program_id=program.id,
            target=(TARGET_TYPE, program.id),
            change=change,
            effect_id=effect_id,
        )
        return await self._of(program.id) if action.status is ActionStatus.EXECUTED else action

    async def _of(self, program_id: str) -> ProgramAutonomy:
        answer = await self._owner.query(program_id, ReadAutonomy(self._clock.now()))
        return self._programs.marked(answer.value, program_id)
