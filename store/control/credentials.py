"""Projections of the control streams: operator and person tokens, ingest secrets, API keys, keys to the bank's API.

Tokens and API keys are stored as their SHA-256 only. Ingest secrets and keys to the bank's API are sealed in the log
and open in memory, because each delivery of bank events is verified with the former, and every request to the bank's
API needs the latter; no answer, log line or ``repr`` contains one.

The last use of each API key is noted in memory and written to Redis every few seconds. It serves the key list only and
takes part in no decision, so a crash may lose the last seconds of it.
"""

import asyncio
from hmac import compare_digest
from typing import Final, Generic, TypeVar

import msgspec
import redis
import redis.asyncio
import structlog
from redis.exceptions import RedisError

from clearhold.features.core.log_entry import shard_of
from clearhold.features.core.principal import Program
from clearhold.store.control.entries import (
    ApiKeyEntry,
    ApiKeyRevokedEntry,
    BankKeyEntry,
    BankKeyRemovedEntry,
    PersonTokenEntry,
    PersonTokenRevokedEntry,
    SecretEntry,
    TenantEntry,
    TokenEntry,
)
from clearhold.store.keys import SecretBox, token_digest


class Credential(msgspec.Struct, frozen=True, gc=False):
    """A token's digest or a secret, and the instant at which it expires (None: when it is replaced)."""

    value: str
    until: int | None = None

    def is_valid(self, at: int) -> bool:
        return self.until is None or at < self.until


class IngestTarget(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Everything needed to accept an event of a program. At most two secrets, the newest first."""

    program_id: str
    shard: int
    webhook_endpoint_id: str | None
    signature_header: bytes  # in lower case
    secrets: tuple[Credential, ...]


class OperatorTokens:
    """At most two tokens a tenant, the newest first."""

    def __init__(self) -> None:
        self._tokens: dict[str, tuple[Credential, ...]] = {}
        self._tenant_by_digest: dict[str, str] = {}

    def add(self, entry: TenantEntry) -> None:
        self._put(entry.id, Credential(entry.operator_token_sha256))

    def rotate(self, tenant_id: str, entry: TokenEntry) -> None:
        replaced = Credential(entry.replaced_sha256, entry.others_until)
        self._put(tenant_id, Credential(entry.operator_token_sha256), replaced)

    def remove(self, tenant_id: str) -> None:
        for token in self._tokens.pop(tenant_id, ()):
            del self._tenant_by_digest[token.value]

    def of_tenant(self, tenant_id: str) -> tuple[Credential, ...]:
        return self._tokens[tenant_id]

    def tenant_of(self, token: str, *, at: int) -> str | None:
        """The id of the tenant of this token, if it is valid at that instant."""
        digest = token_digest(token)
        tenant_id = self._tenant_by_digest.get(digest)
        return tenant_id if tenant_id is not None and self.is_valid(tenant_id, digest, at=at) else None

    def is_valid(self, tenant_id: str, digest: str, *, at: int) -> bool:
        """Whether the token with this digest is the tenant's, and valid at that instant."""
        tokens = self._tokens.get(tenant_id, ())
        return any(compare_digest(known.value, digest) and known.is_valid(at) for known in tokens)

    def is_replaced(self, token: str) -> bool:
        """Whether this is the token before a tenant's present one, valid or not: for the sentence of a refusal only."""
        tenant_id = self._tenant_by_digest.get(token_digest(token))
        return tenant_id is not None and self._tokens[tenant_id][0].value != token_digest(token)

    def _put(self, tenant_id: str, *tokens: Credential) -> None:
        self.remove(tenant_id)
        self._tokens[tenant_id] = tokens
        self._tenant_by_digest |= {token.value: tenant_id for token in tokens}


class IngestTargets:
    """One target for each program, complete for a single look-up at a delivery."""

    def __init__(self, *, box: SecretBox, shards: int) -> None:
        self._box, self._shards = box, shards
        self._targets: dict[str, IngestTarget] = {}

    def add(self, program: Program, *, sealed_secret: str) -> None:
        self._put(program, (Credential(self._box.open(sealed_secret)),))

    def change(self, program: Program) -> None:
        self._put(program, self._targets[program.id].secrets)

    def _put(self, program: Program, secrets: tuple[Credential, ...]) -> None:
        self._targets[program.id] = IngestTarget(
            program_id=program.id,
            shard=shard_of(program.id, self._shards),
            webhook_endpoint_id=program.webhook_endpoint_id,
            signature_header=program.signature_header.lower().encode(),
            secrets=secrets,
        )

    def rotate(self, _tenant_id: str, entry: SecretEntry) -> None:
        secret = Credential(self._box.open(entry.sealed_ingest_secret))
        replaced = Credential(self._box.open(entry.sealed_replaced), entry.others_until)
        target = self._targets[entry.program_id]
        self._targets[entry.program_id] = msgspec.structs.replace(target, secrets=(secret, replaced))

    def remove(self, program_id: str) -> None:
        del self._targets[program_id]

    def find(self, program_id: str) -> IngestTarget | None:
        return self._targets.get(program_id)


class BankKeys:
    """At most one key a tenant, the newest."""

    def __init__(self, *, box: SecretBox) -> None:
        self._box = box
        self._keys: dict[str, str] = {}
        self._changes: dict[str, BankKeyEntry | BankKeyRemovedEntry] = {}

    def put(self, tenant_id: str, entry: BankKeyEntry) -> None:
        self._keys[tenant_id] = self._box.open(entry.sealed_key)
        self._changes[tenant_id] = entry

    def remove(self, tenant_id: str, entry: BankKeyRemovedEntry) -> None:
        self._keys.pop(tenant_id, None)
        self._changes[tenant_id] = entry

    def of_tenant(self, tenant_id: str) -> str | None:
        return self._keys.get(tenant_id)

    def had_key(self, tenant_id: str) -> bool:
        """Whether the tenant has a key, or ever had one."""
        return tenant_id in self._changes

    def last_change(self, tenant_id: str) -> BankKeyEntry | BankKeyRemovedEntry | None:
        """The entry that set the key or removed it last, if there is one."""
        return self._changes.get(tenant_id)

    def tenants(self) -> tuple[str, ...]:
        """The ids of the tenants that have a key."""
        return tuple(self._keys)


class StoredKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key and its tenant. A revoked key authenticates nothing and stays listed."""

    tenant_id: str
    entry: ApiKeyEntry
    revoked_at: str | None = None


class PersonToken(msgspec.Struct, frozen=True, kw_only=True):
    """A person's token and its tenant. A revoked or expired one authenticates nothing and stays listed."""

    tenant_id: str
    entry: PersonTokenEntry
    revoked_at: str | None = None

    def is_valid(self, at: int) -> bool:
        return self.revoked_at is None and at < self.entry.expires_at


Issued = TypeVar("Issued", StoredKey, PersonToken)


class _IssuedSecrets(Generic[Issued]):
    """Issued secrets by their id and digest, revoked ones too."""

    def __init__(self) -> None:
        self._issued: dict[str, Issued] = {}
        self._id_by_digest: dict[str, str] = {}

    def find(self, tenant_id: str, issued_id: str) -> Issued | None:
        issued = self._issued.get(issued_id)
        return issued if issued is not None and issued.tenant_id == tenant_id else None

    def of_tenant(self, tenant_id: str) -> tuple[Issued, ...]:
        """The tenant's, newest first, revoked and expired ones included."""
        issued = [each for each in self._issued.values() if each.tenant_id == tenant_id]
        return tuple(sorted(issued, key=lambda each: (each.entry.created_at, each.entry.id), reverse=True))

    def _put(self, issued: Issued, digest: str) -> None:
        self._issued[issued.entry.id], self._id_by_digest[digest] = issued, issued.entry.id

    def _revoke(self, issued_id: str, revoked_at: str) -> None:
        self._issued[issued_id] = msgspec.structs.replace(self._issued[issued_id], revoked_at=revoked_at)

    def of_secret(self, secret: str) -> Issued | None:
        """Valid or not."""
        issued_id = self._id_by_digest.get(token_digest(secret))
        return None if issued_id is None else self._issued[issued_id]


class ApiKeys(_IssuedSecrets[StoredKey]):
    def add(self, tenant_id: str, entry: ApiKeyEntry) -> None:
        self._put(StoredKey(tenant_id=tenant_id, entry=entry), entry.secret_sha256)

    def revoke(self, _tenant_id: str, entry: ApiKeyRevokedEntry) -> None:
        self._revoke(entry.key_id, entry.revoked_at)

    def of_secret(self, secret: str) -> StoredKey | None:
        """The key with this secret, unless it is revoked."""
        key = super().of_secret(secret)
        return None if key is None or key.revoked_at is not None else key

    def is_revoked(self, secret: str) -> bool:
        """Whether a key with this secret was revoked: for the sentence of a refusal only."""
        key = super().of_secret(secret)
        return key is not None and key.revoked_at is not None

    def valid_count(self, tenant_id: str) -> int:
        """The number of the tenant's keys that are not revoked."""
        return sum(key.tenant_id == tenant_id and key.revoked_at is None for key in self._issued.values())


class PersonTokens(_IssuedSecrets[PersonToken]):
    def add(self, tenant_id: str, entry: PersonTokenEntry) -> None:
        self._put(PersonToken(tenant_id=tenant_id, entry=entry), entry.token_sha256)

    def revoke(self, _tenant_id: str, entry: PersonTokenRevokedEntry) -> None:
        self._revoke(entry.token_id, entry.revoked_at)

    def valid_of_tenant(self, tenant_id: str, *, at: int) -> tuple[PersonToken, ...]:
        return tuple(token for token in self.of_tenant(tenant_id) if token.is_valid(at))


LAST_USED: Final = "keys:last_used"
FLUSH_EVERY_S: Final = 5.0

log = structlog.get_logger()


class KeyUsage:
    """Belongs to the API's event loop. Instants in microseconds, by key id."""

    def __init__(self, last_used: dict[str, int]) -> None:
        self._last_used = last_used
        self._unwritten: set[str] = set()

    @classmethod
    def read_from(cls, client: redis.Redis) -> "KeyUsage":
        stored = client.hgetall(LAST_USED)
        return cls({key_id.decode(): int(at) for key_id, at in stored.items()})  # type: ignore[union-attr]

    def note(self, key_id: str, at: int) -> None:
        self._last_used[key_id] = at
        self._unwritten.add(key_id)

    def last_used_at(self, key_id: str) -> int | None:
        return self._last_used.get(key_id)

    async def flush(self, client: redis.asyncio.Redis) -> None:
        """Write the uses since the last flush."""
        pending, self._unwritten = self._unwritten, set()
        if not pending:
            return
        try:
            await client.hset(LAST_USED, mapping={key_id: self._last_used[key_id] for key_id in pending})
            pending = set()
        except (RedisError, OSError) as error:
            log.warning("key_usage_not_written", keys=len(pending), reason=type(error).__name__)
        finally:
            self._unwritten |= pending  # The next flush tries again, also after a cancellation.

    async def flush_regularly(self, client: redis.asyncio.Redis) -> None:
        """Flush every few seconds until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_EVERY_S)
            await self.flush(client)
