"""API keys. Only the tenant's operators manage them: a key never creates keys."""

from functools import partial
from typing import Any, Final

from litestar import delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, effect_id_of, principal_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.keys.schemas import ApiKey, ApiKeyCreated, KeyService, NewKey
from clearhold.api.programs.examples import PROGRAM_ID
from clearhold.features.core.errors import ErrorCode

KEY: Final[dict[str, Any]] = {
    "id": "5f0c2d1e-6c4e-4a7b-9a53-0d5f3a1f8a11",
    "name": "payroll originations",
    "mode": "live",
    "prefix": "live_7Hq2mXc",
    "programId": PROGRAM_ID,
    "scopes": ["preflight"],
    "lastUsedAt": None,
    "revokedAt": None,
    "createdAt": "2026-03-02T15:04:05.000Z",
}
NEW_KEY: Final = {"name": "payroll originations", "mode": "live", "programId": PROGRAM_ID, "scopes": ["preflight"]}


_by_operator: Final = partial(Operation, tag="keys", access=Access.OPERATOR)

_CREATE: Final = _by_operator(
    id="createKey",
    summary="Creates an API key. Only this answer has its secret.",
    answers={201: ApiKeyCreated},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.TOO_MANY_KEYS),
    body=RequestSchema(NewKey),
    example=NEW_KEY,
    answer_example=KEY | {"secret": "live_7Hq2mXcShownOnceAndNeverAgain0123456789abcde"},
    shown_once=("secret",),
)
_LIST: Final = _by_operator(
    id="listKeys",
    summary="The tenant's API keys, newest first, revoked ones too.",
    answers={200: tuple[ApiKey, ...]},
    answer_example=[KEY],
)
_REVOKE: Final = _by_operator(
    id="revokeKey",
    summary="Revokes an API key, from the next request on.",
    answers={200: ApiKey},
    refusals=(ErrorCode.KEY_NOT_FOUND,),
    answer_example=KEY | {"revokedAt": "2026-03-09T09:00:00.000Z"},
)


@post("/api/keys", opt=_CREATE.as_opt)
async def create_key(request: ApiRequest, keys: NamedDependency[KeyService]) -> ApiKeyCreated:
    return await keys.create(principal_of(request.scope), body_of(request.scope, NewKey), effect_id_of(request.scope))


@get("/api/keys", opt=_LIST.as_opt)
async def list_keys(request: ApiRequest, keys: NamedDependency[KeyService]) -> tuple[ApiKey, ...]:
    return keys.list(principal_of(request.scope))


@delete("/api/keys/{key_id:str}", status_code=200, opt=_REVOKE.as_opt)
async def revoke_key(key_id: FromPath[str], request: ApiRequest, keys: NamedDependency[KeyService]) -> ApiKey:
    return await keys.revoke(principal_of(request.scope), key_id)


def _keys(resources: Resources) -> KeyService:
    stores = resources.stores
    return KeyService(stores.credentials, stores.registry.tenancy.keys, stores.key_usage)


AREA: Final = Area(
    routes=(create_key, list_keys, revoke_key),
    provide={"keys": _keys},
)
