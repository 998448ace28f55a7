"""Answering a busy route from its middleware.

Routing, the gate, the error handler and the headers are those of every route; Litestar's handler and response objects,
a third to a half of the cost of a short request, are left out. The route's handler only names it.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

JsonAnswer = tuple[int, bytes, list[tuple[bytes, bytes]]]
"""Status, body, further headers."""

SERVICES: Final = "services"
"""Where the application's state holds what its routes call."""


class FastRoute(ASGIMiddleware):
    """Answers for the route it stands before; ``answer`` gets the application's services and the scope."""

    scopes = (ScopeType.HTTP,)

    def __init__(self, answer: Callable[[Any, Any], Awaitable[JsonAnswer]]) -> None:
        self._answer = answer

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:  # noqa: ARG002
        status, body, further = await self._answer(scope["litestar_app"].state[SERVICES], scope)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *further]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})
