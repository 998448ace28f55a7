"""Operator tokens that are issued to persons: the name on the record is then proved, not claimed."""

from functools import partial
from typing import Final

from litestar import delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.admin.schemas import NewPersonToken, OperatorToken, OperatorTokenCreated, expiry_exists
from clearhold.api.admin.service import AdminService
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, effect_id_of, principal_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.features.core.errors import ErrorCode

_PATH: Final = "/api/admin/tenants/{tenant_id:str}/operator-tokens"
_operation: Final = partial(Operation, tag="administration", access=Access.ADMIN)

_ISSUE: Final = _operation(
    id="issueOperatorToken",
    summary="An operator token for one person of the bank, under which X-Operator is that person. It is in this answer "
    "alone.",
    answers={201: OperatorTokenCreated},
    body=RequestSchema(NewPersonToken, rules=expiry_exists),
    shown_once=("token",),
    refusals=(ErrorCode.TENANT_NOT_FOUND, ErrorCode.TOO_MANY_KEYS),
)
_LIST: Final = _operation(
    id="listOperatorTokens",
    summary="The tokens of a bank's persons, newest first, revoked and expired ones too.",
    answers={200: tuple[OperatorToken, ...]},
    refusals=(ErrorCode.TENANT_NOT_FOUND,),
)
_REVOKE: Final = _operation(
    id="revokeOperatorToken",
    summary="Revokes a person's token from the next request on.",
    answers={200: OperatorToken},
    refusals=(ErrorCode.TENANT_NOT_FOUND, ErrorCode.TOKEN_NOT_FOUND),
)


@post(_PATH, opt=_ISSUE.as_opt)
async def issue_operator_token(
    tenant_id: FromPath[str], request: ApiRequest, admin: NamedDependency[AdminService]
) -> OperatorTokenCreated:
    return await admin.issue_person_token(
        principal_of(request.scope), tenant_id, body_of(request.scope, NewPersonToken), effect_id_of(request.scope)
    )


@get(_PATH, opt=_LIST.as_opt)
async def list_operator_tokens(
    tenant_id: FromPath[str], admin: NamedDependency[AdminService]
) -> tuple[OperatorToken, ...]:
    return admin.person_tokens(tenant_id)


@delete(_PATH + "/{token_id:str}", status_code=200, opt=_REVOKE.as_opt)
async def revoke_operator_token(
    tenant_id: FromPath[str], token_id: FromPath[str], request: ApiRequest, admin: NamedDependency[AdminService]
) -> OperatorToken:
    return await admin.revoke_person_token(principal_of(request.scope), tenant_id, token_id)


TOKEN_ROUTES: Final = (issue_operator_token, list_operator_tokens, revoke_operator_token)
