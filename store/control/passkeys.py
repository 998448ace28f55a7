"""Passkeys of persons, a projection of the control streams: the public keys. A private key never leaves the person's
authenticator, so nothing of this is secret.
"""

import msgspec

from clearhold.store.control.entries import PasskeyEntry, PasskeyRevokedEntry


class Passkey(msgspec.Struct, frozen=True, kw_only=True):
    """A person's passkey and its tenant. A revoked one is of no use and stays listed."""

    tenant_id: str
    entry: PasskeyEntry
    revoked_at: str | None = None


class Passkeys:
    """By id, and by the id that the authenticator gave; revoked ones too."""

    def __init__(self) -> None:
        self._passkeys: dict[str, Passkey] = {}
        self._id_by_credential: dict[str, str] = {}

    def add(self, tenant_id: str, entry: PasskeyEntry) -> None:
        self._passkeys[entry.id] = Passkey(tenant_id=tenant_id, entry=entry)
        self._id_by_credential[entry.credential_id] = entry.id

    def revoke(self, _tenant_id: str, entry: PasskeyRevokedEntry) -> None:
        passkey = self._passkeys[entry.passkey_id]
        self._passkeys[entry.passkey_id] = msgspec.structs.replace(passkey, revoked_at=entry.revoked_at)

    def find(self, tenant_id: str, passkey_id: str) -> Passkey | None:
        passkey = self._passkeys.get(passkey_id)
        return passkey if passkey is not None and passkey.tenant_id == tenant_id else None

    def of_credential(self, credential_id: str) -> Passkey | None:
        """Of any tenant, revoked or not."""
        passkey_id = self._id_by_credential.get(credential_id)
        return None if passkey_id is None else self._passkeys[passkey_id]

    def of_tenant(self, tenant_id: str) -> tuple[Passkey, ...]:
        """The tenant's, newest first, revoked ones included."""
        passkeys = [each for each in self._passkeys.values() if each.tenant_id == tenant_id]
        return tuple(sorted(passkeys, key=lambda each: (each.entry.created_at, each.entry.id), reverse=True))

    def valid_of_tenant(self, tenant_id: str) -> tuple[Passkey, ...]:
        return tuple(each for each in self.of_tenant(tenant_id) if each.revoked_at is None)
