"""Proof tokens taken apart and put together again, by the book and not by the code under test."""

import base64
import hashlib
import hmac
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import json

TYPE: Final = "score-proof+jwt"


def base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def parts_of(token: str) -> list[bytes]:
    """Header, claims and signature, decoded."""
    return [base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split(".")]


def claims_of(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = json.decode(parts_of(token)[1])
    return claims


def signed(header: dict[str, Any] | bytes, claims: dict[str, Any] | bytes, key: Ed25519PrivateKey) -> str:
    """A token as whoever holds the key could make it."""
    texts = [each if isinstance(each, bytes) else json.encode(each) for each in (header, claims)]
    text = ".".join(map(base64url, texts))
    return f"{text}.{base64url(key.sign(text.encode()))}"


def signed_with_a_secret(header: dict[str, Any], claims: dict[str, Any], secret: bytes) -> str:
    """HS256, as by whoever takes the published key for a secret."""
    text = ".".join(base64url(json.encode(each)) for each in (header, claims))
    return f"{text}.{base64url(hmac.new(secret, text.encode(), hashlib.sha256).digest())}"


def with_trailing_bit(part: str) -> str:
    """The same bytes, in base64url that is not canonical; of a part that does not end on a whole group."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    assert len(part) % 4 in {2, 3}
    return part[:-1] + alphabet[alphabet.index(part[-1]) ^ 1]
