"""A tool's calls: requests to this same application, as the tool's caller could send them.

A tool therefore passes every check of the route and uses its service, with the same stored bytes. A request takes over
the bearer, X-Operator and the ids of request and trace.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from litestar.types import ASGIApp

from clearhold.api.http.envelope import request_id
from clearhold.api.http.operation import JSON
from clearhold.api.telemetry.requests import OBSERVED
from clearhold.features.core.errors import ErrorCode, RiskError
from clearhold.store.ids import TRACEPARENT

PASSED_ON: Final = frozenset({b"authorization", b"x-operator", TRACEPARENT.encode()})
_FIRST_REFUSAL: Final = 300


class Rest:
    """The routes of the application, for the caller of one request."""

    def __init__(self, scope: Any, *, traceparent: object = None) -> None:
        self._scope = scope
        self._app: ASGIApp = scope.get(OBSERVED) or scope["litestar_app"]
        self._headers = [(name, value) for name, value in scope["headers"] if name in PASSED_ON]
        self._headers += [(b"x-request-id", request_id(scope).encode()), (b"content-type", JSON.encode())]
        if isinstance(traceparent, str) and traceparent.isascii():
            sent = (TRACEPARENT.encode(), traceparent.encode())
            self._headers = [each for each in self._headers if each[0] != sent[0]] + [sent]

    async def get(self, path: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The object in the route's answer; None in the query leaves the parameter out."""
        given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        return await self._send("GET", path, urlencode(given).encode(), b"", [])

    async def post(self, path: str, body: bytes, *, key: str | None = None) -> dict[str, Any]:
        """As ``get``; ``key`` is the Idempotency-Key."""
        further = [] if key is None else [(b"idempotency-key", key.encode())]
        return await self._send("POST", path, b"", body, further)

    async def _send(
        self, method: str, path: str, query: bytes, body: bytes, further: list[tuple[bytes, bytes]]
    ) -> dict[str, Any]:
        scope = {name: self._scope.get(name) for name in ("type", "asgi", "http_version", "scheme", "client", "server")}
        scope |= {"method": method, "path": path, "raw_path": path.encode(), "query_string": query, "root_path": ""}
        scope |= {"headers": [*self._headers, *further], "extensions": {}}
        status, parts = 500, []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                parts.append(message.get("body", b""))

        await self._app(scope, receive, send)  # type: ignore[arg-type]  # a scope is a dictionary
        answer: dict[str, Any] = msgspec.json.decode(b"".join(parts))
        if status >= _FIRST_REFUSAL:
            raise RiskError(answer["error"], ErrorCode(answer["code"]))
        return answer


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
