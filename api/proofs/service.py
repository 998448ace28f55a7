"""Proofs: an actor's newest score, signed, so that anyone can check its origin offline.

Errors  as ``ScoredActors``; ConflictError while the service does not know its public address
"""

from typing import Final

import msgspec
import structlog
from anyio import to_thread

from clearhold.api.program_service import ProgramService
from clearhold.api.proofs.actors import ScoredActors
from clearhold.api.proofs.schemas import Fault, NewProof, Proof, ProofClaims, ProofVerification
from clearhold.api.proofs.token import checked_token, signed_token
from clearhold.features.core.errors import ConflictError, ErrorCode
from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.scores import ScoreRow
from clearhold.features.core.vocabulary import Band
from clearhold.store.clock import Clock
from clearhold.store.keys.key_schedule import KeyPurpose
from clearhold.store.keys.signing_keys import SigningKeys

LIFETIME_S: Final = 24 * 60 * 60
NO_ISSUER: Final = (
    "A proof names the address at which its keys are published, and this service does not know its own. "
    "Its operator sets CLEARHOLD_BASE_URL."
)

log = structlog.get_logger()


class _WithId(msgspec.Struct):
    id: str


_REASONS: Final = msgspec.json.Decoder(tuple[_WithId, ...])


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
        return await to_thread.run_sync(self._issue, principal, request)

    def _issue(self, principal: Principal, request: NewProof) -> Proof:
        row = self._actors.newest_score(principal, request)
        if self._issuer is None:
            raise ConflictError(NO_ISSUER, ErrorCode.ISSUER_UNKNOWN)
        claims = self._programs.marked(self._claims(principal, row, self._issuer), row.program_id)
        log.info(
            "proof_issued",
            tenant_id=row.tenant_id,
            score_id=row.id,
            subject_type=row.subject_type,
            operator=principal.operator,
        )
        return Proof(token=signed_token(claims, self._keys.signing(KeyPurpose.PROOF)), claims=claims)

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

    def _claims(self, principal: Principal, row: ScoreRow, issuer: str) -> ProofClaims:
        assert row.score is not None, "an actor without a score was refused"
        issued_at = self._clock.now() // SECOND_US
        return ProofClaims(
            iss=issuer,
            sub=f"{row.subject_type}:{row.subject_id}",
            tenant=principal.tenant,
            program=row.program_id,
            score=row.score,
            band=Band(row.band),
            version=row.version,
            n=row.n,
            confidence=row.confidence,
            reasons=tuple(reason.id for reason in _REASONS.decode(row.reasons)),
            iat=issued_at,
            exp=issued_at + LIFETIME_S,
            jti=row.id,
        )
