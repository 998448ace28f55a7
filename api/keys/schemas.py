"""API keys over HTTP. The secret is shown once, at the creation of the key.

Errors  NotFoundError for a key or program that is not this tenant's
"""

from typing import Annotated
from uuid import UUID

import msgspec
import structlog
from msgspec import structs

from clearhold.api.http.fields import Name
from clearhold.api.lists.lists import instant_text, to_answer
from clearhold.features.core.principal import KeyMode, KeyScope, Principal
from clearhold.features.core.vocabulary import about
from clearhold.store.control.credential_registry import CredentialRegistry
from clearhold.store.control.credentials import ApiKeys, KeyUsage, StoredKey

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


def to_api_key(key: StoredKey, last_used_at: int | None) -> ApiKey:
    return to_answer(key.entry, ApiKey, last_used_at=instant_text(last_used_at), revoked_at=key.revoked_at)


log = structlog.get_logger()


class KeyService:
    def __init__(self, credentials: CredentialRegistry, keys: ApiKeys, usage: KeyUsage) -> None:
        self._credentials, self._keys, self._usage = credentials, keys, usage

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

    def list(self, principal: Principal) -> tuple[ApiKey, ...]:
        """Newest first, revoked keys too."""
        return tuple(map(self._api_key, self._keys.of_tenant(principal.tenant_id)))

    async def revoke(self, principal: Principal, key_id: str) -> ApiKey:
        """The key is refused from now on. A repeat changes nothing."""
        key = await self._credentials.revoke_key(principal, key_id)
        log.info("api_key_revoked", tenant_id=principal.tenant_id, key_id=key.entry.id, operator=principal.operator)
        return self._api_key(key)

    def _api_key(self, key: StoredKey) -> ApiKey:
        return to_api_key(key, self._usage.last_used_at(key.entry.id))
