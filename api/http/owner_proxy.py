"""Passes a request that a standby gets on to the owner of the log: one hop, body and answer as they come.

The caller's headers stay, with the idempotency key, the deadline and the id of the request; those of the connection do
not. A request that was passed on before is not passed on again: two nodes may each take the other for the owner.

Unit    seconds
Errors  none: an owner that does not answer is a 503
"""

from collections.abc import AsyncIterator
from typing import Any, Final

import httpx
import structlog
from litestar.types import Receive, Send

HOP: Final = b"clearhold-passed-on"
"""The header of a request that a standby has passed on."""

CONNECT_WITHIN_S: Final = 2.0
ANSWER_WITHIN_S: Final = 60.0
MOST_CONNECTIONS: Final = 256
_OF_CONNECTION: Final = frozenset(
    {
        b"connection",
        b"host",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        HOP,
    }
)
_OF_ANSWER: Final = _OF_CONNECTION | {b"date"}  # the server of this node states its time

log = structlog.get_logger()


class OwnerProxy:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._http = httpx.AsyncClient(
            timeout=httpx.Timeout(ANSWER_WITHIN_S, connect=CONNECT_WITHIN_S),
            limits=httpx.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS),
            trust_env=False,
        )

    async def pass_on(self, scope: Any, receive: Receive, send: Send, owner: str) -> bool:
        """Answer with the owner's answer; False when the owner has not begun one, and nothing was sent."""
        headers = [(name, value) for name, value in scope["headers"] if name not in _OF_CONNECTION]
        has_body = any(name in {b"content-length", b"transfer-encoding"} for name, _ in scope["headers"])
        query = scope["query_string"].decode("latin-1")
        request = self._http.build_request(
            scope["method"],
            f"{owner}{scope['raw_path'].decode('latin-1')}{'?' if query else ''}{query}",
            headers=[*headers, (HOP, b"1")],
            content=_body(receive) if has_body else None,
        )
        try:
            answer = await self._http.send(request, stream=True)
        except (httpx.HTTPError, OSError) as error:
            log.warning("owner_not_reached", owner=owner, error=f"{type(error).__name__}: {error}")
            return False
        try:
            own = [(name.lower(), value) for name, value in answer.headers.raw if name.lower() not in _OF_ANSWER]
            await send({"type": "http.response.start", "status": answer.status_code, "headers": own})
            async for part in answer.aiter_raw():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await answer.aclose()
        return True


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise httpx.WriteError("The caller has left.")
        yield message["body"]
        if not message.get("more_body"):
            return
