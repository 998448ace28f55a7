"""The keys: secrets sealed under the master key, tokens known by their digest, and the service's signing keys.

Signing keys are created at first use, sealed under the master key, replaced in steps, never deleted. Which key signs at
an instant, and which are published, is a function of the keys and the instant alone. A new key is announced, published
and not used, until caches of the published keys have fetched it. Then it signs in place of the former one, which stays
published as long as its signatures must be verified: a proof ends after 24 hours, a checkpoint never.

File    ``signing-keys.json`` in the data directory, written by the serving process alone and replaced as a whole. A
        removed key stays in it: its signatures are still compared when the record is opened. The nodes of one log have
        the same keys (``nodes/shared_keys.py``)
Errors  ``StartupError`` for a file that cannot be read, or whose keys the master key does not open; NotFoundError for
        an unknown kid; ConflictError while a new key of the purpose is announced; ``UnsealError`` for a text that was
        sealed under another key, or changed since
"""

import base64
import binascii
import os
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from clearhold.features.core.errors import ConflictError, ErrorCode, NotFoundError
from clearhold.features.core.instants import HOUR_US, MINUTE_US, format_instant, parse_instant
from clearhold.store.clock import Clock
from clearhold.store.durable_files import durable_file
from clearhold.store.errors import StartupError

MASTER_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_VERSION: Final = "v1."
_CHANGED: Final = "This secret was sealed under another master key, or was changed since."


class UnsealError(Exception):
    """A sealed secret cannot be opened with this master key."""


def token_digest(token: str) -> str:
    """SHA-256 in hex. Tokens carry 256 random bits, so a slow hash would add nothing."""
    return sha256(token.encode()).hexdigest()


class SecretBox:
    """Seals texts with AES-256-GCM. Nonces are random, which is safe up to 2**32 seals: far more than needed."""

    def __init__(self, master_key: bytes) -> None:
        if len(master_key) != MASTER_KEY_BYTES:
            raise ValueError(f"A master key has {MASTER_KEY_BYTES} bytes, this one has {len(master_key)}.")
        self._cipher = AESGCM(master_key)

    def seal(self, secret: str) -> str:
        return _VERSION + base64.urlsafe_b64encode(self.seal_bytes(secret.encode())).decode()

    def seal_bytes(self, content: bytes) -> bytes:
        """As ``seal``, for bytes: a third smaller."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, content, _VERSION.encode())

    def open(self, sealed: str) -> str:
        if not sealed.startswith(_VERSION):
            raise UnsealError("This text was not sealed here.")
        try:
            raw = base64.b64decode(sealed.removeprefix(_VERSION), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise UnsealError(_CHANGED) from error
        return self.open_bytes(raw).decode()

    def open_bytes(self, sealed: bytes) -> bytes:
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _VERSION.encode())
        except (InvalidTag, ValueError) as error:
            raise UnsealError(_CHANGED) from error


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


def signing_key(keys: Iterable[SigningKey], purpose: KeyPurpose, at: int) -> SigningKey:
    """The key that signs at an instant: the last one that began, or the first of all before that.

    There always is one, because a signing key is removed only together with the start of another.
    """
    usable = [key for key in keys if key.purpose is purpose and key.removed_at is None]
    begun = [key for key in usable if key.signs_from <= at]
    return max(begun, key=attrgetter("signs_from")) if begun else min(usable, key=attrgetter("signs_from"))


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


_FILE_STEP_US: Final = 1_000
UNKNOWN_KEY: Final = "No signing key has this kid."
ANNOUNCED_ALREADY: Final = "A new key of this purpose is announced already, and has not begun to sign."


class _StoredKey(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """``signs_from`` None: from its creation on."""

    kid: str
    purpose: KeyPurpose
    x: str
    sealed_private_key: str
    created_at: str
    signs_from: str | None = None
    removed_at: str | None = None


class SigningKeys:
    """All keys of a data directory, for several threads. ``open`` creates a key for each of ``purposes`` that has none.

    Without ``purposes`` it writes nothing.
    """

    def __init__(self, keys: tuple[SigningKey, ...], *, path: Path, box: SecretBox, clock: Clock) -> None:
        self._keys, self._path, self._box, self._clock = keys, path, box, clock
        self._lock = Lock()

    @classmethod
    def open(cls, path: Path, *, box: SecretBox, clock: Clock, purposes: Iterable[KeyPurpose]) -> "SigningKeys":
        signing_keys = cls(read_keys(path, box), path=path, box=box, clock=clock)
        signing_keys.create(purposes)
        return signing_keys

    def create(self, purposes: Iterable[KeyPurpose]) -> None:
        """Create a key for each purpose that has none."""
        missing = sorted(set(purposes) - {key.purpose for key in self._keys})
        if missing:
            now = _now(self._clock)
            fresh = (_key(Ed25519PrivateKey.generate(), purpose, now, now) for purpose in missing)
            self._replace((*self._keys, *fresh))

    def signing(self, purpose: KeyPurpose) -> SigningKey:
        """The key that signs now."""
        return signing_key(self._keys, purpose, self._clock.now())

    def states(self) -> list[tuple[SigningKey, KeyState]]:
        """Every key with its state now, newest first."""
        keys, now = self._keys, self._clock.now()
        return [(key, state_of(key, keys, now)) for key in sorted(keys, key=attrgetter("created_at"), reverse=True)]

    def published(self) -> tuple[SigningKey, ...]:
        """The keys by which signatures are verified now, newest first."""
        return tuple(key for key, state in self.states() if state in PUBLISHED)

    def public_key(self, purpose: KeyPurpose, kid: str) -> bytes | None:
        """The public half of a published key."""
        keys, now = self._keys, self._clock.now()
        key = next((each for each in keys if (each.purpose, each.kid) == (purpose, kid)), None)
        return key.public if key is not None and state_of(key, keys, now) in PUBLISHED else None

    def public_keys(self, purpose: KeyPurpose) -> list[bytes]:
        """Of all keys that ever signed here, including removed ones."""
        return [key.public for key in self._keys if key.purpose is purpose]

    def removed_public_keys(self, purpose: KeyPurpose) -> list[bytes]:
        return [key.public for key in self._keys if key.purpose is purpose and key.removed_at is not None]

    def follow(self) -> None:
        """Take over what other nodes of the log have changed, where it may have any."""

    def announce(self, purpose: KeyPurpose) -> SigningKey:
        """A new key, published from now on; it signs once caches have had time to fetch it."""
        with self._lock:
            if any(key.purpose is purpose and state is KeyState.ANNOUNCED for key, state in self.states()):
                raise ConflictError(ANNOUNCED_ALREADY, ErrorCode.ROTATION_PENDING)
            now = _now(self._clock)
            key = _key(Ed25519PrivateKey.generate(), purpose, now, now + ANNOUNCED_FOR_US)
            self._replace((*self._keys, key))
            return key

    def remove(self, kid: str) -> SigningKey:
        """Take a key out of use at once. The announced key, or else a new one, replaces a signing key now."""
        with self._lock:
            key = next((each for each in self._keys if each.kid == kid), None)
            if key is None:
                raise NotFoundError(UNKNOWN_KEY, ErrorCode.SIGNING_KEY_NOT_FOUND)
            if key.removed_at is not None:
                return key
            now = _now(self._clock)
            states = self.states()
            removed = msgspec.structs.replace(key, removed_at=now)
            keys = {each.kid: each for each in self._keys} | {kid: removed}
            if (key, KeyState.SIGNING) in states:
                announced = [each for each, state in states if state is KeyState.ANNOUNCED]
                successor = next((each for each in announced if each.purpose is key.purpose), None)
                successor = successor or _key(Ed25519PrivateKey.generate(), key.purpose, now, now)
                keys[successor.kid] = msgspec.structs.replace(successor, signs_from=now)
            self._replace(tuple(keys.values()))
            return removed

    def _replace(self, keys: tuple[SigningKey, ...]) -> None:
        with durable_file(self._path) as file:
            file.write(content_of(keys, self._box))
        self._keys = keys


def thumbprint(x: str) -> str:
    """RFC 7638 of an Ed25519 key."""
    return _base64url(sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest())


def _now(clock: Clock) -> int:
    """The time in the precision of the file, so that keys are equal before and after a restart."""
    now = clock.now()
    return now - now % _FILE_STEP_US


def _key(
    private: Ed25519PrivateKey, purpose: KeyPurpose, created_at: int, signs_from: int, removed_at: int | None = None
) -> SigningKey:
    x = _base64url(private.public_key().public_bytes_raw())
    return SigningKey(
        kid=thumbprint(x),
        purpose=purpose,
        x=x,
        private=private,
        created_at=created_at,
        signs_from=signs_from,
        removed_at=removed_at,
    )


def read_keys(path: Path, box: SecretBox) -> tuple[SigningKey, ...]:
    """The keys of a file; none without one."""
    try:
        return keys_in(path.read_bytes(), box)
    except FileNotFoundError:
        return ()
    except (msgspec.MsgspecError, ValueError) as error:
        raise StartupError(f"{path} is damaged: {error}.") from error
    except UnsealError as error:
        raise StartupError(f"The master key does not open {path}: {error}") from error


def keys_in(content: bytes, box: SecretBox) -> tuple[SigningKey, ...]:
    """The keys in the contents of a file."""
    return tuple(_opened(key, box) for key in msgspec.json.decode(content, type=tuple[_StoredKey, ...]))


def _opened(key: _StoredKey, box: SecretBox) -> SigningKey:
    private = Ed25519PrivateKey.from_private_bytes(base64.b64decode(box.open(key.sealed_private_key)))
    return _key(
        private,
        key.purpose,
        _instant(key.created_at),
        _instant(key.signs_from or key.created_at),
        None if key.removed_at is None else _instant(key.removed_at),
    )


def _instant(text: str) -> int:
    at = parse_instant(text)
    if at is None:
        raise ValueError("a time in it is not a date-time")
    return at


def content_of(keys: Iterable[SigningKey], box: SecretBox) -> bytes:
    """The contents of a file with these keys."""
    stored = [
        _StoredKey(
            kid=key.kid,
            purpose=key.purpose,
            x=key.x,
            sealed_private_key=box.seal(base64.b64encode(key.private.private_bytes_raw()).decode()),
            created_at=format_instant(key.created_at),
            signs_from=None if key.signs_from == key.created_at else format_instant(key.signs_from),
            removed_at=None if key.removed_at is None else format_instant(key.removed_at),
        )
        for key in keys
    ]
    return msgspec.json.format(msgspec.json.encode(stored)) + b"\n"


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
