"""The answer of a node that does not own the log: a 503 that names the owner, for every route but those of operations.

The check is before all others, and outside of the API and the console: a standby knows no rates, no presence and no
newest state, so it judges no request.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from clearhold.api.http.envelope import HEADERS_OF_STATUS, ErrorEnvelope, header_values, request_id, stamp_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.owner_proxy import HOP, OwnerProxy
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.vocabulary import about

OWNER_LOCATION: Final = "Owner-Location"
"""The header that names the owner's address for this request."""

STANDS_BY: Final = "This node stands by: another node owns the log and answers requests. Nothing was stored."
UNCERTAIN: Final = "It is not certain that this node still owns the log. Nothing was stored; try again."
UNREACHED: Final = "The node that owns the log did not answer. The request may have been stored; try again."
OPEN_PATHS: Final = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs"})


class StandbyEnvelope(ErrorEnvelope, frozen=True, kw_only=True, rename="camel"):
    """The refusal of a node that stands by."""

    owner: Annotated[str | None, about("The address of the node that owns the log; null while none is known.")]


class StandbyGate:
    """In front of the whole application. ``may_answer`` is true for the owner of the log; ``owner_url`` is the owner's
    address, as far as this node knows it.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        may_answer: Callable[[], bool],
        owner_url: Callable[[], str | None],
        passes_on: bool = False,
    ) -> None:
        """``passes_on``: a standby answers with the owner's answer."""
        self._app, self._may_answer, self._owner_url = app, may_answer, owner_url
        self._proxy = OwnerProxy() if passes_on else None
        self.under_way = 0
        """Requests that are being answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or self._may_answer() or scope["path"] in OPEN_PATHS:
            self.under_way += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self.under_way -= 1
            return
        owner = self._owner_url()
        if self._proxy is not None and owner is not None and not header_values(scope, HOP):
            if not await self._proxy.pass_on(scope, receive, send, owner):
                await _refuse(scope, send, ErrorCode.UNAVAILABLE, owner)
            return
        code = ErrorCode.UNAVAILABLE if owner is None else ErrorCode.STANDBY
        await _refuse(scope, send, code, owner)


async def _refuse(scope: Any, send: Send, code: ErrorCode, owner: str | None) -> None:
    sentence = STANDS_BY if code is ErrorCode.STANDBY else UNCERTAIN if owner is None else UNREACHED
    envelope = StandbyEnvelope(error=sentence, code=code, request_id=request_id(scope), owner=owner)
    body, status = msgspec.json.encode(envelope), ERRORS[code].status
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **HEADERS_OF_STATUS[status]}
    if owner is not None:
        query = scope["query_string"].decode("latin-1")
        headers[OWNER_LOCATION] = f"{owner}{scope['raw_path'].decode('latin-1')}{'?' if query else ''}{query}"
    start: Any = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
    }
    await stamp_headers(start, scope)
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})
