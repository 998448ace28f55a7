"""Invitations to register a passkey, and what single ceremonies with passkeys need: all in Redis, each usable once.

An invitation is stored under the digest of its secret, so a copy of Redis opens nothing. A further invitation of a name
ends the former one. A challenge is a random text that an authenticator signs; it is taken once, so an answer to it
cannot be sent twice. Counters of authenticators only rise; without them the counter at registration counts.

Errors  ``UnavailableError`` when Redis does not answer
"""

from collections.abc import Awaitable
from hashlib import sha256
from typing import Any, Final

import msgspec
import redis.asyncio

from clearhold.features.core.entries.actions import person_key
from clearhold.features.core.instants import DAY_US, MINUTE_US, SECOND_US
from clearhold.store.clock import Clock
from clearhold.store.ids import new_token
from clearhold.store.keys import token_digest
from clearhold.store.redis_answers import answered

INVITATION_US: Final = DAY_US
CHALLENGE_US: Final = 5 * MINUTE_US
_INVITATION: Final = "console:invitation:"
_OF_TENANT: Final = "console:invitations:"
_NEWEST_OF_NAME: Final = "console:invited:"
_CHALLENGE: Final = "console:challenge:"
_COUNTERS: Final = "console:passkey_counters"
_UNAVAILABLE: Final = "Invitations and passkeys cannot be read right now; nothing was done. Try again."


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    """``id`` is the digest of its secret; ``by_person`` is whether the name of the inviter was proven."""

    id: str
    tenant_id: str
    name: str
    invited_by: str
    by_person: bool
    expires_at: int


class Invitations:
    """Belongs to the API's event loop."""

    def __init__(self, client: redis.asyncio.Redis, clock: Clock) -> None:
        self._client, self._clock = client, clock

    async def create(self, *, tenant_id: str, name: str, invited_by: str, by_person: bool) -> str:
        """The secret of a new invitation."""
        code = new_token("")
        invitation = Invitation(
            id=token_digest(code),
            tenant_id=tenant_id,
            name=name,
            invited_by=invited_by,
            by_person=by_person,
            expires_at=self._clock.now() + INVITATION_US,
        )
        of_name = _NEWEST_OF_NAME + sha256(f"{tenant_id}/{person_key(name)}".encode()).hexdigest()
        lasts_s, of_tenant = INVITATION_US // SECOND_US, _OF_TENANT + tenant_id
        stored = msgspec.msgpack.encode(invitation)
        await _answered(self._client.set(_INVITATION + invitation.id, stored, ex=lasts_s))
        await _answered(self._client.zadd(of_tenant, {invitation.id: invitation.expires_at}))
        await _answered(self._client.expire(of_tenant, lasts_s))
        # The last step: of two invitations of a name at once, one ends the other.
        former = await _answered(self._client.set(of_name, invitation.id, ex=lasts_s, get=True))
        if former is not None:
            await _answered(self._client.delete(_INVITATION + former.decode()))
        return code

    async def of_tenant(self, tenant_id: str) -> list[Invitation]:
        """Invitations that wait for their persons, the newest first."""
        of_tenant, now = _OF_TENANT + tenant_id, self._clock.now()
        await _answered(self._client.zremrangebyscore(of_tenant, "-inf", now))
        ids = [each.decode() for each in await _answered(self._client.zrevrange(of_tenant, 0, -1))]
        stored = await _answered(self._client.mget([_INVITATION + each for each in ids])) if ids else []
        ended = [each for each, invitation in zip(ids, stored, strict=True) if invitation is None]
        if ended:
            await _answered(self._client.zrem(of_tenant, *ended))
        return [invitation for each in stored if (invitation := self._usable(each)) is not None]

    async def end(self, tenant_id: str, invitation_id: str) -> Invitation | None:
        """The tenant's invitation, which opens nothing from now on; None for another."""
        invitation = self._usable(await _answered(self._client.get(_INVITATION + invitation_id)))
        if invitation is None or invitation.tenant_id != tenant_id:
            return None
        await _answered(self._client.delete(_INVITATION + invitation_id))
        return invitation

    async def find(self, code: str) -> Invitation | None:
        """The invitation, which stays usable; None for one that was used, ended or expired."""
        return self._usable(await _answered(self._client.get(_INVITATION + token_digest(code))))

    async def take(self, code: str) -> Invitation | None:
        """The same, used up by this."""
        return self._usable(await _answered(self._client.getdel(_INVITATION + token_digest(code))))

    def _usable(self, stored: bytes | None) -> Invitation | None:
        invitation = None if stored is None else msgspec.msgpack.decode(stored, type=Invitation)
        return invitation if invitation is not None and self._clock.now() < invitation.expires_at else None


class _Challenge(msgspec.Struct, frozen=True, array_like=True):
    purpose: str
    expires_at: int


class Challenges:
    """Belongs to the API's event loop. ``purpose`` says what an answer to the challenge may do."""

    def __init__(self, client: redis.asyncio.Redis, clock: Clock) -> None:
        self._client, self._clock = client, clock

    async def create(self, purpose: str) -> str:
        challenge = new_token("")
        stored = msgspec.msgpack.encode(_Challenge(purpose, self._clock.now() + CHALLENGE_US))
        key = _CHALLENGE + token_digest(challenge)
        await _answered(self._client.set(key, stored, ex=CHALLENGE_US // SECOND_US))
        return challenge

    async def take(self, challenge: str, purpose: str) -> bool:
        """Whether it was made for this purpose and not taken before; it is used up by this."""
        stored = await _answered(self._client.getdel(_CHALLENGE + token_digest(challenge)))
        known = None if stored is None else msgspec.msgpack.decode(stored, type=_Challenge)
        return known is not None and known.purpose == purpose and self._clock.now() < known.expires_at

    async def counter_of(self, passkey_id: str) -> int:
        """The highest counter that the authenticator of a passkey has sent, 0 without one."""
        return int(await _answered(self._client.zscore(_COUNTERS, passkey_id)) or 0)

    async def raise_counter(self, passkey_id: str, counter: int) -> bool:
        """Whether this counter is higher than each one before; 0 is no counter."""
        if counter == 0:
            return True
        return bool(await _answered(self._client.zadd(_COUNTERS, {passkey_id: counter}, gt=True, ch=True)))


async def _answered(step: Awaitable[Any]) -> Any:
    return await answered(step, _UNAVAILABLE)
