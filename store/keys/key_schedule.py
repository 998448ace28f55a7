"""Which signing key signs at an instant, and which are published: a function of the keys and the instant alone.

A new key is announced, published and not used, until caches of the published keys have fetched it. Then it signs in
place of the former one, which stays published as long as its signatures must be verified: a proof ends after 24 hours,
a checkpoint never.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from clearhold.features.core.instants import HOUR_US, MINUTE_US

ANNOUNCED_FOR_US: Final = 30 * MINUTE_US
PROOFS_END_WITHIN_US: Final = 25 * HOUR_US


class KeyPurpose(StrEnum):
    """A key signs one kind of document, so that no signature can pass for one on another kind."""

    CHECKPOINT = "checkpoint"
    PROOF = "proof"


class KeyState(StrEnum):
    ANNOUNCED = "announced"  # published, and not used yet
    SIGNING = "signing"  # published
    RETIRED = "retired"  # published, because its signatures are still to be verified
    EXPIRED = "expired"  # every one of its signatures has ended
    REMOVED = "removed"  # by hand: none of its signatures count


PUBLISHED: Final = frozenset({KeyState.ANNOUNCED, KeyState.SIGNING, KeyState.RETIRED})


class SigningKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key pair; ``kid`` is the thumbprint of RFC 7638, ``x`` the public half in base64url.

    ``signs_from`` moves up when the key before it is removed.
    """

    kid: str
    purpose: KeyPurpose
    x: str
    private: Ed25519PrivateKey
    created_at: int
    signs_from: int
    removed_at: int | None = None

    @property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes_raw()

    def sign(self, content: bytes) -> bytes:
        return self.private.sign(content)


def signing_key(keys: Iterable[SigningKey], purpose: KeyPurpose, at: int) -> SigningKey:
    """The key that signs at an instant: the last one that began, or the first of all before that.

    There always is one, because a signing key is removed only together with the start of another.
    """
    usable = [key for key in keys if key.purpose is purpose and key.removed_at is None]
    begun = [key for key in usable if key.signs_from <= at]
    return max(begun, key=_signs_from) if begun else min(usable, key=_signs_from)


def state_of(key: SigningKey, keys: Iterable[SigningKey], at: int) -> KeyState:
    """The state of a key, which is one of ``keys``, at an instant."""
    if key.removed_at is not None:
        return KeyState.REMOVED
    if key is signing_key(keys, key.purpose, at):
        return KeyState.SIGNING
    if at < key.signs_from:
        return KeyState.ANNOUNCED
    begun = (each.signs_from for each in keys if each.purpose is key.purpose and _has_signed(each))
    retired_at = min((began for began in begun if key.signs_from < began), default=at)
    ends = key.purpose is KeyPurpose.PROOF and retired_at + PROOFS_END_WITHIN_US <= at
    return KeyState.EXPIRED if ends else KeyState.RETIRED


def _has_signed(key: SigningKey) -> bool:
    """Whether a key came to sign, once its time had come."""
    return key.removed_at is None or key.signs_from < key.removed_at


def _signs_from(key: SigningKey) -> int:
    return key.signs_from
