"""Proofs as the interface shows them: the claims that are signed, and the result of a verification."""

from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

from clearhold.api.http.fields import BankId
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import Band, about


class ProofSubject(StrEnum):
    """The kinds of actors with a separate score."""

    ENTITY = "entity"
    COUNTERPARTY = "counterparty"
    AGENT = "agent"


class Fault(StrEnum):
    """Why a token proves nothing, in the order of the checks."""

    TOKEN_REQUIRED = "token required"  # noqa: S105 - a reason, not a token
    MALFORMED = "malformed"
    UNSUPPORTED_ALG = "unsupported alg"
    UNKNOWN_KID = "unknown kid"
    BAD_SIGNATURE = "bad signature"
    EXPIRED = "expired"
    NO_SCORE = "no score in claims"


class NewProof(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` is required if several programs have an actor of that id."""

    type: Annotated[ProofSubject, about("What the actor is; on the program `agents` it is an agent.")]
    id: Annotated[BankId, about("The bank's id of the actor.")]
    program_id: Annotated[UUID | None, about("The actor's program; required where several have this actor id.")] = None


class ProofClaims(msgspec.Struct, frozen=True, kw_only=True):
    """The signed claims: the actor's score when the token was made."""

    iss: Annotated[str, about("The platform's public address; its keys are at /.well-known/jwks.json.")]
    sub: Annotated[str, about("The actor: its type, a colon, and the bank's id of it.")]
    tenant: Annotated[str, about("Slug of the bank.")]
    program: Annotated[str | None, about("Id of the program on which the actor was observed.")]
    score: Annotated[int, about("0 to 100, when the token was made.")]
    band: Band
    version: str
    n: int
    confidence: float | None
    reasons: Annotated[tuple[str, ...], about("Ids of the reasons, as in ERS-KYC-02; docs/reasons.md lists them all.")]
    simulated: Simulated = msgspec.UNSET
    iat: Annotated[int, about("When the token was made, in seconds since 1970.")]
    exp: Annotated[int, about("When it ends, in seconds since 1970: 24 hours after iat.")]
    jti: Annotated[str, about("Id of the proof.")]


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    token: Annotated[str, about("The proof: a compact JWS, to be handed to its readers.")]
    claims: ProofClaims


class TokenToVerify(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every value of ``token`` has a verdict, also one that is not a string."""

    token: Annotated[Any, about("The proof. Left out, null or empty: token required; no string: malformed.")] = None


class ProofVerification(msgspec.Struct, frozen=True, kw_only=True):
    """``reason`` is there unless ``valid``; ``claims`` only when the signature holds."""

    valid: Annotated[bool, about("Whether the token is a proof of this service that still holds.")]
    reason: Annotated[
        Fault | msgspec.UnsetType,
        about(
            "The first check that failed: token required, malformed, unsupported alg, unknown kid, bad "
            "signature, expired or no score in claims. Left out when valid."
        ),
    ] = msgspec.UNSET
    claims: ProofClaims | msgspec.UnsetType = msgspec.UNSET
    expired: Annotated[
        Literal[True] | msgspec.UnsetType,
        about("true when the signature holds and the 24 hours are over; left out otherwise."),
    ] = msgspec.UNSET
