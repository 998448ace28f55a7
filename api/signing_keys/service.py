"""Signing keys: replaced in steps, or at once when one is compromised.

Errors  NotFoundError for an unknown kid; ConflictError while a new key of the purpose is announced
"""

import structlog
from anyio import to_thread

from clearhold.api.signing_keys.schemas import NewSigningKey, SigningKeyState, to_signing_key
from clearhold.features.core.principal import Principal
from clearhold.store.keys.key_schedule import KeyState
from clearhold.store.keys.signing_keys import SigningKeys

log = structlog.get_logger()


class SigningKeyService:
    def __init__(self, signing_keys: SigningKeys) -> None:
        self._keys = signing_keys

    def list(self) -> tuple[SigningKeyState, ...]:
        """Every past and present key, newest first."""
        return tuple(to_signing_key(key, state) for key, state in self._keys.states())

    async def announce(self, principal: Principal, request: NewSigningKey) -> SigningKeyState:
        key = await to_thread.run_sync(self._keys.announce, request.purpose)
        log.info("signing_key_announced", kid=key.kid, purpose=key.purpose, operator=principal.operator)
        return to_signing_key(key, KeyState.ANNOUNCED)

    async def remove(self, principal: Principal, kid: str) -> SigningKeyState:
        key = await to_thread.run_sync(self._keys.remove, kid)
        log.warning("signing_key_removed", kid=key.kid, purpose=key.purpose, operator=principal.operator)
        return to_signing_key(key, KeyState.REMOVED)
