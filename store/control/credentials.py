"""Projections of the control streams: operator tokens by tenant, and ingest secrets by program.

Tokens are stored as their SHA-256 only. Ingest secrets are sealed in the log and open in memory, because each delivery
of bank events is verified with them.
"""

from hmac import compare_digest

import msgspec

from clearhold.features.core.log_entry import shard_of
from clearhold.features.core.program import Program
from clearhold.store.control.entries import SecretEntry, TenantEntry, TokenEntry
from clearhold.store.keys.secrets import SecretBox, token_digest


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
        if tenant_id is None:
            return None
        tokens = self._tokens[tenant_id]
        is_valid = any(compare_digest(known.value, digest) and known.is_valid(at) for known in tokens)
        return tenant_id if is_valid else None

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

    def rotate(self, entry: SecretEntry) -> None:
        secret = Credential(self._box.open(entry.sealed_ingest_secret))
        replaced = Credential(self._box.open(entry.sealed_replaced), entry.others_until)
        target = self._targets[entry.program_id]
        self._targets[entry.program_id] = msgspec.structs.replace(target, secrets=(secret, replaced))

    def remove(self, program_id: str) -> None:
        del self._targets[program_id]

    def find(self, program_id: str) -> IngestTarget | None:
        return self._targets.get(program_id)
