"""Idempotency claims in Redis: which request acts for a key, and its stored answer.

A claim is written before the effect, with a lease, and is active until its request has ended. A stored answer is
sealed, because it may contain secrets, and compressed, because a day's answers are kept. An inactive claim, whose
process or request has ended, is taken over at once: a data directory has one process at a time, which knows its active
claims.

Errors  ``UnavailableError`` when Redis does not answer: without a claim there must be no effect
"""

import asyncio
import zlib
from hashlib import sha256
from typing import Final

import msgspec
import redis.asyncio
from redis.exceptions import RedisError

from clearhold.features.core.errors import UnavailableError
from clearhold.store.keys import SecretBox
from clearhold.store.redis_log.connect import RedisMemory

LEASE_MS: Final = 60_000
KEPT_MS: Final = 25 * 60 * 60 * 1_000
WITHIN_S: Final = 1.5

_PREFIX: Final = b"idem:"
_DIGEST_BYTES: Final = 16  # of each SHA-256: a claim is small, since a day's claims are kept
_NO_ROOM: Final = "There is no room for another idempotency key; nothing was done. Try again later, or without a key."
_UNAVAILABLE: Final = "The idempotency key could not be claimed; nothing was done. Try again."
# Replaces our own claim by the new value, or deletes it if that is empty. An expired claim may be finished.
_REPLACE: Final = """
local found = redis.call('GET', KEYS[1])
if found ~= ARGV[1] and (found or ARGV[2] == '') then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1
"""


class StoredAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """``headers`` are the operation's own, beside the usual ones."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


class _Claim(msgspec.Struct, frozen=True, array_like=True):
    fingerprint: bytes
    process: str = ""
    number: int = 0  # of the claims of its process
    status: int = 0  # 0 while in flight
    sealed: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """The right to act for a key, to be finished or released."""

    scope: str
    fingerprint: str
    value: bytes


class OtherRequest(msgspec.Struct, frozen=True):
    """The key belongs to another request."""


class InFlight(msgspec.Struct, frozen=True):
    """The same request is being answered right now."""


Outcome = Claimed | StoredAnswer | OtherRequest | InFlight


class IdempotencyClaims:
    """``process`` is an id of this run of the service. Belongs to the API's event loop."""

    def __init__(self, client: redis.asyncio.Redis, *, box: SecretBox, process: str, memory: RedisMemory) -> None:
        self._client, self._box, self._process, self._memory = client, box, process, memory
        self._number = 0
        self._active: set[bytes] = set()

    async def claim(self, scope: str, fingerprint: str) -> Outcome:
        """Claim the key of this scope, or return the state of the request that holds it."""
        if not self._memory.has_room_for_claims:
            raise UnavailableError(_NO_ROOM)
        self._number += 1
        ours = msgspec.msgpack.encode(_Claim(_digest(fingerprint), self._process, self._number))
        claimed = Claimed(scope=scope, fingerprint=fingerprint, value=ours)
        self._active.add(ours)
        outcome: Outcome | None = None
        try:
            async with asyncio.timeout(WITHIN_S):
                while outcome is None:
                    outcome = await self._claim_once(claimed)
                return outcome
        except (RedisError, OSError) as error:  # TimeoutError is an OSError
            raise UnavailableError(_UNAVAILABLE) from error
        finally:
            if outcome is not claimed:
                self.end_request(claimed)

    async def _claim_once(self, claimed: Claimed) -> Outcome | None:
        """None when the key's claim changed in between."""
        key = key_of(claimed.scope)
        if await self._client.set(key, claimed.value, nx=True, px=LEASE_MS):
            return claimed
        stored = await self._client.get(key)
        if stored is None:
            return None
        assert isinstance(stored, bytes), "this client decodes nothing"
        earlier = msgspec.msgpack.decode(stored, type=_Claim)
        if earlier.fingerprint != _digest(claimed.fingerprint):
            return OtherRequest()
        if earlier.status:
            body = zlib.decompress(self._box.open_bytes(earlier.sealed))
            return StoredAnswer(status=earlier.status, body=body, headers=earlier.headers)
        if stored in self._active:
            return InFlight()
        return claimed if await self._replace(key, stored, claimed.value, LEASE_MS) else None

    def end_request(self, claimed: Claimed) -> None:
        """The request has ended, with or without success: if its claim is still stored, a repetition takes it over."""
        self._active.discard(claimed.value)

    async def finish(self, claimed: Claimed, answer: StoredAnswer) -> bool:
        """Store the answer. False when another request has taken over the key."""
        sealed = self._box.seal_bytes(zlib.compress(answer.body))
        kept = msgspec.msgpack.encode(
            _Claim(_digest(claimed.fingerprint), status=answer.status, sealed=sealed, headers=answer.headers)
        )
        return await self._settle(claimed, kept)

    async def release(self, claimed: Claimed) -> bool:
        """Give the key back: the request had no effect."""
        return await self._settle(claimed, b"")

    async def _settle(self, claimed: Claimed, value: bytes) -> bool:
        try:
            async with asyncio.timeout(WITHIN_S):
                return await self._replace(key_of(claimed.scope), claimed.value, value, KEPT_MS)
        except (RedisError, OSError) as error:
            raise UnavailableError(_UNAVAILABLE) from error

    async def _replace(self, key: bytes, before: bytes, after: bytes, kept_ms: int) -> bool:
        done = await self._client.eval(_REPLACE, 1, key, before, after, kept_ms)
        return bool(done)


def key_of(scope: str) -> bytes:
    """The Redis key of a scope's claim."""
    return _PREFIX + _digest(scope)


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()[:_DIGEST_BYTES]
