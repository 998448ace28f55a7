"""Fast routes: busy routes that are answered by their middleware.

Routing, the gate, the error handler and the headers are the usual ones. Litestar's handler and response objects, a
third to a half of the cost of a short request, are left out. The route's handler only names it.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Generic, NoReturn, TypeVar

from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

JsonAnswer = tuple[int, bytes, list[tuple[bytes, bytes]]]
"""Status, body, further headers."""

SERVICES: Final = "services"
"""The key of the services by name in the application's state."""

Service = TypeVar("Service")


class FastRoute(ASGIMiddleware, Generic[Service]):
    """Answers for its route; ``answer`` gets the service of that name and the scope."""

    scopes = (ScopeType.HTTP,)

    def __init__(self, service: str, answer: Callable[[Service, Scope], Awaitable[JsonAnswer]]) -> None:
        self._service, self._answer = service, answer

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:  # noqa: ARG002
        service: Service = scope["litestar_app"].state[SERVICES][self._service]
        status, body, further = await self._answer(service, scope)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *further]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})


def answered_by_middleware() -> NoReturn:
    """The handler of a fast route, which no request reaches while the middleware is in place."""
    raise RuntimeError("This route is answered by its middleware.")
