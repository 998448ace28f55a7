"""Proofs as the interface shows them: the claims that are signed, and the result of a verification."""

from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

import msgspec

from clearhold.api.http.fields import BankId
from clearhold.features.core.program import Simulated
from clearhold.features.core.vocabulary import Band


class ProofSubject(StrEnum):
    """The kinds of actors that have a score of their own."""

    ENTITY = "entity"
    COUNTERPARTY = "counterparty"
    AGENT = "agent"


class Fault(StrEnum):
    """Why a token proves nothing, in the order in which it is checked."""

    TOKEN_REQUIRED = "token required"  # noqa: S105 - a reason, not a token
    MALFORMED = "malformed"
    UNSUPPORTED_ALG = "unsupported alg"
    UNKNOWN_KID = "unknown kid"
    BAD_SIGNATURE = "bad signature"
    EXPIRED = "expired"
    NO_SCORE = "no score in claims"


class NewProof(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` is required if several programs have an actor of that id."""

    type: ProofSubject
    id: BankId
    program_id: UUID | None = None


class ProofClaims(msgspec.Struct, frozen=True, kw_only=True):
    """What is signed: the actor's newest score when the token was made."""

    iss: str
    sub: str
    tenant: str
    program: str | None
    score: int
    band: Band
    version: str
    n: int
    confidence: float | None
    reasons: tuple[str, ...]
    simulated: Simulated = msgspec.UNSET
    iat: int
    exp: int
    jti: str


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    token: str
    claims: ProofClaims


class TokenToVerify(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whatever stands in ``token`` has a verdict, also what is no string."""

    token: Any = None


class ProofVerification(msgspec.Struct, frozen=True, kw_only=True):
    """``reason`` is there unless ``valid``; ``claims`` only when the signature holds."""

    valid: bool
    reason: Fault | msgspec.UnsetType = msgspec.UNSET
    claims: ProofClaims | msgspec.UnsetType = msgspec.UNSET
    expired: Literal[True] | msgspec.UnsetType = msgspec.UNSET
