"""The actors whose score can be proved, each with its score of now.

Errors  NotFoundError for an actor or program that is not this tenant's; InvalidRequestError for an id that several
        programs have while the request names none of them; ConflictError for an actor without a score;
        UnavailableError while the program's state has no owner
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, NoReturn

from anyio import to_thread

from clearhold.api.parties.routes import UNKNOWN_COUNTERPARTY, UNKNOWN_ENTITY
from clearhold.api.program_service import ProgramService, several_programs
from clearhold.api.proofs.schemas import NewProof, ProofSubject
from clearhold.features.core.errors import ConflictError, ErrorCode, NotFoundError
from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import ActorType, Score
from clearhold.features.shard.questions import Owner, ReadScores
from clearhold.features.state.program import AGENTS_SLUG
from clearhold.store.clock import Clock
from clearhold.store.duck.parties import Counterparties, Entities

UNKNOWN_AGENT: Final = "Unknown agent on this tenant."
UNSCORED: Final = "This actor has no score yet, so there is nothing to prove."
_NOUNS: Final = {
    ProofSubject.ENTITY: "an entity",
    ProofSubject.COUNTERPARTY: "a counterparty",
    ProofSubject.AGENT: "an agent",
}


class ActorScore(NamedTuple):
    """An actor's score in a program at an instant."""

    program_id: str
    at: int
    score: Score


class ScoredActors:
    def __init__(
        self,
        *,
        programs: ProgramService,
        entities: Entities,
        counterparties: Counterparties,
        owner: Owner,
        clock: Clock,
    ) -> None:
        self._programs, self._entities, self._counterparties = programs, entities, counterparties
        self._owner, self._clock = owner, clock

    async def score(self, principal: Principal, request: NewProof) -> ActorScore:
        program_id = await to_thread.run_sync(self._program_with, principal, request)
        now = self._clock.now()
        question = ReadScores(ActorType(request.type), (request.id,), now)
        (score,) = (await self._owner.query(program_id, question)).value
        if score is None or score.value is None:
            raise ConflictError(UNSCORED, ErrorCode.ACTOR_UNSCORED)
        return ActorScore(program_id, now, score)

    def _program_with(self, principal: Principal, request: NewProof) -> str:
        """The one program that knows the actor."""
        named = None if request.program_id is None else [str(request.program_id)]
        program_ids = self._programs_with(principal, request, self._programs.filter_by(principal, named))
        if not program_ids:
            _refuse_unknown(request.type)
        if len(program_ids) > 1:
            raise several_programs(_NOUNS[request.type])
        return program_ids[0]

    def _programs_with(self, principal: Principal, request: NewProof, named: Sequence[str] | None) -> list[str]:
        """The programs that know the actor, of those within the principal's reach."""
        if request.type is ProofSubject.COUNTERPARTY:
            return [row.program_id for row in self._counterparties.find(principal, request.id, named)]
        known = [row.program_id for row in self._entities.find(principal, request.id, named)]
        if request.type is ProofSubject.AGENT:
            return [each for each in known if self._programs.read(principal, each).slug == AGENTS_SLUG]
        return known


def _refuse_unknown(kind: ProofSubject) -> NoReturn:
    if kind is ProofSubject.ENTITY:
        raise NotFoundError(UNKNOWN_ENTITY, ErrorCode.ENTITY_NOT_FOUND)
    if kind is ProofSubject.COUNTERPARTY:
        raise NotFoundError(UNKNOWN_COUNTERPARTY, ErrorCode.COUNTERPARTY_NOT_FOUND)
    raise NotFoundError(UNKNOWN_AGENT, ErrorCode.AGENT_NOT_FOUND)
