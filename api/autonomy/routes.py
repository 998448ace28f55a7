"""Autonomy of programs: read from the owners of their state, and changed by actions (``features/actions/autonomy.py``).

The autonomy in answers is the Struct of ``features/policy/program_autonomy.py``.

Errors  NotFoundError for a program that is not this tenant's; ConflictError for a change that the flow refuses;
        UnavailableError while the program has no owner, or when the change is not confirmed in time
"""

from functools import partial
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.actions.schemas import Action
from clearhold.api.actions.service import ActionService
from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import Prose
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, write_route
from clearhold.features.core.entries.actions import ActionStatus, ActionType, AutonomyRequest, AutonomyTier
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope, Principal
from clearhold.features.core.vocabulary import about
from clearhold.features.policy.program_autonomy import ProgramAutonomy
from clearhold.features.shard.questions import ReadAutonomy

_TAG: Final = "autonomy"
TARGET_TYPE: Final = "program"


class TierRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``note`` says why, for the record and for the second approver."""

    tier: AutonomyTier
    note: Annotated[Prose, about("Why, for the record and for the second approver.")]


class AutonomyService:
    def __init__(self, resources: Resources) -> None:
        self._programs, self._actions = resources.programs, ActionService(resources)
        self._owner, self._clock = resources.stores.owner, resources.stores.clock

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


AUTONOMY: Final[dict[str, Any]] = examples_of(__file__)["autonomy"]


_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.POLICIES)

_LIST: Final = _operation(
    id="listAutonomy",
    summary="The alerts that the platform may close without a person on each program, with the evidence.",
    answers={200: tuple[ProgramAutonomy, ...]},
    asks_owner=True,
    answer_example=[AUTONOMY],
)
_READ: Final = _operation(
    id="getAutonomy",
    summary="The alerts that the platform may close without a person on the program, with the evidence.",
    answers={200: ProgramAutonomy},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    asks_owner=True,
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
    example={"tier": "standard", "note": "The supplier changed; we look at each payment for a while."},
    answer_example=AUTONOMY,
)


AREA: Final = Area(
    routes=(
        answer_route("/api/autonomy", _LIST, _TAG, AutonomyService.list),
        answer_route("/api/autonomy/{program_id:str}", _READ, _TAG, AutonomyService.read),
        write_route("/api/autonomy/{program_id:str}", _CHANGE, _TAG, AutonomyService.change),
    ),
    provide={_TAG: AutonomyService},
)
