"""Creating and changing tenants, programs, operator tokens and ingest secrets.

A change is appended to the log first and applied after, so what is in memory is always in the log. One lock makes
checking a slug and taking it one step.

Errors  ConflictError for a taken slug, NotFoundError for an unknown id, UnavailableError when the log cannot be written
"""

import asyncio
from typing import Any, Final

import msgspec

from features.errors import ConflictError, NotFoundError
from features.instants import HOUR_US, format_instant
from features.log_entry import shard_of
from features.program import Program
from store.clock import Clock
from store.control_entries import ControlKind, ProgramEntry, SecretEntry, Tenant, TenantEntry, TokenEntry
from store.ids import IdFactory, new_token
from store.redis_log.appender import LogAppender
from store.secrets import SecretBox, token_digest
from store.tenancy import Tenancy

OPERATOR_TOKEN_PREFIX: Final = "op_"  # noqa: S105 - a prefix that shows what a token opens
INGEST_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - as above

_UNKNOWN_TENANT: Final = "Unknown tenant."
_UNKNOWN_PROGRAM: Final = "Unknown program."


class Registry(Tenancy):
    """A Tenancy that can be written to, from one event loop."""

    def __init__(self, *, log: LogAppender, box: SecretBox, clock: Clock, new_id: IdFactory, shards: int) -> None:
        super().__init__(box=box, shards=shards)
        self._log, self._clock, self._new_id = log, clock, new_id
        self._writing = asyncio.Lock()

    async def create_tenant(self, *, slug: str, name: str) -> tuple[Tenant, str]:
        """The tenant and its operator token, of which only a digest is kept."""
        async with self._writing:
            if self.has_tenant_slug(slug):
                raise ConflictError("A tenant with this slug exists.")
            token = new_token(OPERATOR_TOKEN_PREFIX)
            tenant = Tenant(id=self._new_id(), slug=slug, name=name, created_at=format_instant(self._clock.now()))
            entry = TenantEntry(**msgspec.structs.asdict(tenant), operator_token_sha256=token_digest(token))
            await self._write(tenant.id, ControlKind.TENANT, entry)
            return tenant, token

    async def create_program(self, tenant_id: str, *, slug: str, **fields: Any) -> tuple[Program, str]:
        """The program and its ingest secret, which is kept sealed; ``fields`` are those of Program."""
        async with self._writing:
            if not self.has_tenant(tenant_id):
                raise NotFoundError(_UNKNOWN_TENANT)
            if self.program_by_slug(tenant_id, slug) is not None:
                raise ConflictError("A program with this slug exists on this tenant.")
            created_at = format_instant(self._clock.now())
            program = Program(id=self._new_id(), tenant_id=tenant_id, slug=slug, created_at=created_at, **fields)
            secret = new_token(INGEST_SECRET_PREFIX)
            entry = ProgramEntry(**msgspec.structs.asdict(program), sealed_ingest_secret=self._box.seal(secret))
            await self._write(tenant_id, ControlKind.PROGRAM, entry, program=program)
            return program, secret

    async def change_program(self, program_id: str, **fields: Any) -> Program:
        """Replace the given fields; whoever calls gives no id, tenant, slug or source."""
        async with self._writing:
            changed = msgspec.structs.replace(self._known_program(program_id), **fields)
            await self._write(changed.tenant_id, ControlKind.PROGRAM_CHANGED, changed, program=changed)
            return changed

    async def rotate_operator_token(self, tenant_id: str, *, overlap_hours: int) -> str:
        """A new operator token; the present one holds for the overlap."""
        async with self._writing:
            if not self.has_tenant(tenant_id):
                raise NotFoundError(_UNKNOWN_TENANT)
            token = new_token(OPERATOR_TOKEN_PREFIX)
            until = self._clock.now() + overlap_hours * HOUR_US
            entry = TokenEntry(operator_token_sha256=token_digest(token), others_until=until)
            await self._write(tenant_id, ControlKind.OPERATOR_TOKEN, entry)
            return token

    async def rotate_ingest_secret(self, program_id: str, *, overlap_hours: int) -> str:
        """A new ingest secret; the present one holds for the overlap."""
        async with self._writing:
            program = self._known_program(program_id)
            secret = new_token(INGEST_SECRET_PREFIX)
            until = self._clock.now() + overlap_hours * HOUR_US
            sealed = self._box.seal(secret)
            entry = SecretEntry(program_id=program_id, sealed_ingest_secret=sealed, others_until=until)
            await self._write(program.tenant_id, ControlKind.INGEST_SECRET, entry)
            return secret

    def _known_program(self, program_id: str) -> Program:
        program = self.program_of_any_tenant(program_id)
        if program is None:
            raise NotFoundError(_UNKNOWN_PROGRAM)
        return program

    async def _write(
        self, tenant_id: str, kind: ControlKind, entry: msgspec.Struct, *, program: Program | None = None
    ) -> None:
        body = msgspec.json.encode(entry)
        to_shard = None
        if program is not None:
            to_shard = (shard_of(program.id, self._shards), program.id, msgspec.json.encode(program))
        await self._log.append_control(tenant_id, kind, self._clock.now(), body, program_entry=to_shard)
        self.apply(tenant_id, kind, body)
