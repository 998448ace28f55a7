"""Signing keys for the platform's administration, without the private half."""

from typing import Annotated

import msgspec

from clearhold.features.core.instants import format_instant
from clearhold.features.core.words import about
from clearhold.store.keys.key_schedule import KeyPurpose, KeyState, SigningKey


class NewSigningKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    purpose: Annotated[KeyPurpose, about("What the key is to sign.")]


class SigningKeyState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Until ``signsFrom`` the key is announced."""

    kid: str
    purpose: Annotated[KeyPurpose, about("What the key signs; never both.")]
    state: Annotated[
        KeyState,
        about("announced: published, not used yet; signing; retired: published for what it signed; expired; removed."),
    ]
    created_at: str
    signs_from: Annotated[str, about("From when on the key signs.")]


def to_signing_key(key: SigningKey, state: KeyState) -> SigningKeyState:
    return SigningKeyState(
        kid=key.kid,
        purpose=key.purpose,
        state=state,
        created_at=format_instant(key.created_at),
        signs_from=format_instant(key.signs_from),
    )
