"""Proofs over HTTP: made for a tenant, verified by anyone."""

from typing import Any, Final

from litestar import post
from litestar.di import NamedDependency

from clearhold.api.area import Area
from clearhold.api.http.envelope import ApiRequest, note_verdict
from clearhold.api.http.gate import body_of
from clearhold.api.http.operation import Access, Operation, RateClass
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import write_route
from clearhold.api.programs.routes import PROGRAM_ID
from clearhold.api.proofs.service import ProofService
from clearhold.api.proofs.token import NewProof, Proof, ProofVerification, TokenToVerify
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

NEW_PROOF: Final = {"type": "entity", "id": "enti_2zExample0001"}
CLAIMS: Final[dict[str, Any]] = {
    "iss": "https://risk.bank.example",
    "sub": "entity:enti_2zExample0001",
    "tenant": "first-bank",
    "program": PROGRAM_ID,
    "score": 12,
    "band": "clear",
    "version": "ers-v1",
    "n": 40,
    "confidence": 0.67,
    "reasons": ["ERS-VOL-01"],
    "iat": 1772463845,
    "exp": 1772550245,
    "jti": "5f0c2d1e-6c4e-5a7b-9a53-0d5f3a1f8a11",
}
TOKEN: Final = "eyJhbGciOiJFZERTQSIsImtpZCI6Ii4uLiIsInR5cCI6InNjb3JlLXByb29mK2p3dCJ9.e30.AA"  # noqa: S105 - an example
PROOF: Final = {"token": TOKEN, "claims": CLAIMS}
VERIFICATION: Final = {"valid": True, "claims": CLAIMS}


_TAG: Final = "proofs"
VALID: Final = "valid"

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
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.ENTITY_NOT_FOUND,
        ErrorCode.COUNTERPARTY_NOT_FOUND,
        ErrorCode.AGENT_NOT_FOUND,
        ErrorCode.ACTOR_UNSCORED,
        ErrorCode.ISSUER_UNKNOWN,
        ErrorCode.UNAVAILABLE,
        ErrorCode.STARTING,
    ),
    body=RequestSchema(NewProof),
    example=NEW_PROOF,
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
    answer_example=VERIFICATION,
)


@post("/api/proofs/verify", status_code=200, opt=_VERIFY.as_opt)
async def verify_proof(request: ApiRequest, proofs: NamedDependency[ProofService]) -> ProofVerification:
    verification = proofs.verify(body_of(request.scope, TokenToVerify).token)
    note_verdict(request.scope, verification.reason or VALID)
    return verification


AREA: Final = Area(
    routes=(write_route("/api/proofs", _ISSUE, _TAG, ProofService.issue), verify_proof), provide={_TAG: ProofService}
)
