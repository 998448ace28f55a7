"""Sessions of the console: who is signed in, in Redis under the digest of a random secret that only the browser has.

A session ends after ``IDLE_MS`` without a request, after ``LONGEST_US`` in all, and at once when it is deleted. It
survives a restart of the service. A copy of Redis opens nothing: it holds digests.

Errors  ``UnavailableError`` when Redis does not answer
"""

import asyncio
from collections.abc import Awaitable
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, TypeVar

import msgspec
import redis.asyncio
from redis.exceptions import RedisError

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import HOUR_US, MINUTE_US
from clearhold.store.clock import Clock
from clearhold.store.ids import new_token

IDLE_US: Final = 30 * MINUTE_US
LONGEST_US: Final = 12 * HOUR_US
WITHIN_S: Final = 1.5
MOST_OF_TENANT: Final = 1_000
"""Sessions of one tenant; the one that was used least recently ends for a further one."""

_PREFIX: Final = "console:session:"
_OF_TENANT: Final = "console:sessions:"
_TOUCH_AFTER_US: Final = MINUTE_US
_US_PER_MS: Final = 1_000
_UNAVAILABLE: Final = "Sessions cannot be read right now; nothing was done. Try again."

T = TypeVar("T")


class SignedInBy(StrEnum):
    """The credential of a session. A later request is refused once the credential is not valid any more."""

    TOKEN = "token"  # noqa: S105 - the tenant's operator token; the name is a claim
    PERSON = "person"  # a token that was issued to the person
    KEY = "key"  # an API key: read only


class Session(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """``id`` is the digest of the browser's secret; ``credential`` is the id of a person's token or of a key, or the
    digest of the operator token. Instants are in microseconds.
    """

    id: str
    tenant_id: str
    name: str
    signed_in_by: SignedInBy
    credential: str
    csrf: str
    created_at: int
    seen_at: int
    address: str

    def ends_at(self) -> int:
        """When it ends without a further request."""
        return min(self.seen_at + IDLE_US, self.created_at + LONGEST_US)


class Sessions:
    """Belongs to the API's event loop."""

    def __init__(self, client: redis.asyncio.Redis, clock: Clock) -> None:
        self._client, self._clock = client, clock

    async def begin(
        self, *, tenant_id: str, name: str, signed_in_by: SignedInBy, credential: str, address: str
    ) -> tuple[str, Session]:
        """The secret for the browser, and the session."""
        secret, now = new_token(""), self._clock.now()
        session = Session(
            id=_id_of(secret),
            tenant_id=tenant_id,
            name=name,
            signed_in_by=signed_in_by,
            credential=credential,
            csrf=new_token(""),
            created_at=now,
            seen_at=now,
            address=address,
        )
        await _answered(self._write(session))
        await _answered(self._end_oldest(tenant_id))
        return secret, session

    async def of_secret(self, secret: str) -> Session | None:
        """The session, if it has not ended; noted as used now."""
        stored = await _answered(self._client.get(_PREFIX + _id_of(secret)))
        if stored is None:
            return None
        session, now = msgspec.msgpack.decode(stored, type=Session), self._clock.now()
        if now >= session.ends_at():
            await self.end(session)
            return None
        if now - session.seen_at >= _TOUCH_AFTER_US:
            session = msgspec.structs.replace(session, seen_at=now)
            await _answered(self._write(session))
        return session

    async def of_tenant(self, tenant_id: str) -> list[Session]:
        """The tenant's sessions that have not ended, the newest first."""
        ids = [each.decode() for each in await _answered(self._client.zrevrange(_OF_TENANT + tenant_id, 0, -1))]
        stored = await _answered(self._client.mget([_PREFIX + each for each in ids])) if ids else []
        gone = [each for each, session in zip(ids, stored, strict=True) if session is None]
        if gone:
            await _answered(self._client.zrem(_OF_TENANT + tenant_id, *gone))
        sessions = [msgspec.msgpack.decode(each, type=Session) for each in stored if each is not None]
        now = self._clock.now()
        return sorted((each for each in sessions if now < each.ends_at()), key=lambda each: -each.created_at)

    async def end(self, session: Session) -> None:
        await _answered(self._client.delete(_PREFIX + session.id))
        await _answered(self._client.zrem(_OF_TENANT + session.tenant_id, session.id))

    async def _write(self, session: Session) -> None:
        lasts_ms = max(1, (session.ends_at() - self._clock.now()) // _US_PER_MS)
        await self._client.set(_PREFIX + session.id, msgspec.msgpack.encode(session), px=lasts_ms)
        await self._client.zadd(_OF_TENANT + session.tenant_id, {session.id: session.seen_at})
        await self._client.pexpire(_OF_TENANT + session.tenant_id, LONGEST_US // _US_PER_MS)

    async def _end_oldest(self, tenant_id: str) -> None:
        over: Any = await self._client.zrange(_OF_TENANT + tenant_id, 0, -MOST_OF_TENANT - 1)
        for each in over:
            await self._client.delete(_PREFIX + each.decode())
            await self._client.zrem(_OF_TENANT + tenant_id, each)


def _id_of(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


async def _answered(step: Awaitable[Any]) -> Any:
    try:
        async with asyncio.timeout(WITHIN_S):
            return await step
    except (RedisError, OSError) as error:  # TimeoutError is an OSError
        raise UnavailableError(_UNAVAILABLE) from error
