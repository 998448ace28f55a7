"""Tokens that an OpenID provider signed, and the checks of a received ID token.

PyJWT verifies the signature, the issuer and the audience. The key is chosen by its id, of the type of an allowed
algorithm: the token's header chooses no other. The time comes from the caller; PyJWT's check of ``exp`` reads the
clock.

Unit    seconds since 1970
Source  OpenID Connect Core 1.0, 3.1.3.7; RFC 8725
Errors  OpenIdRefusedError for a token that proves nothing; UnknownKeyError for a key that is not among the keys
"""

from collections.abc import Mapping, Sequence
from hmac import compare_digest
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from clearhold.features.openid.answers import OpenIdClaims, OpenIdRefusedError

KEY_TYPES: Final[Mapping[str, str]] = {"RS256": "RSA", "PS256": "RSA", "ES256": "EC"}
"""The allowed algorithms, each with the type of its keys."""

LEEWAY_S: Final = 60
LONGEST_AGE_S: Final = 600
LEAST_RSA_BITS: Final = 2_048
LONGEST_TOKEN: Final = 65_536
_REQUIRED: Final = ("iss", "sub", "aud", "exp", "iat")
_OWN_TIME: Final = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}


class UnknownKeyError(OpenIdRefusedError):
    """The token names a key that the provider has not published, or not yet."""


def verified(
    token: str,
    keys: Sequence[Mapping[str, Any]],
    *,
    issuer: str,
    client_id: str,
    nonce: str | None,
    now_s: int,
) -> OpenIdClaims:
    """The claims of a token that this client may rely on; ``nonce`` None: a refreshed token, which needs none."""
    claims = signed_claims(token, keys, issuer=issuer, client_id=client_id, required=_REQUIRED)
    check_times(claims, now_s)
    _check_party(claims, client_id)
    if nonce is not None and not _same(claims.get("nonce"), nonce):
        raise OpenIdRefusedError("the ID token has another nonce")
    return OpenIdClaims(subject=claims["sub"], claims=claims)


def signed_claims(
    token: str, keys: Sequence[Mapping[str, Any]], *, issuer: str, client_id: str, required: Sequence[str]
) -> dict[str, Any]:
    """The claims of a token that the provider signed for this client; its times are not checked."""
    if len(token) > LONGEST_TOKEN:
        raise OpenIdRefusedError("the token is too long")
    options: Any = _OWN_TIME | {"require": list(required)}
    try:
        head = jwt.get_unverified_header(token)
        algorithm = head.get("alg")
        if not isinstance(algorithm, str) or algorithm not in KEY_TYPES:
            raise OpenIdRefusedError("the token has another algorithm than the allowed ones")
        key = _key_of(head.get("kid"), algorithm, keys)
        claims: dict[str, Any] = jwt.decode(
            token, key, algorithms=[algorithm], audience=client_id, issuer=issuer, options=options
        )
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
        raise OpenIdRefusedError(f"the token proves nothing: {type(error).__name__}") from error
    return claims


def _key_of(key_id: object, algorithm: str, keys: Sequence[Mapping[str, Any]]) -> jwt.PyJWK:
    """The one key of this id. A token without an id of its key needs a provider with one fitting key."""
    fitting = [each for each in keys if _fits(each, algorithm)]
    chosen = fitting if key_id is None else [each for each in fitting if each.get("kid") == key_id]
    if len(chosen) != 1:
        raise UnknownKeyError("the token's key is not among the provider's keys")
    key = jwt.PyJWK(dict(chosen[0]), algorithm)
    if isinstance(key.key, RSAPublicKey) and key.key.key_size < LEAST_RSA_BITS:
        raise OpenIdRefusedError("the provider's key is too short")
    return key


def _fits(key: Mapping[str, Any], algorithm: str) -> bool:
    return (
        key.get("kty") == KEY_TYPES[algorithm]
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (algorithm != "ES256" or key.get("crv") == "P-256")
    )


def check_times(claims: Mapping[str, Any], now_s: int) -> None:
    """OpenIdRefusedError for a token that has expired, or that was not made now."""
    expires, issued, begins = claims.get("exp", now_s), claims["iat"], claims.get("nbf", 0)
    if not all(isinstance(each, int | float) for each in (expires, issued, begins)):
        raise OpenIdRefusedError("the token's times are no numbers")
    if now_s >= expires + LEEWAY_S:
        raise OpenIdRefusedError("the token has expired")
    if max(issued, begins) > now_s + LEEWAY_S or issued < now_s - LONGEST_AGE_S - LEEWAY_S:
        raise OpenIdRefusedError("the token was not made now; compare the clocks")


def _check_party(claims: Mapping[str, Any], client_id: str) -> None:
    """A token for several audiences names this client as the one that it was made for."""
    audience = claims["aud"]
    has_others = isinstance(audience, list) and len(audience) > 1
    if claims.get("azp", None if has_others else client_id) != client_id:
        raise OpenIdRefusedError("the ID token was made for another client")


def _same(given: object, wanted: str) -> bool:
    return isinstance(given, str) and compare_digest(given.encode(), wanted.encode())
