"""Proof tokens: claims as a compact JWS under an Ed25519 key, and the checks of a received token.

PyJWT signs, and verifies the signature. Before that, a token must have a form that PyJWT does not demand: canonical
base64url, no repeated name, no ``crit``. The time comes from the caller; PyJWT's check of ``exp`` reads the clock.

Form    header.claims.signature, each in base64url without padding. The header is exactly alg EdDSA, kid and typ
Source  RFC 7515, 7519, 8037, 8725
Errors  none: a token that proves nothing is a ``Checked`` with its fault
"""

import base64
import binascii
import json
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, NamedTuple, NoReturn
from uuid import UUID

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from jwt import InvalidTokenError, PyJWS

from clearhold.api.http.fields import BankId
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import Band, about
from clearhold.store.keys import SigningKey


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


ALGORITHM: Final = "EdDSA"
TYPE: Final = "score-proof+jwt"
MOST_CHARACTERS: Final = 8 * 1024

_PART: Final = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)
_PARTS: Final = 3
_JWS: Final = PyJWS(algorithms=[ALGORITHM])


class Checked(NamedTuple):
    """A token after its checks. ``claims`` only when the signature is valid."""

    fault: Fault | None
    claims: ProofClaims | None = None


class _UnreadableError(Exception):
    """The token is not of the form."""


class _Parts(NamedTuple):
    token: str
    header: dict[str, Any]
    claims: dict[str, Any]


def signed_token(claims: ProofClaims, key: SigningKey) -> str:
    headers = {"kid": key.kid, "typ": TYPE}
    return _JWS.encode(msgspec.json.encode(claims), key.private, algorithm=ALGORITHM, headers=headers)


def checked_token(token: object, *, public_key_of: Callable[[str], bytes | None], now_s: int) -> Checked:
    """The first fault of a token, or its claims. The kid selects key and algorithm; keys in the header are ignored."""
    if token is None or token == "":
        return Checked(Fault.TOKEN_REQUIRED)
    try:
        parts = _parts_of(token)
    except _UnreadableError:
        return Checked(Fault.MALFORMED)
    if parts.header.get("alg") != ALGORITHM:
        return Checked(Fault.UNSUPPORTED_ALG)
    kid = parts.header.get("kid")
    public_key = public_key_of(kid) if isinstance(kid, str) else None
    if public_key is None:
        return Checked(Fault.UNKNOWN_KID)
    if not _holds(public_key, parts.token):
        return Checked(Fault.BAD_SIGNATURE)
    return _checked_claims(parts, now_s)


def _checked_claims(parts: _Parts, now_s: int) -> Checked:
    """The faults that can only occur under this service's signature."""
    if parts.header.get("typ") != TYPE:
        return Checked(Fault.MALFORMED)
    try:
        claims = msgspec.convert(parts.claims, ProofClaims)
    except msgspec.ValidationError:
        claims = None
    expires_at = parts.claims.get("exp")
    if type(expires_at) is int and expires_at <= now_s:
        return Checked(Fault.EXPIRED, claims)
    return Checked(Fault.NO_SCORE) if claims is None else Checked(None, claims)


def _holds(public_key: bytes, token: str) -> bool:
    try:
        _JWS.decode(token, Ed25519PublicKey.from_public_bytes(public_key), algorithms=[ALGORITHM])
    except InvalidTokenError:
        return False
    return True


def _parts_of(token: object) -> _Parts:
    if not isinstance(token, str) or len(token) > MOST_CHARACTERS:
        raise _UnreadableError
    texts = token.split(".")
    if len(texts) != _PARTS:
        raise _UnreadableError
    header, claims, _ = map(_decoded, texts)
    parts = _Parts(token, _object(header), _object(claims))
    if "crit" in parts.header:
        raise _UnreadableError
    return parts


def _decoded(text: str) -> bytes:
    """Canonical base64url only: no padding, and no bits left over at the end."""
    if not _PART.fullmatch(text):
        raise _UnreadableError
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        raise _UnreadableError from None
    if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != text:
        raise _UnreadableError
    return raw


def _object(raw: bytes) -> dict[str, Any]:
    """A JSON object without a repeated name."""
    try:
        value = json.loads(raw.decode(), object_pairs_hook=_without_repeats, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise _UnreadableError from None
    if not isinstance(value, dict):
        raise _UnreadableError
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) != len(pairs):
        raise _UnreadableError
    return plain


def _refuse(_: str) -> NoReturn:
    raise _UnreadableError
