"""The platform's administration: tenants, programs, and their tokens and secrets."""

import structlog
from msgspec import UNSET, structs

from api.admin.schemas import (
    NewProgram,
    NewSecret,
    NewTenant,
    NewToken,
    ProgramChange,
    ProgramCreated,
    Rotation,
    TenantCreated,
)
from features.core.principal import Principal
from features.core.program import Program
from store.control.entries import Tenant
from store.control.registry import Registry

log = structlog.get_logger()


class AdminService:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

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

    async def rotate_operator_token(
        self, principal: Principal, tenant_id: str, request: Rotation, effect_id: str | None
    ) -> NewToken:
        token = await self._registry.rotate_operator_token(
            tenant_id, overlap_hours=request.overlap_hours, effect_id=effect_id
        )
        log.info("operator_token_rotated", tenant_id=tenant_id, operator=principal.operator)
        return NewToken(token=token)

    async def rotate_ingest_secret(
        self, principal: Principal, program_id: str, request: Rotation, effect_id: str | None
    ) -> NewSecret:
        secret = await self._registry.rotate_ingest_secret(
            program_id, overlap_hours=request.overlap_hours, effect_id=effect_id
        )
        log.info("ingest_secret_rotated", program_id=program_id, operator=principal.operator)
        return NewSecret(secret=secret)
