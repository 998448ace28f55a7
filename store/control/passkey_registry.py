"""Registers and revokes passkeys of persons.

Errors  ForbiddenError for a passkey that an invitation may not add; ConflictError for one too many; NotFoundError for
        an unknown id; UnavailableError when the log cannot be written
"""

from typing import Final

import msgspec

from clearhold.features.core.entries.actions import person_key, same_person
from clearhold.features.core.errors import ConflictError, ErrorCode, ForbiddenError, NotFoundError
from clearhold.features.core.instants import format_instant
from clearhold.store.clock import Clock
from clearhold.store.control.entries import ControlKind, PasskeyEntry, PasskeyRevokedEntry
from clearhold.store.control.passkeys import Passkey, Passkeys
from clearhold.store.control.registry import Registry

MOST_PASSKEYS: Final = 1_000
"""The most passkeys of a tenant that are not revoked."""

TOO_MANY_PASSKEYS: Final = f"A bank has at most {MOST_PASSKEYS:,} passkeys that are not revoked. Revoke one first."
UNKNOWN_PASSKEY: Final = "There is no such passkey. Open the page again for the present ones."
KNOWN_PASSKEY: Final = "This passkey was registered before. Sign in with it."
HAS_CREDENTIAL: Final = (
    "This person has a passkey or a token, or signs in by the bank. Only the person adds a further passkey; one that "
    "is lost is revoked first."
)


class PasskeyRegistry:
    """Writes what a ``Tenancy`` knows of passkeys. Belongs to the event loop of its ``Registry``."""

    def __init__(self, registry: Registry, *, clock: Clock) -> None:
        self._registry, self._clock, self._tenancy = registry, clock, registry.tenancy

    @property
    def passkeys(self) -> Passkeys:
        return self._tenancy.passkeys

    async def register(
        self,
        tenant_id: str,
        *,
        passkey_id: str,
        name: str,
        credential_id: str,
        public_key: str,
        sign_count: int,
        invited_by: str,
        by_person: bool,
    ) -> Passkey:
        """The passkey. ``passkey_id`` is that of the invitation, so one invitation never makes two."""
        async with self._registry.writing_for(tenant_id) as tenant:
            if self.passkeys.find(tenant.id, passkey_id) or self.passkeys.of_credential(credential_id):
                raise ForbiddenError(KNOWN_PASSKEY, ErrorCode.OPERATOR_MISMATCH)
            self.check_name(tenant.id, name, invited_by=invited_by, by_person=by_person)
            entry = PasskeyEntry(
                id=passkey_id,
                name=name,
                credential_id=credential_id,
                public_key=public_key,
                sign_count=sign_count,
                created_at=format_instant(self._clock.now()),
                invited_by=invited_by,
            )
            await self._registry.write(tenant.id, ControlKind.PASSKEY, entry)
            return Passkey(tenant_id=tenant.id, entry=entry)

    def check_name(self, tenant_id: str, name: str, *, invited_by: str, by_person: bool) -> None:
        """Refuse a passkey for a name that has a credential, except by that person; ``by_person`` is whether
        the name of the inviter was proven.
        """
        if len(self.passkeys.valid_of_tenant(tenant_id)) >= MOST_PASSKEYS:
            raise ConflictError(TOO_MANY_PASSKEYS, ErrorCode.TOO_MANY_KEYS)
        is_own = by_person and same_person(name, invited_by)
        persons = self._tenancy.persons_with_credentials(tenant_id, at=self._clock.now())
        if not is_own and person_key(name) in persons:
            raise ForbiddenError(HAS_CREDENTIAL, ErrorCode.PERSON_TOKEN_REQUIRED)

    async def revoke(self, tenant_id: str, passkey_id: str, *, operator: str) -> Passkey:
        """The passkey, revoked now unless it was before."""
        async with self._registry.writing_for(tenant_id) as tenant:
            passkey = self.passkeys.find(tenant.id, passkey_id)
            if passkey is None:
                raise NotFoundError(UNKNOWN_PASSKEY, ErrorCode.PATH_NOT_FOUND)
            if passkey.revoked_at is None:
                revoked_at = format_instant(self._clock.now())
                entry = PasskeyRevokedEntry(passkey_id=passkey.entry.id, revoked_at=revoked_at, revoked_by=operator)
                await self._registry.write(tenant.id, ControlKind.PASSKEY_REVOKED, entry)
                passkey = msgspec.structs.replace(passkey, revoked_at=revoked_at)
            return passkey
