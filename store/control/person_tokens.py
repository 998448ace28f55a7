"""Projection of the control streams: the operator tokens that were issued to persons, with their SHA-256 only."""

from hmac import compare_digest

import msgspec

from clearhold.store.control.entries import PersonTokenEntry, PersonTokenRevokedEntry
from clearhold.store.keys.secrets import token_digest


class PersonToken(msgspec.Struct, frozen=True, kw_only=True):
    """A person's token and its tenant. A revoked or expired one authenticates nothing and stays listed."""

    tenant_id: str
    entry: PersonTokenEntry
    revoked_at: str | None = None

    def is_valid(self, at: int) -> bool:
        return self.revoked_at is None and at < self.entry.expires_at


class PersonTokens:
    def __init__(self) -> None:
        self._tokens: dict[str, PersonToken] = {}
        self._id_by_digest: dict[str, str] = {}

    def add(self, tenant_id: str, entry: PersonTokenEntry) -> None:
        self._tokens[entry.id] = PersonToken(tenant_id=tenant_id, entry=entry)
        self._id_by_digest[entry.token_sha256] = entry.id

    def revoke(self, _tenant_id: str, entry: PersonTokenRevokedEntry) -> None:
        token = self._tokens[entry.token_id]
        self._tokens[entry.token_id] = msgspec.structs.replace(token, revoked_at=entry.revoked_at)

    def of_secret(self, secret: str) -> PersonToken | None:
        """The token with this secret, valid or not."""
        digest = token_digest(secret)
        token_id = self._id_by_digest.get(digest)
        if token_id is None or not compare_digest(self._tokens[token_id].entry.token_sha256, digest):
            return None
        return self._tokens[token_id]

    def find(self, tenant_id: str, token_id: str) -> PersonToken | None:
        token = self._tokens.get(token_id)
        return token if token is not None and token.tenant_id == tenant_id else None

    def of_tenant(self, tenant_id: str) -> tuple[PersonToken, ...]:
        """The tenant's tokens, newest first, revoked and expired ones included."""
        tokens = [token for token in self._tokens.values() if token.tenant_id == tenant_id]
        return tuple(sorted(tokens, key=lambda token: (token.entry.created_at, token.entry.id), reverse=True))

    def valid_of_tenant(self, tenant_id: str, *, at: int) -> tuple[PersonToken, ...]:
        return tuple(token for token in self.of_tenant(tenant_id) if token.is_valid(at))
