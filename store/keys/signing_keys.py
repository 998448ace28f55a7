"""The service's signing keys: created at first use, sealed under the master key, public halves published.

File    ``signing-keys.json`` in the data directory. Keys are never removed, so old signatures stay verifiable
Errors  ``StartupError`` for a file that cannot be read, or whose keys the master key does not open
"""

import base64
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from features.core.instants import format_instant
from store.clock import Clock
from store.data_dir import StartupError
from store.durable_files import durable_file
from store.keys.secrets import SecretBox, UnsealError


class KeyPurpose(StrEnum):
    """A key signs one kind of document, so that no signature can pass for one on another kind."""

    CHECKPOINT = "checkpoint"
    PROOF = "proof"


class _StoredKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    kid: str
    purpose: KeyPurpose
    x: str
    sealed_private_key: str
    created_at: str


class SigningKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key pair; ``kid`` is the thumbprint of RFC 7638, ``x`` the public half in base64url."""

    kid: str
    purpose: KeyPurpose
    x: str
    private: Ed25519PrivateKey
    created_at: str

    @property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes_raw()


class SigningKeys:
    """All keys of a data directory. ``open`` creates a key for each of ``purposes`` that has none."""

    def __init__(self, keys: tuple[SigningKey, ...]) -> None:
        self._keys = keys

    @classmethod
    def open(cls, path: Path, *, box: SecretBox, clock: Clock, purposes: Iterable[KeyPurpose]) -> "SigningKeys":
        keys = _read(path, box)
        missing = set(purposes) - {key.purpose for key in keys}
        if missing:
            keys += tuple(_new_key(purpose, clock.now()) for purpose in sorted(missing))
            _write(path, keys, box)
        return cls(keys)

    def signing(self, purpose: KeyPurpose) -> SigningKey:
        """The key that signs now: the newest of its purpose."""
        return max((key for key in self._keys if key.purpose is purpose), key=_created_at)

    def published(self) -> tuple[SigningKey, ...]:
        """All keys whose signatures are valid, newest first."""
        return tuple(sorted(self._keys, key=_created_at, reverse=True))

    def public_keys(self, purpose: KeyPurpose) -> list[bytes]:
        return [key.public for key in self._keys if key.purpose is purpose]


def thumbprint(x: str) -> str:
    """RFC 7638 of an Ed25519 key."""
    return _base64url(sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest())


def _created_at(key: SigningKey) -> str:
    return key.created_at


def _new_key(purpose: KeyPurpose, at: int) -> SigningKey:
    return _key(Ed25519PrivateKey.generate(), purpose, format_instant(at))


def _key(private: Ed25519PrivateKey, purpose: KeyPurpose, created_at: str) -> SigningKey:
    x = _base64url(private.public_key().public_bytes_raw())
    return SigningKey(kid=thumbprint(x), purpose=purpose, x=x, private=private, created_at=created_at)


def _read(path: Path, box: SecretBox) -> tuple[SigningKey, ...]:
    try:
        stored = msgspec.json.decode(path.read_bytes(), type=tuple[_StoredKey, ...])
        return tuple(
            _key(
                Ed25519PrivateKey.from_private_bytes(base64.b64decode(box.open(key.sealed_private_key))),
                key.purpose,
                key.created_at,
            )
            for key in stored
        )
    except FileNotFoundError:
        return ()
    except msgspec.MsgspecError as error:
        raise StartupError(f"{path} is damaged: {error}.") from error
    except UnsealError as error:
        raise StartupError(f"The master key does not open {path}: {error}") from error


def _write(path: Path, keys: tuple[SigningKey, ...], box: SecretBox) -> None:
    stored = [
        _StoredKey(
            kid=key.kid,
            purpose=key.purpose,
            x=key.x,
            sealed_private_key=box.seal(base64.b64encode(key.private.private_bytes_raw()).decode()),
            created_at=key.created_at,
        )
        for key in keys
    ]
    with durable_file(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(stored)) + b"\n")


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
