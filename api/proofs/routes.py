"""Proofs: an actor's score of now, signed for a tenant, so that anyone can check its origin offline.

Errors  NotFoundError for an actor or program that is not this tenant's; InvalidRequestError for an id that several
        programs have while the request names none of them; ConflictError for an actor without a score, and while the
        service does not know its public address; UnavailableError while the program's state has no owner
"""

from typing import Any, Final

import msgspec
import structlog
from litestar import post
from litestar.di import NamedDependency

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest, note
from clearhold.api.http.gate import body_of
from clearhold.api.http.operation import Access, Operation, RateClass, examples_of
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import write_route
from clearhold.api.lists.lists import to_answer
from clearhold.api.parties.routes import PartyFinder
from clearhold.api.proofs.token import (
    Fault,
    NewProof,
    Proof,
    ProofClaims,
    ProofVerification,
    TokenToVerify,
    checked_token,
    signed_token,
)
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.errors import ConflictError, ErrorCode
from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.principal import KeyScope, Principal
from clearhold.features.core.vocabulary import ActorType
from clearhold.features.shard.questions import ReadScores
from clearhold.store.keys import KeyPurpose

UNSCORED: Final = "This actor has no score yet, so there is nothing to prove."


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
        self._parties, self._keys, self._issuer = PartyFinder(resources), stores.record.signing_keys, resources.issuer

    async def issue(self, principal: Principal, request: NewProof) -> Proof:
        kind, named = ActorType(request.type), None if request.program_id is None else str(request.program_id)
        actor = await in_reader(self._parties.find, principal, kind, request.id, named)
        now = self._clock.now()
        (score,) = (await self._owner.query(actor.program_id, ReadScores(kind, (request.id,), now))).value
        if score is None or score.value is None:
            raise ConflictError(UNSCORED, ErrorCode.ACTOR_UNSCORED)
        if self._issuer is None:
            raise ConflictError(NO_ISSUER, ErrorCode.ISSUER_UNKNOWN)
        subject, issued_at = f"{kind}:{request.id}", now // SECOND_US
        claims = to_answer(
            score,
            ProofClaims,
            iss=self._issuer,
            sub=subject,
            tenant=principal.tenant,
            program=actor.program_id,
            score=score.value,
            reasons=tuple(reason.id for reason in score.reasons),
            iat=issued_at,
            exp=issued_at + LIFETIME_S,
            jti=derived_id("proof", actor.program_id, score.version, subject, str(now)),
        )
        claims = self._programs.marked(claims, actor.program_id)
        log.info(
            "proof_issued",
            tenant_id=principal.tenant_id,
            proof_id=claims.jti,
            subject_type=request.type.value,
            operator=principal.operator,
        )
        token = await in_reader(lambda: signed_token(claims, self._keys.signing(KeyPurpose.PROOF)))
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


CLAIMS: Final[dict[str, Any]] = examples_of(__file__)["claims"]
TOKEN: Final = "eyJhbGciOiJFZERTQSIsImtpZCI6Ii4uLiIsInR5cCI6InNjb3JlLXByb29mK2p3dCJ9.e30.AA"  # noqa: S105 - an example
PROOF: Final = {"token": TOKEN, "claims": CLAIMS}


_TAG: Final = "proofs"
VALID: Final = "valid"
VERDICTS: Final = (VALID, *Fault)

_ISSUE: Final = Operation(
    id="issueProof",
    tag=_TAG,
    summary="Signs the score that an actor has now as a token that anyone can verify offline. "
    "It is good for 24 hours. 409 for an actor without a score; 400 if several programs have an actor of that id and "
    "programId names none of them.",
    access=Access.BEARER,
    scope=KeyScope.PROOFS,
    answers={201: Proof},
    refusals=(
        ErrorCode.PROGRAM_REQUIRED,
        ErrorCode.ENTITY_NOT_FOUND,
        ErrorCode.COUNTERPARTY_NOT_FOUND,
        ErrorCode.AGENT_NOT_FOUND,
        ErrorCode.ACTOR_UNSCORED,
        ErrorCode.ISSUER_UNKNOWN,
    ),
    asks_owner=True,
    body=RequestSchema(NewProof),
    example={"type": "entity", "id": "enti_2zExample0001"},
    answer_example=PROOF,
)
_VERIFY: Final = Operation(
    id="verifyProof",
    tag=_TAG,
    summary="Whether a token is a valid proof of this service, with its claims. "
    "200 for every value: `reason` names the first check that it fails. No bearer is needed.",
    access=Access.PUBLIC,
    rate=RateClass.VERIFY,
    answers={200: ProofVerification},
    body=RequestSchema(TokenToVerify),
    example={"token": TOKEN},
    answer_example={"valid": True, "claims": CLAIMS},
)


@post("/api/proofs/verify", status_code=200, opt=_VERIFY.as_opt)
async def verify_proof(request: ApiRequest, proofs: NamedDependency[ProofService]) -> ProofVerification:
    verification = proofs.verify(body_of(request.scope, TokenToVerify).token)
    note(request.scope, verdict=verification.reason or VALID)
    return verification


AREA: Final = Area(
    routes=(write_route("/api/proofs", _ISSUE, _TAG, ProofService.issue), verify_proof), provide={_TAG: ProofService}
)
