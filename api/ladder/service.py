"""The limit ladder: read, compared with a proposed transfer, and the entities that are due for screening.

Errors  NotFoundError for a program that is not this tenant's; InvalidRequestError for a cursor of another list;
        UnavailableError while the state has no owner
"""

import msgspec
from anyio import to_thread

from clearhold.api.ladder.schemas import EvaluationRequest, LadderInForce, RescreenPage, RescreenQuery, to_due
from clearhold.api.lists.cursors import Place, cursor_for, place_of
from clearhold.api.preflight.schemas import proposed
from clearhold.api.program_service import ProgramService
from clearhold.features.core.principal import Principal
from clearhold.features.limits.proposed import LimitEvaluation
from clearhold.features.policy.bodies import LADDER, LimitLadder
from clearhold.features.policy.in_force import ladder_in_force, version_in_force
from clearhold.features.shard.questions import EvaluateLadder, Owner
from clearhold.store.clock import Clock
from clearhold.store.control.policies import Policies
from clearhold.store.duck.parties import FIRST, Rescreening


class LadderService:
    def __init__(
        self, *, programs: ProgramService, policies: Policies, owner: Owner, rescreening: Rescreening, clock: Clock
    ) -> None:
        self._programs, self._policies, self._owner = programs, policies, owner
        self._rescreening, self._clock = rescreening, clock

    def read(self, principal: Principal, program_id: str | None) -> LadderInForce:
        """The tenant's ladder, or the program's."""
        return self._in_force(principal, None if program_id is None else self._programs.read(principal, program_id).id)

    def _in_force(self, principal: Principal, program_id: str | None) -> LadderInForce:
        policies = self._policies.of_tenant(principal.tenant_id)
        for own in policies.all() if program_id is not None else ():
            if own.active and own.program_id == program_id and isinstance(own.body, LimitLadder):
                return LadderInForce(version=own.version, ladder=own.body)
        now = self._clock.now()
        return LadderInForce(
            version=version_in_force(policies, LADDER, now).version, ladder=ladder_in_force(policies, now)
        )

    async def evaluate(self, principal: Principal, request: EvaluationRequest) -> LimitEvaluation:
        """The limits in the transfer's pre-flight; nothing is recorded."""
        program = self._programs.read(principal, str(request.program_id))
        question = EvaluateLadder(proposed(request.transfer), self._clock.now())
        evaluation = (await self._owner.query(program.id, question)).value
        return self._programs.marked(evaluation, program.id)

    async def due(self, principal: Principal, query: RescreenQuery) -> RescreenPage:
        """By program and entity; a programId of another tenant is a 404."""
        programs = self._programs.filter_by(principal, query.program_id)
        filters = {"programId": programs}
        place = None if query.cursor is None else place_of(query.cursor, filters)
        after = FIRST if place is None else (place.program_id, place.id)
        cadences = [
            (program.id, band, days)
            for program in self._programs.list(principal, source=None)
            for band, days in msgspec.structs.asdict(self._in_force(principal, program.id).ladder.rescreen_days).items()
        ]
        rows = await to_thread.run_sync(
            lambda: self._rescreening.due(principal, programs, cadences, after, query.limit + 1, now=self._clock.now())
        )
        page = rows[: query.limit]
        last = Place(0, page[-1].entity_id, page[-1].program_id) if len(rows) > query.limit else None
        return RescreenPage.of(
            [self._programs.marked(to_due(row), row.program_id) for row in page],
            None if last is None else cursor_for(last, filters),
        )
