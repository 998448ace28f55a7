"""The platform's administration: tenants, programs with their accounts' owners, and their tokens and secrets.

Its routes take the admin token and X-Operator, and are left out of the public document.
"""

from functools import partial
from typing import Final

import structlog
from litestar import delete, patch, put
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
    expiry_exists,
    is_test_key,
    program_rules,
    to_operator_token,
)
from clearhold.api.area import Area, Resources
from clearhold.api.http.auth import folded_name
from clearhold.api.http.fields import ID_LIMIT
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.exports import OCTETS, ByteDownload, Concurrency
from clearhold.api.lists.handlers import answer_route, bytes_route, write_route
from clearhold.api.lists.lists import instant_in
from clearhold.features.core.entries.commands import OwnerEntry
from clearhold.features.core.errors import ErrorCode, FieldCode, NotFoundError, invalid
from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import Principal, Program
from clearhold.store.control.entries import Tenant
from clearhold.store.control.registry import UNKNOWN_ANYWHERE

LONGEST_TOKEN_DAYS: Final = 366

log = structlog.get_logger()


class AdminService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._registry, self._credentials, self._clock = stores.registry, stores.credentials, stores.clock
        self._commands, self._sealed_backup = resources.command_log, stores.sealed_backup
        self._backups = Concurrency(1, in_all=1, what="backup for a node")

    async def tenants(self, _principal: Principal) -> tuple[Tenant, ...]:
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
        owner = partial(OwnerEntry, account_id=account_id, entity_id=request.entity_id, operator=told_by)
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

    async def person_tokens(self, _principal: Principal, tenant_id: str) -> tuple[OperatorToken, ...]:
        tenant = self._registry.known_tenant(tenant_id)
        return tuple(map(to_operator_token, self._registry.tenancy.person_tokens.of_tenant(tenant.id)))

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

    async def backup(self, principal: Principal) -> ByteDownload:
        log.info("backup_for_a_node", operator=principal.operator)
        return ByteDownload("backup.sealed", self._sealed_backup(), self._backups)


_TENANTS: Final = "/api/admin/tenants"
_OF_TENANT: Final = _TENANTS + "/{tenant_id:str}"
_PERSON_TOKENS: Final = f"{_OF_TENANT}/operator-tokens"
_PROGRAMS: Final = "/api/admin/programs"
_OF_PROGRAM: Final = _PROGRAMS + "/{program_id:str}"
_SERVICE: Final = "admin"
_operation: Final = partial(Operation, tag="administration", access=Access.ADMIN)

_CREATE_TENANT: Final = _operation(
    id="createTenant",
    summary="A new bank.",
    answers={201: TenantCreated},
    body=RequestSchema(NewTenant),
    shown_once=("operatorToken",),
    refusals=(ErrorCode.SLUG_TAKEN,),
)
_LIST_TENANTS: Final = _operation(id="listTenants", summary="All banks.", answers={200: tuple[Tenant, ...]})
_ROTATE_TOKEN: Final = _operation(
    id="rotateOperatorToken",
    summary="A new operator token.",
    answers={201: NewToken},
    body=RequestSchema(Rotation),
    body_required=False,
    shown_once=("token",),
    refusals=(ErrorCode.TENANT_NOT_FOUND,),
)
_SET_BANK_KEY: Final = _operation(
    id="setBankKey",
    summary="The key to the bank's API.",
    answers={204: None},
    body=RequestSchema(NewBankKey, rules=is_test_key),
    refusals=(ErrorCode.TENANT_NOT_FOUND,),
)
_REMOVE_BANK_KEY: Final = _operation(
    id="removeBankKey",
    summary="Removes the key to the bank's API.",
    answers={204: None},
    refusals=(ErrorCode.TENANT_NOT_FOUND,),
)
_CREATE_PROGRAM: Final = _operation(
    id="createProgram",
    summary="A new program.",
    answers={201: ProgramCreated},
    body=RequestSchema(NewProgram, rules=program_rules),
    shown_once=("ingestSecret",),
    refusals=(ErrorCode.TENANT_NOT_FOUND, ErrorCode.SLUG_TAKEN),
)
_CHANGE_PROGRAM: Final = _operation(
    id="changeProgram",
    summary="Changes a program.",
    answers={200: Program},
    body=RequestSchema(ProgramChange, rules=program_rules),
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
)
_SET_OWNER: Final = _operation(
    id="setAccountOwner",
    summary="The owner of an account.",
    answers={200: AccountOwner},
    body=RequestSchema(NewOwner),
    refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.NOT_CONFIRMED),
)
_ROTATE_SECRET: Final = _operation(
    id="rotateIngestSecret",
    summary="A new ingest secret, made here or by the bank.",
    answers={201: NewSecret},
    body=RequestSchema(NewIngestSecret),
    body_required=False,
    shown_once=("secret",),
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
)
_ISSUE_TOKEN: Final = _operation(
    id="issueOperatorToken",
    summary="An operator token for one person of the bank, under which X-Operator is that person. It is in this answer "
    "alone.",
    answers={201: OperatorTokenCreated},
    body=RequestSchema(NewPersonToken, rules=expiry_exists),
    shown_once=("token",),
    refusals=(ErrorCode.TENANT_NOT_FOUND, ErrorCode.TOO_MANY_KEYS),
)
_LIST_TOKENS: Final = _operation(
    id="listOperatorTokens",
    summary="The tokens of a bank's persons, newest first, revoked and expired ones too.",
    answers={200: tuple[OperatorToken, ...]},
    refusals=(ErrorCode.TENANT_NOT_FOUND,),
)
_REVOKE_TOKEN: Final = _operation(
    id="revokeOperatorToken",
    summary="Revokes a person's token from the next request on.",
    answers={200: OperatorToken},
    refusals=(ErrorCode.TENANT_NOT_FOUND, ErrorCode.TOKEN_NOT_FOUND),
)
_BACKUP: Final = _operation(
    id="getBackup",
    summary="The log, the record and its keys, sealed under the master key, for a node that joins.",
    answers={200: bytes},
    media=(OCTETS,),
    refusals=(ErrorCode.TOO_MANY_AT_ONCE,),
)


AREA: Final = Area(
    routes=(
        bytes_route("/api/admin/backup", _BACKUP, _SERVICE, AdminService.backup),
        write_route(_TENANTS, _CREATE_TENANT, _SERVICE, AdminService.create_tenant),
        answer_route(_TENANTS, _LIST_TENANTS, _SERVICE, AdminService.tenants),
        write_route(f"{_OF_TENANT}/operator-token", _ROTATE_TOKEN, _SERVICE, AdminService.rotate_operator_token),
        write_route(f"{_OF_TENANT}/bank-key", _SET_BANK_KEY, _SERVICE, AdminService.set_bank_key, put),
        write_route(f"{_OF_TENANT}/bank-key", _REMOVE_BANK_KEY, _SERVICE, AdminService.remove_bank_key, delete),
        write_route(_PROGRAMS, _CREATE_PROGRAM, _SERVICE, AdminService.create_program),
        write_route(_OF_PROGRAM, _CHANGE_PROGRAM, _SERVICE, AdminService.change_program, patch),
        write_route(
            _OF_PROGRAM + "/accounts/{account_id:str}", _SET_OWNER, _SERVICE, AdminService.set_account_owner, put
        ),
        write_route(f"{_OF_PROGRAM}/ingest-secret", _ROTATE_SECRET, _SERVICE, AdminService.rotate_ingest_secret),
        write_route(_PERSON_TOKENS, _ISSUE_TOKEN, _SERVICE, AdminService.issue_person_token),
        answer_route(_PERSON_TOKENS, _LIST_TOKENS, _SERVICE, AdminService.person_tokens),
        write_route(
            _PERSON_TOKENS + "/{token_id:str}", _REVOKE_TOKEN, _SERVICE, AdminService.revoke_person_token, delete
        ),
    ),
    provide={_SERVICE: AdminService},
)
