"""The signing keys of a log with several nodes: its owner states each change in Redis before it counts.

owner: a key is announced or removed ─▶ ``log:signing_keys``, sealed ─▶ its file
                                              └─▶ every other node: its file

The value is the file, sealed as a whole under the master key, which is never there. Only the owner of the epoch writes
it. What a node reads is added to its keys: a removal is never taken back, and no key begins later, so that an older
value changes nothing.

Errors  ``UnavailableError`` when a change is not confirmed; the built-in ``ConnectionError`` while the keys cannot be
        read; ``StartupError`` for a value that was sealed under another master key, or changed
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
import redis
from redis.exceptions import RedisError

from clearhold.features.core.errors import UnavailableError
from clearhold.store.clock import Clock
from clearhold.store.errors import StartupError
from clearhold.store.keys import (
    KeyPurpose,
    SecretBox,
    SigningKey,
    SigningKeys,
    UnsealError,
    content_of,
    keys_in,
    read_keys,
)
from clearhold.store.redis_log.owner import LogOwnership, load_library
from clearhold.store.redis_log.replication import CONFIRMED_WITHIN_S, replicated
from clearhold.store.redis_log.writes import OWNER

SIGNING_KEYS: Final = "log:signing_keys"
_NOT_CONFIRMED: Final = "The log did not confirm the change of the signing keys. Try again."


class KeysInLog:
    """``client`` belongs to it. Without ``ownership`` it only reads."""

    def __init__(self, client: redis.Redis, ownership: LogOwnership | None = None, *, replicas: int = 0) -> None:
        self._client, self._ownership, self._replicas = client, ownership, replicas

    def read(self) -> bytes | None:
        """The sealed file; None before it was written."""
        try:
            stored: bytes | None = self._client.execute_command("GET", SIGNING_KEYS)
        except (RedisError, OSError) as error:
            raise ConnectionError(f"The signing keys of the log cannot be read: {error}") from error
        return stored

    def put(self, sealed: bytes) -> None:
        """Write it, for the owner; nothing on a node that stands by."""
        if self._ownership is None or not self._ownership.is_owner:
            return
        call = ("FCALL", "clearhold_put", 2, OWNER, SIGNING_KEYS, self._ownership.epoch, sealed)
        try:
            replicated(self._client, *call, replicas=self._replicas, within_s=CONFIRMED_WITHIN_S)
        except (RedisError, OSError) as error:
            if self._ownership.note(error):
                load_library(self._client)
            raise UnavailableError(_NOT_CONFIRMED) from error


class SharedSigningKeys(SigningKeys):
    """The keys of a node, which follow those of its log."""

    def __init__(
        self, keys: tuple[SigningKey, ...], *, path: Path, box: SecretBox, clock: Clock, in_log: KeysInLog
    ) -> None:
        super().__init__(keys, path=path, box=box, clock=clock)
        self._in_log = in_log
        self._read: bytes | None = None

    def follow(self) -> None:
        """Take over what another node has changed."""
        with self._lock:
            self._follow()

    def create(self, purposes: Iterable[KeyPurpose]) -> None:
        """As for one node; the log has all keys then."""
        super().create(purposes)
        self._in_log.put(self._sealed(self._keys))

    def announce(self, purpose: KeyPurpose) -> SigningKey:
        self.follow()  # a change that was not confirmed may be in the log
        return super().announce(purpose)

    def remove(self, kid: str) -> SigningKey:
        self.follow()
        return super().remove(kid)

    def _follow(self) -> None:
        sealed = self._in_log.read()
        if sealed is None or sealed == self._read:
            return
        try:
            others = keys_in(self._box.open_bytes(sealed), self._box)
        except (UnsealError, msgspec.MsgspecError, ValueError) as error:
            raise StartupError(f"The master key does not open the signing keys in the log: {error}") from error
        keys = {key.kid: key for key in self._keys}
        for other in others:
            keys[other.kid] = _newest(keys.get(other.kid, other), other)
        if tuple(keys.values()) != self._keys:
            super()._replace(tuple(keys.values()))
        self._read = sealed

    def _replace(self, keys: tuple[SigningKey, ...]) -> None:
        self._in_log.put(self._sealed(keys))
        super()._replace(keys)

    def _sealed(self, keys: tuple[SigningKey, ...]) -> bytes:
        return self._box.seal_bytes(content_of(keys, self._box))


def opened_keys(path: Path, *, box: SecretBox, clock: Clock, in_log: KeysInLog | None) -> SigningKeys:
    """The keys of a directory with those of its log, where several nodes may have it; none is created."""
    if in_log is None:
        return SigningKeys.open(path, box=box, clock=clock, purposes=())
    keys = SharedSigningKeys(read_keys(path, box), path=path, box=box, clock=clock, in_log=in_log)
    keys.follow()
    return keys


def _newest(key: SigningKey, other: SigningKey) -> SigningKey:
    """One key as two nodes have it: it is removed once, and begins earlier when the key before it is removed."""
    removed = [each.removed_at for each in (key, other) if each.removed_at is not None]
    begins = min(key.signs_from, other.signs_from)
    return msgspec.structs.replace(key, signs_from=begins, removed_at=min(removed, default=None))
