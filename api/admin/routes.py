"""Routes of the platform's administration: the admin token and X-Operator. Left out of the public document."""

from collections.abc import Mapping
from typing import Any, Final

from litestar import Request, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from api.admin.schemas import (
    NewProgram,
    NewSecret,
    NewTenant,
    NewToken,
    ProgramChange,
    ProgramCreated,
    Rotation,
    TenantCreated,
    countries_exist,
)
from api.admin.service import AdminService
from api.gate import body_of, caller_of
from api.operation import Access, Operation
from api.shapes import Shape
from features.program import Program
from store.control_entries import Tenant

_REFUSALS: Final[Mapping[int, None]] = {400: None, 401: None, 413: None, 415: None, 503: None}


def _administration(
    operation_id: str, summary: str, answers: Mapping[int, Any], body: Shape[Any] | None = None
) -> dict[str, Any]:
    return Operation(
        id=operation_id,
        tag="administration",
        summary=summary,
        access=Access.ADMIN,
        answers=dict(_REFUSALS) | dict(answers),
        body=body,
    ).as_opt


@post(
    "/api/admin/tenants",
    opt=_administration("createTenant", "A new bank.", {201: TenantCreated, 409: None}, Shape(NewTenant)),
)
async def create_tenant(request: Request[Any, Any, Any], admin: NamedDependency[AdminService]) -> TenantCreated:
    return await admin.create_tenant(caller_of(request.scope), body_of(request.scope, NewTenant))


@get("/api/admin/tenants", opt=_administration("listTenants", "All banks.", {200: tuple[Tenant, ...]}))
async def list_tenants(admin: NamedDependency[AdminService]) -> tuple[Tenant, ...]:
    return admin.tenants()


@post(
    "/api/admin/tenants/{tenant_id:str}/operator-token",
    opt=_administration("rotateOperatorToken", "A new operator token.", {201: NewToken, 404: None}, Shape(Rotation)),
)
async def rotate_operator_token(
    tenant_id: FromPath[str], request: Request[Any, Any, Any], admin: NamedDependency[AdminService]
) -> NewToken:
    return await admin.rotate_operator_token(caller_of(request.scope), tenant_id, body_of(request.scope, Rotation))


@post(
    "/api/admin/programs",
    opt=_administration(
        "createProgram",
        "A new program.",
        {201: ProgramCreated, 404: None, 409: None},
        Shape(NewProgram, rules=countries_exist),
    ),
)
async def create_program(request: Request[Any, Any, Any], admin: NamedDependency[AdminService]) -> ProgramCreated:
    return await admin.create_program(caller_of(request.scope), body_of(request.scope, NewProgram))


@patch(
    "/api/admin/programs/{program_id:str}",
    opt=_administration(
        "changeProgram", "Changes a program.", {200: Program, 404: None}, Shape(ProgramChange, rules=countries_exist)
    ),
)
async def change_program(
    program_id: FromPath[str], request: Request[Any, Any, Any], admin: NamedDependency[AdminService]
) -> Program:
    return await admin.change_program(caller_of(request.scope), program_id, body_of(request.scope, ProgramChange))


@post(
    "/api/admin/programs/{program_id:str}/ingest-secret",
    opt=_administration("rotateIngestSecret", "A new ingest secret.", {201: NewSecret, 404: None}, Shape(Rotation)),
)
async def rotate_ingest_secret(
    program_id: FromPath[str], request: Request[Any, Any, Any], admin: NamedDependency[AdminService]
) -> NewSecret:
    return await admin.rotate_ingest_secret(caller_of(request.scope), program_id, body_of(request.scope, Rotation))


ROUTES: Final = (
    create_tenant,
    list_tenants,
    rotate_operator_token,
    create_program,
    change_program,
    rotate_ingest_secret,
)
