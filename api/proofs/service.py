"""Proofs: an actor's score of now, signed, so that anyone can check its origin offline.

Errors  NotFoundError for an actor or program that is not this tenant's; InvalidRequestError for an id that several
        programs have while the request names none of them; ConflictError for an actor without a score, and while the
        service does not know its public address; UnavailableError while the program's state has no owner
"""

from typing import Final, NamedTuple

import msgspec
import structlog
from anyio import to_thread

from clearhold.api.area import Resources
from clearhold.api.lists.lists import to_answer
from clearhold.api.parties.routes import Parties
from clearhold.api.proofs.token import (
    Fault,
    NewProof,
    Proof,
    ProofClaims,
    ProofVerification,
    checked_token,
    signed_token,
)
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.errors import ConflictError, ErrorCode
from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import ActorType, Score
from clearhold.features.shard.questions import ReadScores
from clearhold.store.keys.signing_keys import KeyPurpose

UNSCORED: Final = "This actor has no score yet, so there is nothing to prove."


class ActorScore(NamedTuple):
    """An actor's score in a program at an instant."""

    program_id: str
    at: int
    score: Score


LIFETIME_S: Final = 24 * 60 * 60
NO_ISSUER: Final = (
    "A proof names the address at which its keys are published, and this service does not know its own. "
    "Its operator sets CLEARHOLD_BASE_URL."
)

log = structlog.get_logger()


class ProofService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._owner, self._clock = resources.programs, stores.owner, stores.clock
        self._parties, self._keys, self._issuer = Parties(resources), stores.record.signing_keys, resources.issuer

    async def issue(self, principal: Principal, request: NewProof) -> Proof:
        actor = await self._score(principal, request)
        if self._issuer is None:
            raise ConflictError(NO_ISSUER, ErrorCode.ISSUER_UNKNOWN)
        claims = self._programs.marked(_claims(principal, request, actor, self._issuer), actor.program_id)
        log.info(
            "proof_issued",
            tenant_id=principal.tenant_id,
            proof_id=claims.jti,
            subject_type=request.type.value,
            operator=principal.operator,
        )
        token = await to_thread.run_sync(lambda: signed_token(claims, self._keys.signing(KeyPurpose.PROOF)))
        return Proof(token=token, claims=claims)

    def verify(self, token: object) -> ProofVerification:
        """The verdict on a token of any tenant; the claims name the tenant."""
        fault, claims = checked_token(
            token,
            public_key_of=lambda kid: self._keys.public_key(KeyPurpose.PROOF, kid),
            now_s=self._clock.now() // SECOND_US,
        )
        return ProofVerification(
            valid=fault is None,
            reason=fault or msgspec.UNSET,
            claims=claims or msgspec.UNSET,
            expired=True if fault is Fault.EXPIRED else msgspec.UNSET,
        )

    async def _score(self, principal: Principal, request: NewProof) -> ActorScore:
        kind, named = ActorType(request.type), None if request.program_id is None else str(request.program_id)
        actor = await to_thread.run_sync(self._parties.find, principal, kind, request.id, named)
        program_id, now = actor.program_id, self._clock.now()
        question = ReadScores(kind, (request.id,), now)
        (score,) = (await self._owner.query(program_id, question)).value
        if score is None or score.value is None:
            raise ConflictError(UNSCORED, ErrorCode.ACTOR_UNSCORED)
        return ActorScore(program_id, now, score)


def _claims(principal: Principal, request: NewProof, actor: ActorScore, issuer: str) -> ProofClaims:
    program_id, at, score = actor
    assert score.value is not None, "an actor without a score was refused"
    subject, issued_at = f"{request.type.value}:{request.id}", at // SECOND_US
    return to_answer(
        score,
        ProofClaims,
        iss=issuer,
        sub=subject,
        tenant=principal.tenant,
        program=program_id,
        score=score.value,
        reasons=tuple(reason.id for reason in score.reasons),
        iat=issued_at,
        exp=issued_at + LIFETIME_S,
        jti=derived_id("proof", program_id, score.version, subject, str(at)),
    )
