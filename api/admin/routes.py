"""Routes of the platform's administration: the admin token and X-Operator. Left out of the public document."""

from collections.abc import Mapping
from typing import Any, Final

from litestar import delete, get, patch, post, put
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.admin.schemas import (
    AccountOwner,
    NewBankKey,
    NewIngestSecret,
    NewOwner,
    NewProgram,
    NewSecret,
    NewTenant,
    NewToken,
    ProgramChange,
    ProgramCreated,
    Rotation,
    TenantCreated,
    is_test_key,
    program_rules,
)
from clearhold.api.admin.service import AdminService
from clearhold.api.admin.token_routes import TOKEN_ROUTES
from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, effect_id_of, principal_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.program import Program
from clearhold.store.control.entries import Tenant


def _administration(
    operation_id: str,
    summary: str,
    answers: Mapping[int, Any],
    body: RequestSchema[Any] | None = None,
    shown_once: tuple[str, ...] = (),
    refusals: tuple[ErrorCode, ...] = (),
) -> dict[str, Any]:
    return Operation(
        id=operation_id,
        tag="administration",
        summary=summary,
        access=Access.ADMIN,
        answers=answers,
        body=body,
        shown_once=shown_once,
        refusals=refusals,
    ).as_opt


_OWNER_REFUSALS: Final = (ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.NOT_CONFIRMED)


@post(
    "/api/admin/tenants",
    opt=_administration(
        "createTenant",
        "A new bank.",
        {201: TenantCreated},
        RequestSchema(NewTenant),
        ("operatorToken",),
        (ErrorCode.SLUG_TAKEN,),
    ),
)
async def create_tenant(request: ApiRequest, admin: NamedDependency[AdminService]) -> TenantCreated:
    return await admin.create_tenant(
        principal_of(request.scope), body_of(request.scope, NewTenant), effect_id_of(request.scope)
    )


@get("/api/admin/tenants", opt=_administration("listTenants", "All banks.", {200: tuple[Tenant, ...]}))
async def list_tenants(admin: NamedDependency[AdminService]) -> tuple[Tenant, ...]:
    return admin.tenants()


@post(
    "/api/admin/tenants/{tenant_id:str}/operator-token",
    opt=_administration(
        "rotateOperatorToken",
        "A new operator token.",
        {201: NewToken},
        RequestSchema(Rotation),
        ("token",),
        (ErrorCode.TENANT_NOT_FOUND,),
    ),
)
async def rotate_operator_token(
    tenant_id: FromPath[str], request: ApiRequest, admin: NamedDependency[AdminService]
) -> NewToken:
    return await admin.rotate_operator_token(
        principal_of(request.scope), tenant_id, body_of(request.scope, Rotation), effect_id_of(request.scope)
    )


@put(
    "/api/admin/tenants/{tenant_id:str}/bank-key",
    status_code=204,
    opt=_administration(
        "setBankKey",
        "The key to the bank's API.",
        {204: None},
        RequestSchema(NewBankKey, rules=is_test_key),
        (),
        (ErrorCode.TENANT_NOT_FOUND,),
    ),
)
async def set_bank_key(tenant_id: FromPath[str], request: ApiRequest, admin: NamedDependency[AdminService]) -> None:
    await admin.set_bank_key(
        principal_of(request.scope), tenant_id, body_of(request.scope, NewBankKey), effect_id_of(request.scope)
    )


@delete(
    "/api/admin/tenants/{tenant_id:str}/bank-key",
    status_code=204,
    opt=_administration(
        "removeBankKey", "Removes the key to the bank's API.", {204: None}, refusals=(ErrorCode.TENANT_NOT_FOUND,)
    ),
)
async def remove_bank_key(tenant_id: FromPath[str], request: ApiRequest, admin: NamedDependency[AdminService]) -> None:
    await admin.remove_bank_key(principal_of(request.scope), tenant_id, effect_id_of(request.scope))


@post(
    "/api/admin/programs",
    opt=_administration(
        "createProgram",
        "A new program.",
        {201: ProgramCreated},
        RequestSchema(NewProgram, rules=program_rules),
        ("ingestSecret",),
        (ErrorCode.TENANT_NOT_FOUND, ErrorCode.SLUG_TAKEN),
    ),
)
async def create_program(request: ApiRequest, admin: NamedDependency[AdminService]) -> ProgramCreated:
    return await admin.create_program(
        principal_of(request.scope), body_of(request.scope, NewProgram), effect_id_of(request.scope)
    )


@patch(
    "/api/admin/programs/{program_id:str}",
    opt=_administration(
        "changeProgram",
        "Changes a program.",
        {200: Program},
        RequestSchema(ProgramChange, rules=program_rules),
        (),
        (ErrorCode.PROGRAM_NOT_FOUND,),
    ),
)
async def change_program(
    program_id: FromPath[str], request: ApiRequest, admin: NamedDependency[AdminService]
) -> Program:
    return await admin.change_program(
        principal_of(request.scope), program_id, body_of(request.scope, ProgramChange), effect_id_of(request.scope)
    )


@put(
    "/api/admin/programs/{program_id:str}/accounts/{account_id:str}",
    opt=_administration(
        "setAccountOwner", "The owner of an account.", {200: AccountOwner}, RequestSchema(NewOwner), (), _OWNER_REFUSALS
    ),
)
async def set_account_owner(
    program_id: FromPath[str], account_id: FromPath[str], request: ApiRequest, admin: NamedDependency[AdminService]
) -> AccountOwner:
    return await admin.set_account_owner(
        principal_of(request.scope),
        program_id,
        account_id,
        body_of(request.scope, NewOwner),
        effect_id_of(request.scope),
    )


@post(
    "/api/admin/programs/{program_id:str}/ingest-secret",
    opt=_administration(
        "rotateIngestSecret",
        "A new ingest secret, made here or by the bank.",
        {201: NewSecret},
        RequestSchema(NewIngestSecret),
        ("secret",),
        (ErrorCode.PROGRAM_NOT_FOUND,),
    ),
)
async def rotate_ingest_secret(
    program_id: FromPath[str], request: ApiRequest, admin: NamedDependency[AdminService]
) -> NewSecret:
    return await admin.rotate_ingest_secret(
        principal_of(request.scope), program_id, body_of(request.scope, NewIngestSecret), effect_id_of(request.scope)
    )


def _admin(resources: Resources) -> AdminService:
    stores = resources.stores
    return AdminService(stores.registry, stores.credentials, resources.command_log, stores.clock)


AREA: Final = Area(
    routes=(
        create_tenant,
        list_tenants,
        rotate_operator_token,
        set_bank_key,
        remove_bank_key,
        create_program,
        change_program,
        set_account_owner,
        rotate_ingest_secret,
        *TOKEN_ROUTES,
    ),
    provide={"admin": _admin},
)
