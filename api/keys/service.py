"""API keys: a program or an integration calls with its key instead of the operator token.

Errors  NotFoundError for a key or program that is not this tenant's
"""

import structlog
from msgspec import structs

from clearhold.api.keys.schemas import ApiKey, ApiKeyCreated, NewKey, to_api_key
from clearhold.features.core.principal import Principal
from clearhold.store.control.credential_registry import CredentialRegistry
from clearhold.store.control.key_usage import KeyUsage
from clearhold.store.control.keys import ApiKeys, StoredKey

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
