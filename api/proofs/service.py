"""Proofs: an actor's score of now, signed, so that anyone can check its origin offline.

Errors  as ``ScoredActors``; ConflictError while the service does not know its public address
"""

from typing import Final

import msgspec
import structlog
from anyio import to_thread

from clearhold.api.program_service import ProgramService
from clearhold.api.proofs.actors import ActorScore, ScoredActors
from clearhold.api.proofs.schemas import Fault, NewProof, Proof, ProofClaims, ProofVerification
from clearhold.api.proofs.token import checked_token, signed_token
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.errors import ConflictError, ErrorCode
from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.principal import Principal
from clearhold.store.clock import Clock
from clearhold.store.keys.signing_keys import KeyPurpose, SigningKeys

LIFETIME_S: Final = 24 * 60 * 60
NO_ISSUER: Final = (
    "A proof names the address at which its keys are published, and this service does not know its own. "
    "Its operator sets CLEARHOLD_BASE_URL."
)

log = structlog.get_logger()


class ProofService:
    """``issuer`` is the public address; None when unknown."""

    def __init__(
        self,
        *,
        actors: ScoredActors,
        programs: ProgramService,
        signing_keys: SigningKeys,
        clock: Clock,
        issuer: str | None,
    ) -> None:
        self._actors, self._programs, self._keys = actors, programs, signing_keys
        self._clock, self._issuer = clock, issuer

    async def issue(self, principal: Principal, request: NewProof) -> Proof:
        actor = await self._actors.score(principal, request)
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


def _claims(principal: Principal, request: NewProof, actor: ActorScore, issuer: str) -> ProofClaims:
    program_id, at, score = actor
    assert score.value is not None, "an actor without a score was refused"
    subject, issued_at = f"{request.type.value}:{request.id}", at // SECOND_US
    return ProofClaims(
        iss=issuer,
        sub=subject,
        tenant=principal.tenant,
        program=program_id,
        score=score.value,
        band=score.band,
        version=score.version,
        n=score.n,
        confidence=score.confidence,
        reasons=tuple(reason.id for reason in score.reasons),
        iat=issued_at,
        exp=issued_at + LIFETIME_S,
        jti=derived_id("proof", program_id, score.version, subject, str(at)),
    )
