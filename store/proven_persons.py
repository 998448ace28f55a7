"""Persons of a bank whose names are proven: by a token, by a passkey, or by the bank's own sign-in.

Tokens and passkeys are in the control streams. Persons that the bank's proxy or OpenID provider named, to read and
write, are in Redis for ``SEEN_US`` after they last signed in. An account is one person under all its names.

Errors  ``UnavailableError`` when Redis does not answer
"""

from collections.abc import Awaitable
from typing import Any, Final

import msgspec
import redis.asyncio

from clearhold.features.core.entries.actions import person_key, same_person
from clearhold.features.core.instants import DAY_US
from clearhold.store.clock import Clock
from clearhold.store.control.tenancy import Tenancy
from clearhold.store.redis_answers import answered

SEEN_US: Final = 30 * DAY_US
_PERSONS: Final = "console:persons:"
_US_PER_MS: Final = 1_000
_UNAVAILABLE: Final = "The persons of the bank cannot be read right now; nothing was done. Try again."


class ProvenPersons:
    """Belongs to the API's event loop."""

    def __init__(self, tenancy: Tenancy, client: redis.asyncio.Redis, clock: Clock) -> None:
        self._tenancy, self._client, self._clock = tenancy, client, clock

    async def note(self, tenant_id: str, name: str, account: str) -> None:
        """The bank's own sign-in named this person; ``account`` is the provider's, empty where it has none."""
        now, persons = self._clock.now(), _PERSONS + tenant_id
        member = msgspec.msgpack.encode((person_key(name), account))
        await _answered(self._client.zadd(persons, {member: now}))
        await _answered(self._client.zremrangebyscore(persons, "-inf", now - SEEN_US))
        await _answered(self._client.pexpire(persons, SEEN_US // _US_PER_MS))

    async def has_two(self, tenant_id: str) -> bool:
        """Whether two persons of the tenant are proven, so that dual control counts those alone."""
        accounts = await self._accounts(tenant_id)
        names = self._with_credentials(tenant_id) | accounts.keys()
        return len({accounts.get(name) or name for name in names}) > 1

    async def is_proven(self, tenant_id: str, name: str) -> bool:
        """Whether a person of this name is proven."""
        return person_key(name) in self._with_credentials(tenant_id) | (await self._accounts(tenant_id)).keys()

    async def are_one(self, tenant_id: str, one: str, other: str) -> bool:
        """Whether two names are of one person, or of one account at the bank's provider."""
        if same_person(one, other):
            return True
        accounts = await self._accounts(tenant_id)
        account = accounts.get(person_key(one))
        return bool(account) and account == accounts.get(person_key(other))

    def _with_credentials(self, tenant_id: str) -> set[str]:
        return self._tenancy.persons_with_credentials(tenant_id, at=self._clock.now())

    async def _accounts(self, tenant_id: str) -> dict[str, str]:
        """The account that a name was last used by, for each name of the bank's own sign-in; empty without one."""
        since = self._clock.now() - SEEN_US
        stored = await _answered(self._client.zrangebyscore(_PERSONS + tenant_id, since, "+inf"))
        return dict(msgspec.msgpack.decode(each, type=tuple[str, str]) for each in stored)


async def _answered(step: Awaitable[Any]) -> Any:
    return await answered(step, _UNAVAILABLE)
