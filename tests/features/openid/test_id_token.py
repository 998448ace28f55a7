"""ID tokens: one that proves a person, and each kind that proves nothing."""

import base64
import hmac
import json
from hashlib import sha256
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from clearhold.features.openid.answers import OpenIdClaims, OpenIdRefusedError
from clearhold.features.openid.id_token import UnknownKeyError, verified
from tests.support.openid_provider import EC_KEY, RSA_KEY, public_jwk, public_pem

ISSUER, CLIENT, NONCE, NOW = "https://sso.bank.example/", "clearhold", "n-1", 1_800_000_000
CLAIMS: Final = {"iss": ISSUER, "sub": "u-ann", "aud": CLIENT, "exp": NOW + 300, "iat": NOW, "nonce": NONCE}
KEYS: Final = (public_jwk(RSA_KEY, "rsa-1"), public_jwk(EC_KEY, "ec-1"))


def token(algorithm: str = "RS256", key_id: str | None = "rsa-1", **over: Any) -> str:
    claims = {name: value for name, value in (CLAIMS | over).items() if value is not None}
    headers = {} if key_id is None else {"kid": key_id}
    return jwt.encode(claims, EC_KEY if algorithm == "ES256" else RSA_KEY, algorithm, headers=headers)


def read(sent: str, keys: tuple[dict[str, Any], ...] = KEYS, nonce: str | None = NONCE) -> OpenIdClaims:
    return verified(sent, keys, issuer=ISSUER, client_id=CLIENT, nonce=nonce, now_s=NOW)


def by_hand(head: dict[str, Any], secret: bytes | None, claims: dict[str, Any] = CLAIMS) -> str:
    """A token of a form that no library makes; ``secret`` None: without a signature."""
    parts = [base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=") for each in (head, claims)]
    content = b".".join(parts)
    signature = b"" if secret is None else hmac.digest(secret, content, sha256)
    return (content + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


@pytest.mark.parametrize(("algorithm", "key_id"), [("RS256", "rsa-1"), ("PS256", "rsa-1"), ("ES256", "ec-1")])
def test_given_a_token_of_an_allowed_algorithm_then_it_proves_its_person(algorithm: str, key_id: str) -> None:
    assert read(token(algorithm, key_id)).subject == "u-ann"


def test_given_several_audiences_then_the_token_has_to_name_this_client_as_its_own() -> None:
    assert read(token(aud=[CLIENT, "other"], azp=CLIENT)).subject == "u-ann"
    for over in ({"azp": "other"}, {"aud": [CLIENT, "other"]}, {"aud": [CLIENT, "other"], "azp": "other"}):
        with pytest.raises(OpenIdRefusedError, match="another client"):
            read(token(**over))


@pytest.mark.parametrize(
    "over",
    [
        {"aud": "other"},
        {"aud": None},
        {"iss": "https://sso.bank.example"},
        {"iss": "https://evil.example/"},
        {"sub": None},
        {"sub": 7},
        {"exp": NOW - 60},
        {"exp": None},
        {"exp": "tomorrow"},
        {"iat": NOW + 61},
        {"iat": NOW - 661},
        {"iat": None},
        {"nbf": NOW + 61},
        {"nonce": "n-2"},
        {"nonce": None},
        {"nonce": 1},
    ],
)
def test_given_a_claim_that_is_wrong_or_missing_then_the_token_proves_nothing(over: dict[str, Any]) -> None:
    with pytest.raises(OpenIdRefusedError):
        read(token(**over))


@pytest.mark.parametrize(
    "sent",
    [
        by_hand({"alg": "none", "kid": "rsa-1"}, None),
        by_hand({"alg": "None", "kid": "rsa-1"}, None),
        by_hand({"alg": "HS256", "kid": "rsa-1"}, public_pem(RSA_KEY)),
        by_hand({"alg": "HS256", "kid": "rsa-1"}, b""),
        by_hand({"alg": "RS256", "kid": "rsa-1"}, public_pem(RSA_KEY)),
        by_hand({"alg": "RS256", "kid": "rsa-1"}, None),
        by_hand({"alg": "ES256", "kid": "ec-1"}, b"x"),
        by_hand({"alg": ["RS256"], "kid": "rsa-1"}, None),
        by_hand({"alg": "RS256", "kid": {"rsa": 1}}, None),
        token("RS384"),
        token("ES256", "rsa-1"),
        token("RS256", "ec-1"),
        token()[:-8],
        "",
        "a.b.c",
        "[" * 50_000,
        "x" * 70_000,
    ],
)
def test_given_a_token_without_the_providers_signature_then_it_proves_nothing(sent: str) -> None:
    with pytest.raises(OpenIdRefusedError):
        read(sent)


def test_given_a_token_of_another_key_under_a_known_id_then_it_proves_nothing() -> None:
    other = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    with pytest.raises(OpenIdRefusedError):
        read(jwt.encode(CLAIMS, other, "RS256", headers={"kid": "rsa-1"}))


def test_given_keys_then_one_is_chosen_by_its_id_and_by_its_use() -> None:
    for keys in ((), KEYS[1:], ({**KEYS[0], "use": "enc"},), ({**KEYS[0], "alg": "PS256"},), (KEYS[0], KEYS[0])):
        with pytest.raises(UnknownKeyError):
            read(token(), keys)
    assert read(token(key_id=None)).subject == "u-ann"
    with pytest.raises(UnknownKeyError):
        read(token(key_id=None), (KEYS[0], {**KEYS[0], "kid": "rsa-2"}))


@pytest.mark.parametrize("keys", [({**KEYS[0], "n": "!"},), ({**KEYS[0], "n": 5},), ({"kty": "RSA", "kid": "rsa-1"},)])
def test_given_a_key_that_is_none_then_the_token_proves_nothing(keys: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(OpenIdRefusedError):
        read(token(), keys)


def test_given_a_short_key_then_the_token_proves_nothing() -> None:
    short = rsa.generate_private_key(public_exponent=65_537, key_size=1_024)  # noqa: S505 - the key to refuse
    sent = by_hand({"alg": "RS256", "kid": "rsa-1"}, b"")
    with pytest.raises(OpenIdRefusedError, match="too short"):
        read(sent, (public_jwk(short, "rsa-1"),))


def test_given_a_refreshed_token_then_it_needs_no_nonce() -> None:
    assert read(token(nonce=None), nonce=None).subject == "u-ann"
