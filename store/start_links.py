"""Links that sign in once: codes in Redis under their digest, each with the person and the credential of its session.

Errors  ``UnavailableError`` when Redis does not answer
"""

from typing import Final

import msgspec
import redis.asyncio

from clearhold.store.ids import new_token
from clearhold.store.keys import token_digest
from clearhold.store.redis_answers import answered
from clearhold.store.sessions import SignedInBy

LASTS_S: Final = 3_600
_PREFIX: Final = "console:start:"
_UNAVAILABLE: Final = "The link cannot be read right now; it was not used. Try again."


class SessionStart(msgspec.Struct, frozen=True, array_like=True):
    """The session that a link begins; fields are those of ``Session``."""

    tenant_id: str
    name: str
    signed_in_by: SignedInBy
    credential: str
    reads_only: bool = False
    account: str = ""
    provider_session: str = ""


class StartLinks:
    """Belongs to the API's event loop."""

    def __init__(self, client: redis.asyncio.Redis) -> None:
        self._client = client

    async def create(self, start: SessionStart) -> str:
        """The code of a new link, which is valid once and for ``LASTS_S`` seconds."""
        code = new_token("")
        stored = msgspec.msgpack.encode(start)
        await answered(self._client.set(_PREFIX + token_digest(code), stored, ex=LASTS_S), _UNAVAILABLE)
        return code

    async def take(self, code: str) -> SessionStart | None:
        """The session to begin; None when the link was used or is too old. It is used up by this."""
        stored = await answered(self._client.getdel(_PREFIX + token_digest(code)), _UNAVAILABLE)
        return None if stored is None else msgspec.msgpack.decode(stored, type=SessionStart)
