"""Sign-ins by the bank's OpenID provider: the ones that have begun, and the grants of sessions. In Redis, sealed.

A begun sign-in is under the digest of its ``state``, is valid for ``LASTS_S`` and is used up by its first end. It is
bound to a browser by the digest of a secret that only that browser has. A grant is under the id of its session.

Errors  ``UnavailableError`` when Redis does not answer
"""

from collections.abc import Awaitable
from typing import Any, Final

import msgspec
import redis.asyncio

from clearhold.features.core.instants import SECOND_US
from clearhold.features.openid.answers import OpenIdGrant
from clearhold.store.clock import Clock
from clearhold.store.ids import new_token
from clearhold.store.keys import SecretBox, UnsealError, token_digest
from clearhold.store.redis_answers import answered
from clearhold.store.sessions import GRANT, Session

LASTS_S: Final = 600
_LOGIN: Final = "console:openid:"
_LOGOUT: Final = "console:openid_logout:"
_US_PER_MS: Final = 1_000
_UNAVAILABLE: Final = "The sign-in cannot be read right now; nothing was done. Try again."


class OpenIdLogin(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-in that has begun. ``browser`` is the digest of the browser's secret; ``wanted`` is the page to go on
    with, ``kept`` and ``action`` the form that a session's end interrupted. ``begun_at`` is in microseconds.
    """

    browser: str
    nonce: str
    verifier: str
    begun_at: int
    wanted: str = ""
    kept: str = ""
    action: str = ""


class KeptGrant(msgspec.Struct, frozen=True, kw_only=True):
    """``checked_at`` is when the provider last confirmed the person, ``tried_at`` when it was last asked."""

    grant: OpenIdGrant
    checked_at: int
    tried_at: int


class OpenIdLogins:
    """Belongs to the API's event loop."""

    def __init__(self, client: redis.asyncio.Redis, box: SecretBox, clock: Clock) -> None:
        self._client, self._box, self._clock = client, box, clock

    async def begin(self, login: OpenIdLogin) -> str:
        """The ``state`` of a sign-in that begins."""
        state = new_token("")
        sealed = self._box.seal_bytes(msgspec.msgpack.encode(login))
        await _answered(self._client.set(_LOGIN + token_digest(state), sealed, ex=LASTS_S))
        return state

    async def take(self, state: str, browser: str) -> OpenIdLogin | None:
        """The sign-in of this state and browser secret, once; None when it ended, is too old or of another browser."""
        sealed = await _answered(self._client.getdel(_LOGIN + token_digest(state)))
        opened = None if sealed is None else self._opened(sealed)
        if opened is None:
            return None
        login = msgspec.msgpack.decode(opened, type=OpenIdLogin)
        is_young = self._clock.now() - login.begun_at < LASTS_S * SECOND_US
        return login if is_young and login.browser == token_digest(browser) else None

    async def was_taken(self, token_id: str) -> bool:
        """Whether a logout token of this id came before; it is noted for as long as such a token is valid."""
        key = _LOGOUT + token_digest(token_id)
        return not await _answered(self._client.set(key, b"", ex=2 * LASTS_S, nx=True))

    async def keep(self, session: Session, kept: KeptGrant, *, is_new: bool = False) -> None:
        """Until the session's last end; a grant that was removed meanwhile stays so."""
        lasts_ms = max(1, (session.last_end() - self._clock.now()) // _US_PER_MS)
        sealed = self._box.seal_bytes(msgspec.msgpack.encode(kept))
        await _answered(self._client.set(GRANT + session.id, sealed, px=lasts_ms, xx=not is_new))

    async def grant_of(self, session: Session) -> KeptGrant | None:
        sealed = await _answered(self._client.get(GRANT + session.id))
        opened = None if sealed is None else self._opened(sealed)
        return None if opened is None else msgspec.msgpack.decode(opened, type=KeptGrant)

    async def forget(self, session: Session) -> None:
        await _answered(self._client.delete(GRANT + session.id))

    def _opened(self, sealed: bytes) -> bytes | None:
        """None for a text of another master key: its person signs in again."""
        try:
            return self._box.open_bytes(sealed)
        except UnsealError:
            return None


async def _answered(step: Awaitable[Any]) -> Any:
    return await answered(step, _UNAVAILABLE)
