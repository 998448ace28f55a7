"""The platform's administration: tenants, programs with their accounts' owners, and their tokens and secrets."""

from typing import Final

import structlog
from msgspec import UNSET, structs

from clearhold.api.admin.schemas import (
    AccountOwner,
    NewBankKey,
    NewIngestSecret,
    NewOwner,
    NewPersonToken,
    NewProgram,
    NewSecret,
    NewTenant,
    NewToken,
    OperatorToken,
    OperatorTokenCreated,
    ProgramChange,
    ProgramCreated,
    Rotation,
    TenantCreated,
    to_operator_token,
)
from clearhold.api.http.auth import folded_name
from clearhold.api.http.fields import ID_LIMIT
from clearhold.api.lists.lists import instant_in
from clearhold.api.log.commands import CommandLog
from clearhold.features.core.entries.commands import OwnerEntry
from clearhold.features.core.errors import ErrorCode, FieldCode, NotFoundError, invalid
from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import Principal
from clearhold.features.core.program import Program
from clearhold.store.clock import Clock
from clearhold.store.control.credential_registry import CredentialRegistry
from clearhold.store.control.entries import Tenant
from clearhold.store.control.registry import UNKNOWN_ANYWHERE, Registry

LONGEST_TOKEN_DAYS: Final = 366

log = structlog.get_logger()


class AdminService:
    def __init__(
        self, registry: Registry, credentials: CredentialRegistry, command_log: CommandLog, clock: Clock
    ) -> None:
        self._registry, self._credentials, self._commands = registry, credentials, command_log
        self._clock = clock

    def tenants(self) -> tuple[Tenant, ...]:
        return self._registry.tenancy.tenants.list_all()

    async def create_tenant(self, principal: Principal, request: NewTenant, effect_id: str | None) -> TenantCreated:
        tenant, token = await self._registry.create_tenant(slug=request.slug, name=request.name, effect_id=effect_id)
        log.info("tenant_created", tenant_id=tenant.id, operator=principal.operator)
        return TenantCreated(**structs.asdict(tenant), operator_token=token)

    async def create_program(self, principal: Principal, request: NewProgram, effect_id: str | None) -> ProgramCreated:
        fields = structs.asdict(request)
        program, secret = await self._registry.create_program(
            str(fields.pop("tenant_id")), effect_id=effect_id, **fields
        )
        log.info("program_created", program_id=program.id, operator=principal.operator)
        return ProgramCreated(**structs.asdict(program), ingest_secret=secret)

    async def change_program(
        self, principal: Principal, program_id: str, request: ProgramChange, effect_id: str | None
    ) -> Program:
        fields = {name: value for name, value in structs.asdict(request).items() if value is not UNSET}
        program = await self._registry.change_program(program_id, effect_id=effect_id, **fields)
        log.info("program_changed", program_id=program.id, operator=principal.operator)
        return program

    async def set_account_owner(
        self, principal: Principal, program_id: str, account_id: str, request: NewOwner, effect_id: str | None
    ) -> AccountOwner:
        """The owner goes through the log, so that a rebuild restores it."""
        if not account_id.strip() or len(account_id) > ID_LIMIT or "\x00" in account_id:
            rule = f"must be an id of the bank: 1-{ID_LIMIT} characters, not blank and without NUL"
            raise invalid("accountId", rule, FieldCode.MALFORMED)
        program = self._registry.tenancy.programs.of_any_tenant(program_id.lower())
        if program is None:
            raise NotFoundError(UNKNOWN_ANYWHERE, ErrorCode.PROGRAM_NOT_FOUND)
        told_by = f"operator:{principal.operator}"

        def owner(entry_id: str, at: int) -> OwnerEntry:
            return OwnerEntry(id=entry_id, account_id=account_id, entity_id=request.entity_id, operator=told_by, at=at)

        of_tenant = structs.replace(principal, tenant_id=program.tenant_id)
        result = await self._commands.submit(of_tenant, EntryKind.OWNER, program.id, owner, effect_id=effect_id)
        log.info("account_owner_told", program_id=program.id, account_id=account_id, operator=principal.operator)
        return AccountOwner(
            program_id=program.id,
            account_id=account_id,
            entity_id=request.entity_id,
            told_by=told_by,
            told_at=format_instant(result.created_at),
        )

    async def rotate_operator_token(
        self, principal: Principal, tenant_id: str, request: Rotation, effect_id: str | None
    ) -> NewToken:
        token = await self._credentials.rotate_operator_token(
            tenant_id, overlap_hours=request.overlap_hours, effect_id=effect_id
        )
        log.info("operator_token_rotated", tenant_id=tenant_id, operator=principal.operator)
        return NewToken(token=token)

    async def issue_person_token(
        self, principal: Principal, tenant_id: str, request: NewPersonToken, effect_id: str | None
    ) -> OperatorTokenCreated:
        expires_at, now = instant_in(request.expires_at), self._clock.now()
        assert expires_at is not None, "the body's rules were held"
        if not now < expires_at <= now + LONGEST_TOKEN_DAYS * DAY_US:
            rule = f"must be in the future, and at most {LONGEST_TOKEN_DAYS} days ahead"
            raise invalid("expiresAt", rule, FieldCode.TOO_LARGE if expires_at > now else FieldCode.TOO_SMALL)
        token, secret = await self._credentials.issue_person_token(
            tenant_id,
            name=folded_name(request.name),
            expires_at=expires_at,
            operator=principal.operator,
            effect_id=effect_id,
        )
        log.info("operator_token_issued", token_id=token.entry.id, tenant_id=tenant_id, operator=principal.operator)
        return OperatorTokenCreated(**structs.asdict(to_operator_token(token)), token=secret)

    def person_tokens(self, tenant_id: str) -> tuple[OperatorToken, ...]:
        tenant_id = tenant_id.lower()
        self._registry.require_tenant(tenant_id)
        return tuple(map(to_operator_token, self._registry.tenancy.person_tokens.of_tenant(tenant_id)))

    async def revoke_person_token(self, principal: Principal, tenant_id: str, token_id: str) -> OperatorToken:
        token = await self._credentials.revoke_person_token(tenant_id, token_id, operator=principal.operator)
        log.info("operator_token_revoked", token_id=token.entry.id, tenant_id=tenant_id, operator=principal.operator)
        return to_operator_token(token)

    async def set_bank_key(
        self, principal: Principal, tenant_id: str, request: NewBankKey, effect_id: str | None
    ) -> None:
        await self._credentials.set_bank_key(tenant_id, request.key, operator=principal.operator, effect_id=effect_id)
        log.info("bank_key_set", tenant_id=tenant_id.lower(), operator=principal.operator)

    async def remove_bank_key(self, principal: Principal, tenant_id: str, effect_id: str | None) -> None:
        await self._credentials.remove_bank_key(tenant_id, operator=principal.operator, effect_id=effect_id)
        log.info("bank_key_removed", tenant_id=tenant_id.lower(), operator=principal.operator)

    async def rotate_ingest_secret(
        self, principal: Principal, program_id: str, request: NewIngestSecret, effect_id: str | None
    ) -> NewSecret:
        secret = await self._credentials.rotate_ingest_secret(
            program_id, overlap_hours=request.overlap_hours, secret=request.secret, effect_id=effect_id
        )
        log.info("ingest_secret_rotated", program_id=program_id, operator=principal.operator)
        return NewSecret(secret=secret)
