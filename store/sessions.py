"""Sessions of the console: who is signed in, in Redis under the digest of a random secret that only the browser has.

A session ends after ``IDLE_US`` without a request, after ``LONGEST_US`` in all, and at once when it is deleted. It
survives a restart of the service. A copy of Redis opens nothing: it holds digests.

A browser has a second secret, which opens nothing; its digest marks the sessions of one browser.

Errors  ``UnavailableError`` when Redis does not answer
"""

from collections.abc import Awaitable
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import redis.asyncio

from clearhold.features.core.entries.actions import same_person
from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US
from clearhold.store.clock import Clock
from clearhold.store.ids import new_token
from clearhold.store.redis_answers import answered

IDLE_US: Final = 30 * MINUTE_US
LONGEST_US: Final = 12 * HOUR_US
MOST_OF_TENANT: Final = 1_000
"""Sessions of one tenant; the one that was used least recently ends for a further one."""

MOST_BROWSERS: Final = 10_000
"""Browsers of one tenant whose last person is known; the one that began a session longest ago is forgotten."""

MOST_TRACES: Final = 10_000
"""Names with their browsers and addresses of one tenant that are known, the newest."""

TRACED_US: Final = HOUR_US
"""How long it is known which browsers and addresses a name was used at, also after its session."""

GRANT: Final = "console:grant:"
"""Before the id of a session: the grant by which its person is checked at the provider, which ends with it."""

_PREFIX: Final = "console:session:"
_OF_TENANT: Final = "console:sessions:"
_LAST_OF_BROWSER: Final = "console:browser:"
_BROWSERS: Final = "console:browsers:"
_TRACES: Final = "console:traces:"
_BROWSER_MS: Final = 7 * DAY_US // 1_000
_TOUCH_AFTER_US: Final = MINUTE_US
_US_PER_MS: Final = 1_000
_UNAVAILABLE: Final = "Sessions cannot be read right now; nothing was done. Try again."

T = TypeVar("T")


class SignedInBy(StrEnum):
    """The credential of a session. A later request is refused once the credential is not valid any more."""

    TOKEN = "token"  # noqa: S105 - the tenant's operator token; the name is a claim
    PERSON = "person"  # a token that was issued to the person
    PASSKEY = "passkey"  # a passkey that the person registered
    KEY = "key"  # an API key: read only
    PROXY = "proxy"  # the bank's proxy, which names the person in each request
    OPENID = "openid"  # the bank's OpenID provider, which confirms the person every minute


OF_THE_BANK: Final = frozenset({SignedInBy.PROXY, SignedInBy.OPENID})
"""The bank's own sign-in, by which it names its persons."""


class Session(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """``id`` is the digest of the session's secret, ``browser`` that of the browser's; ``credential`` is the id of a
    person's token or passkey or of a key, or the digest of the operator token. ``account`` is the digest of the
    person's account at the bank's provider, ``provider_session`` that of the session there; both empty without.
    ``reads_only`` is of a person, not of a key, which has scopes. Instants are in microseconds.
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
    browser: str = ""
    reads_only: bool = False
    account: str = ""
    provider_session: str = ""

    def ends_at(self) -> int:
        """When it ends without a further request."""
        return min(self.seen_at + IDLE_US, self.last_end())

    def last_end(self) -> int:
        """When it ends in any case."""
        return self.created_at + LONGEST_US


class Shared(StrEnum):
    """What two names were used at within an hour."""

    BROWSER = "browser"
    ADDRESS = "address"


class _Trace(NamedTuple):
    name: str
    browser: str
    address: str


class Sessions:
    """Belongs to the API's event loop."""

    def __init__(self, client: redis.asyncio.Redis, clock: Clock) -> None:
        self._client, self._clock = client, clock

    async def begin(
        self,
        *,
        tenant_id: str,
        name: str,
        signed_in_by: SignedInBy,
        credential: str,
        address: str,
        browser: str,
        reads_only: bool = False,
        account: str = "",
        provider_session: str = "",
    ) -> tuple[str, Session]:
        """The session's secret, and the session; ``browser`` is the browser's secret."""
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
            browser=_id_of(browser),
            reads_only=reads_only,
            account=account,
            provider_session=provider_session,
        )
        await _answered(self._write(session))
        await _answered(self._note_browser(session))
        await _answered(self._end_oldest(tenant_id))
        return secret, session

    async def of_secret(self, secret: str, *, in_use: bool = True) -> Session | None:
        """The session, if it has not ended; noted as used now, if a person uses it."""
        stored = await _answered(self._client.get(_PREFIX + _id_of(secret)))
        if stored is None:
            return None
        session, now = msgspec.msgpack.decode(stored, type=Session), self._clock.now()
        if now >= session.ends_at():
            await self.end(session)
            return None
        if in_use and now - session.seen_at >= _TOUCH_AFTER_US:
            session = msgspec.structs.replace(session, seen_at=now)
            if not await _answered(self._write(session, renewed=True)):
                return None
        return session

    async def is_open(self, session: Session) -> bool:
        """Whether a session of an earlier request has not ended since."""
        stored = await _answered(self._client.get(_PREFIX + session.id))
        return stored is not None and self._clock.now() < msgspec.msgpack.decode(stored, type=Session).ends_at()

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
        await _answered(self._client.delete(_PREFIX + session.id, GRANT + session.id))
        await _answered(self._client.zrem(_OF_TENANT + session.tenant_id, session.id))

    async def last_of_browser(self, browser: str) -> tuple[str, str] | None:
        """The tenant and name of the last session that began in this browser."""
        stored = await _answered(self._client.get(_LAST_OF_BROWSER + _id_of(browser)))
        return None if stored is None else msgspec.msgpack.decode(stored, type=tuple[str, str])

    async def shared(self, session: Session, name: str) -> Shared | None:
        """The browser or address of the session at which another name was used within the hour, in this order."""
        since = self._clock.now() - TRACED_US
        stored = await _answered(self._client.zrangebyscore(_TRACES + session.tenant_id, since, "+inf"))
        traces = [msgspec.msgpack.decode(each, type=_Trace) for each in stored]
        of_name = [each for each in traces if same_person(each.name, name)]
        if any(each.browser == session.browser for each in of_name):
            return Shared.BROWSER
        return Shared.ADDRESS if any(each.address == session.address for each in of_name) else None

    async def _write(self, session: Session, *, renewed: bool = False) -> bool:
        """Whether it was written: a renewed session may have been ended since it was read, and stays ended."""
        lasts_ms = max(1, (session.ends_at() - self._clock.now()) // _US_PER_MS)
        if not await self._client.set(_PREFIX + session.id, msgspec.msgpack.encode(session), px=lasts_ms, xx=renewed):
            return False
        await self._client.zadd(_OF_TENANT + session.tenant_id, {session.id: session.seen_at})
        await self._client.pexpire(_OF_TENANT + session.tenant_id, LONGEST_US // _US_PER_MS)
        traces, trace = _TRACES + session.tenant_id, _Trace(session.name, session.browser, session.address)
        await self._client.zremrangebyscore(traces, "-inf", session.seen_at - TRACED_US)
        await self._client.zadd(traces, {msgspec.msgpack.encode(trace): session.seen_at})
        await self._client.zremrangebyrank(traces, 0, -MOST_TRACES - 1)
        await self._client.pexpire(traces, TRACED_US // _US_PER_MS)
        return True

    async def _note_browser(self, session: Session) -> None:
        last, browsers = msgspec.msgpack.encode((session.tenant_id, session.name)), _BROWSERS + session.tenant_id
        await self._client.set(_LAST_OF_BROWSER + session.browser, last, px=_BROWSER_MS)
        await self._client.zadd(browsers, {session.browser: session.created_at})
        await self._client.pexpire(browsers, _BROWSER_MS)
        over: Any = await self._client.zrange(browsers, 0, -MOST_BROWSERS - 1)
        for each in over:
            await self._client.delete(_LAST_OF_BROWSER + each.decode())
            await self._client.zrem(browsers, each)

    async def _end_oldest(self, tenant_id: str) -> None:
        over: Any = await self._client.zrange(_OF_TENANT + tenant_id, 0, -MOST_OF_TENANT - 1)
        for each in over:
            await self._client.delete(_PREFIX + each.decode(), GRANT + each.decode())
            await self._client.zrem(_OF_TENANT + tenant_id, each)


def _id_of(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


async def _answered(step: Awaitable[Any]) -> Any:
    return await answered(step, _UNAVAILABLE)
