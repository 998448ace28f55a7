"""API keys. Only the tenant's operators manage them: a key never creates keys.

A secret is shown once, at the creation of its key.

Errors  NotFoundError for a key or program that is not this tenant's
"""

from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
import structlog
from litestar import delete
from msgspec import structs

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import Name
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, write_route
from clearhold.api.lists.lists import instant_text, to_answer
from clearhold.api.programs.routes import PROGRAM_ID
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyMode, KeyScope, Principal
from clearhold.features.core.vocabulary import about
from clearhold.store.control.credentials import StoredKey

_TAG: Final = "keys"
log = structlog.get_logger()

Scopes = Annotated[
    tuple[KeyScope, ...], msgspec.Meta(max_length=len(KeyScope), extra_json_schema={"uniqueItems": True})
]


class NewKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` null: every program of the mode. Without ``scopes`` a key may do all that its mode allows."""

    name: Name
    mode: KeyMode
    program_id: Annotated[UUID | None, about("The key's one program; left out or null: every program of its mode.")] = (
        None
    )
    scopes: Scopes = ()


class ApiKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: Annotated[str, about("The key's id, minted here; not its secret.")]
    name: str
    mode: KeyMode
    prefix: Annotated[str, about("Beginning of the secret, to tell keys apart.")]
    program_id: Annotated[str | None, about("The one program that the key may touch; null: every program of its mode.")]
    scopes: tuple[KeyScope, ...]
    last_used_at: Annotated[str | None, about("When it last called; null when never, or not since it was counted.")]
    revoked_at: Annotated[str | None, about("When it was revoked; null while it is valid.")]
    created_at: str


class ApiKeyCreated(ApiKey, frozen=True, kw_only=True, rename="camel"):
    """``secret`` is null in the answer to a repeat: only its sha256 is stored."""

    secret: str | None


class KeyService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._credentials, self._keys = stores.credentials, stores.registry.tenancy.keys
        self._usage = stores.key_usage

    async def create(self, principal: Principal, request: NewKey, effect_id: str | None) -> ApiKeyCreated:
        key, secret = await self._credentials.create_key(
            principal,
            name=request.name,
            mode=request.mode,
            program_id=None if request.program_id is None else str(request.program_id),
            scopes=request.scopes,
            effect_id=effect_id,
        )
        log.info("api_key_created", tenant_id=principal.tenant_id, key_id=key.entry.id, operator=principal.operator)
        return ApiKeyCreated(**structs.asdict(self._api_key(key)), secret=secret)

    async def list(self, principal: Principal) -> tuple[ApiKey, ...]:
        """Newest first, revoked keys too."""
        return tuple(map(self._api_key, self._keys.of_tenant(principal.tenant_id)))

    async def revoke(self, principal: Principal, key_id: str) -> ApiKey:
        """The key is refused from now on. A repeat changes nothing."""
        key = await self._credentials.revoke_key(principal, key_id)
        log.info("api_key_revoked", tenant_id=principal.tenant_id, key_id=key.entry.id, operator=principal.operator)
        return self._api_key(key)

    def _api_key(self, key: StoredKey) -> ApiKey:
        used_at = instant_text(self._usage.last_used_at(key.entry.id))
        return to_answer(key.entry, ApiKey, last_used_at=used_at, revoked_at=key.revoked_at)


KEY: Final[dict[str, Any]] = examples_of(__file__)["key"]


_by_operator: Final = partial(Operation, tag=_TAG, access=Access.OPERATOR)

_CREATE: Final = _by_operator(
    id="createKey",
    summary="Creates an API key. Only this answer has its secret.",
    answers={201: ApiKeyCreated},
    refusals=(ErrorCode.TOO_MANY_KEYS,),
    body=RequestSchema(NewKey),
    example={"name": "payroll originations", "mode": "live", "programId": PROGRAM_ID, "scopes": ["preflight"]},
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


AREA: Final = Area(
    routes=(
        write_route("/api/keys", _CREATE, _TAG, KeyService.create),
        answer_route("/api/keys", _LIST, _TAG, KeyService.list),
        write_route("/api/keys/{key_id:str}", _REVOKE, _TAG, KeyService.revoke, delete),
    ),
    provide={_TAG: KeyService},
)
