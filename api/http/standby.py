"""The answer of a node that does not own the log: a 503 that names the owner, for every route but those of operations.

A browser that opens a page of the console gets a page with a link to the owner, all others JSON.

The check is before all others, and outside of the API and the console: a standby knows no rates, no presence and no
newest state, so it judges no request.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from clearhold.api.html.page import Page
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
_CONSOLE: Final = "/console"
_HTML: Final = b"text/html"
OPEN_PATHS: Final = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs"})


class StandbyEnvelope(ErrorEnvelope, frozen=True, kw_only=True, rename="camel"):
    """The refusal of a node that stands by."""

    owner: Annotated[str | None, about("The address of the node that owns the log; null while none is known.")]


class StandbyGate:
    """In front of the whole application. ``may_answer`` is true for the owner of the log; ``owner_url`` is the owner's
    address, as far as this node knows it. ``page_of`` makes the page for browsers, of the owner's address and of that
    of the same page there.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        may_answer: Callable[[], bool],
        owner_url: Callable[[], str | None],
        page_of: Callable[[str, str], Page],
        passes_on: bool = False,
    ) -> None:
        """``passes_on``: a standby answers with the owner's answer."""
        self._app, self._may_answer, self._owner_url, self._page_of = app, may_answer, owner_url, page_of
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
        if owner is not None and _is_for_a_browser(scope):
            page = self._page_of(owner, _location(owner, scope))
            head = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": page.policy}
            await _send(scope, send, ERRORS[code].status, head | {OWNER_LOCATION: _location(owner, scope)}, page.body)
            return
        await _refuse(scope, send, code, owner)


def _is_for_a_browser(scope: Any) -> bool:
    """Whether a browser opens a page of the console."""
    is_page = scope["path"] == _CONSOLE or scope["path"].startswith(f"{_CONSOLE}/")
    return is_page and scope["method"] == "GET" and any(_HTML in each for each in header_values(scope, b"accept"))


def _location(owner: str, scope: Any) -> str:
    """The owner's address for the request."""
    query = scope["query_string"].decode("latin-1")
    return f"{owner}{scope['raw_path'].decode('latin-1')}{'?' if query else ''}{query}"


async def _refuse(scope: Any, send: Send, code: ErrorCode, owner: str | None) -> None:
    sentence = STANDS_BY if code is ErrorCode.STANDBY else UNCERTAIN if owner is None else UNREACHED
    envelope = StandbyEnvelope(error=sentence, code=code, request_id=request_id(scope), owner=owner)
    body, status = msgspec.json.encode(envelope), ERRORS[code].status
    headers = {"Content-Type": "application/json"}
    if owner is not None:
        headers[OWNER_LOCATION] = _location(owner, scope)
    await _send(scope, send, status, headers, body)


async def _send(scope: Any, send: Send, status: int, headers: Mapping[str, str], body: bytes) -> None:
    headers = {**headers, "Content-Length": str(len(body)), **HEADERS_OF_STATUS[status]}
    start: Any = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
    }
    await stamp_headers(start, scope)
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})
