"""Projection of the control streams: the API keys, with the SHA-256 of their secrets only."""

from hmac import compare_digest

import msgspec

from clearhold.store.control.entries import ApiKeyEntry, ApiKeyRevokedEntry
from clearhold.store.keys.secrets import token_digest


class StoredKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key and its tenant. A revoked key authenticates nothing and stays listed."""

    tenant_id: str
    entry: ApiKeyEntry
    revoked_at: str | None = None


class ApiKeys:
    def __init__(self) -> None:
        self._keys: dict[str, StoredKey] = {}
        self._id_by_digest: dict[str, str] = {}
        self._revoked_digests: set[str] = set()

    def add(self, tenant_id: str, entry: ApiKeyEntry) -> None:
        self._keys[entry.id] = StoredKey(tenant_id=tenant_id, entry=entry)
        self._id_by_digest[entry.secret_sha256] = entry.id

    def revoke(self, _tenant_id: str, entry: ApiKeyRevokedEntry) -> None:
        revoked = msgspec.structs.replace(self._keys[entry.key_id], revoked_at=entry.revoked_at)
        self._keys[entry.key_id] = revoked
        self._id_by_digest.pop(revoked.entry.secret_sha256, None)
        self._revoked_digests.add(revoked.entry.secret_sha256)

    def of_secret(self, secret: str) -> StoredKey | None:
        """The key with this secret, unless it is revoked."""
        digest = token_digest(secret)
        key_id = self._id_by_digest.get(digest)
        if key_id is None or not compare_digest(self._keys[key_id].entry.secret_sha256, digest):
            return None
        return self._keys[key_id]

    def is_revoked(self, secret: str) -> bool:
        """Whether a key with this secret was revoked: for the sentence of a refusal only."""
        return token_digest(secret) in self._revoked_digests

    def find(self, tenant_id: str, key_id: str) -> StoredKey | None:
        key = self._keys.get(key_id)
        return key if key is not None and key.tenant_id == tenant_id else None

    def valid_count(self, tenant_id: str) -> int:
        """The number of the tenant's keys that are not revoked."""
        return sum(key.tenant_id == tenant_id and key.revoked_at is None for key in self._keys.values())

    def of_tenant(self, tenant_id: str) -> tuple[StoredKey, ...]:
        """The tenant's keys, newest first, revoked ones included."""
        keys = [key for key in self._keys.values() if key.tenant_id == tenant_id]
        return tuple(sorted(keys, key=lambda key: (key.entry.created_at, key.entry.id), reverse=True))
