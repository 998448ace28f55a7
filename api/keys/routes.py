"""API keys. Only the tenant's operators manage them: a key never creates keys."""

from typing import Any, Final

from litestar import Request, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from api.gate import body_of, effect_id_of, principal_of
from api.keys.schemas import ApiKey, ApiKeyCreated, NewKey
from api.keys.service import KeyService
from api.operation import Access, Operation
from api.shapes import Shape

_TAG: Final = "keys"
_KEY: Final[dict[str, Any]] = {
    "id": "5f0c2d1e-6c4e-4a7b-9a53-0d5f3a1f8a11",
    "name": "payroll originations",
    "mode": "live",
    "prefix": "live_7Hq2mXc",
    "programId": "0b9f6f0e-3f0a-4a43-8f2f-5a4f3d0c7a10",
    "scopes": ["preflight"],
    "lastUsedAt": None,
    "revokedAt": None,
    "createdAt": "2026-03-02T15:04:05.000Z",
}

_CREATE: Final = Operation(
    id="createKey",
    tag=_TAG,
    summary="Makes an API key. Its secret is in this answer and nowhere else.",
    access=Access.OPERATOR,
    answers={201: ApiKeyCreated, 404: None},
    body=Shape(NewKey),
    example={"name": "payroll originations", "mode": "live", "programId": _KEY["programId"], "scopes": ["preflight"]},
    answer_example=_KEY | {"secret": "live_7Hq2mXcShownOnceAndNeverAgain0123456789abcde"},
    shown_once=("secret",),
)
_LIST: Final = Operation(
    id="listKeys",
    tag=_TAG,
    summary="The tenant's API keys, newest first, revoked ones too.",
    access=Access.OPERATOR,
    answers={200: tuple[ApiKey, ...]},
    answer_example=[_KEY],
)
_REVOKE: Final = Operation(
    id="revokeKey",
    tag=_TAG,
    summary="Revokes an API key, from the next request on.",
    access=Access.OPERATOR,
    answers={200: ApiKey, 404: None},
    answer_example=_KEY | {"revokedAt": "2026-03-09T09:00:00.000Z"},
)


@post("/api/keys", opt=_CREATE.as_opt)
async def create_key(request: Request[Any, Any, Any], keys: NamedDependency[KeyService]) -> ApiKeyCreated:
    return await keys.create(principal_of(request.scope), body_of(request.scope, NewKey), effect_id_of(request.scope))


@get("/api/keys", opt=_LIST.as_opt)
async def list_keys(request: Request[Any, Any, Any], keys: NamedDependency[KeyService]) -> tuple[ApiKey, ...]:
    return keys.list(principal_of(request.scope))


@delete("/api/keys/{key_id:str}", status_code=200, opt=_REVOKE.as_opt)
async def revoke_key(
    key_id: FromPath[str], request: Request[Any, Any, Any], keys: NamedDependency[KeyService]
) -> ApiKey:
    return await keys.revoke(principal_of(request.scope), key_id)


ROUTES: Final = (create_key, list_keys, revoke_key)
