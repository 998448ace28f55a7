"""What the control streams hold about tenants and programs, and what a reader of them needs to know."""

from enum import StrEnum

import msgspec

from features.core.program import Program

ControlEntry = tuple[str, int, str, int, bytes]
"""Tenant id, offset, kind, appended_at, body: as ``LogReader.control()`` gives them."""


class ControlKind(StrEnum):
    TENANT = "tenant"
    PROGRAM = "program"
    PROGRAM_CHANGED = "program_changed"
    OPERATOR_TOKEN = "operator_token"  # noqa: S105 - the name of an entry, not a token
    INGEST_SECRET = "ingest_secret"  # noqa: S105 - as above
    API_KEY = "api_key"
    API_KEY_REVOKED = "api_key_revoked"


class Tenant(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A bank."""

    id: str
    slug: str
    name: str
    created_at: str


class TenantEntry(Tenant, frozen=True, kw_only=True, rename="camel"):
    """A tenant as created, with the digest of its first operator token."""

    operator_token_sha256: str


class ProgramEntry(Program, frozen=True, kw_only=True, rename="camel"):
    """A program as created, with its first ingest secret."""

    sealed_ingest_secret: str


class ProgramChangedEntry(Program, frozen=True, kw_only=True, rename="camel"):
    """A program as changed, by the effect of this id, if its request had an idempotency key."""

    effect_id: str | None = None


class Effect(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an entry that names the idempotent request that caused it."""

    effect_id: str | None = None


class TokenEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A new operator token; the one it replaces holds until ``others_until`` (microseconds), older ones no more.

    It names the one it replaces: an entry that was never confirmed may stand between the two.
    """

    operator_token_sha256: str
    replaced_sha256: str
    others_until: int
    effect_id: str | None = None


class SecretEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A new ingest secret; the one it replaces holds until ``others_until`` (microseconds), older ones no more."""

    program_id: str
    sealed_ingest_secret: str
    sealed_replaced: str
    others_until: int
    effect_id: str | None = None


class Credential(msgspec.Struct, frozen=True, gc=False):
    """A token's digest or a secret, and until when it holds (None: until replaced)."""

    value: str
    until: int | None = None

    def holds(self, at: int) -> bool:
        return self.until is None or at < self.until


class IngestTarget(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All that taking in an event of a program needs. At most two secrets, the newest first."""

    program_id: str
    shard: int
    tenant_slug: str
    webhook_endpoint_id: str | None
    secrets: tuple[Credential, ...]
