"""API keys as the control streams left them: the view in memory, known by the sha256 of their secrets only."""

from hmac import compare_digest
from typing import Final

import msgspec

from features.core.principal import KeyMode, KeyScope
from store.keys.secrets import token_digest

PREFIX_LENGTH: Final = 12


class ApiKeyEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A key as created. ``program_id`` None: every program of the mode; no scopes: all that the mode allows."""

    id: str
    name: str
    mode: KeyMode
    prefix: str
    program_id: str | None
    scopes: tuple[KeyScope, ...]
    created_at: str
    created_by: str
    secret_sha256: str


class ApiKeyRevokedEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    key_id: str
    revoked_at: str
    revoked_by: str


class HeldKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key and its tenant; a revoked one opens nothing and stays listed."""

    tenant_id: str
    entry: ApiKeyEntry
    revoked_at: str | None = None


class KeyRing:
    """Apply entries in the order of the log."""

    def __init__(self) -> None:
        self._keys: dict[str, HeldKey] = {}
        self._id_by_digest: dict[str, str] = {}

    def add(self, tenant_id: str, entry: ApiKeyEntry) -> None:
        self._keys[entry.id] = HeldKey(tenant_id=tenant_id, entry=entry)
        self._id_by_digest[entry.secret_sha256] = entry.id

    def revoke(self, entry: ApiKeyRevokedEntry) -> None:
        revoked = msgspec.structs.replace(self._keys[entry.key_id], revoked_at=entry.revoked_at)
        self._keys[entry.key_id] = revoked
        self._id_by_digest.pop(revoked.entry.secret_sha256, None)

    def of_secret(self, secret: str) -> HeldKey | None:
        """The key that this secret opens; None when it was never given out or is revoked."""
        digest = token_digest(secret)
        key_id = self._id_by_digest.get(digest)
        if key_id is None or not compare_digest(self._keys[key_id].entry.secret_sha256, digest):
            return None
        return self._keys[key_id]

    def find(self, tenant_id: str, key_id: str) -> HeldKey | None:
        key = self._keys.get(key_id)
        return key if key is not None and key.tenant_id == tenant_id else None

    def of_tenant(self, tenant_id: str) -> tuple[HeldKey, ...]:
        """The tenant's keys, newest first, revoked ones too."""
        listed = [key for key in self._keys.values() if key.tenant_id == tenant_id]
        return tuple(sorted(listed, key=lambda key: (key.entry.created_at, key.entry.id), reverse=True))
