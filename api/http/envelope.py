"""The parts of every answer: the request id, the interface version and the security headers.

The headers are set in the ``before_send`` hook, which also runs for routing 404s, 405s and 500s.
"""

import re
from typing import Annotated, Any, Final

import msgspec
from litestar import Request
from litestar.types import Message, Scope
from msgspec import UNSET, UnsetType

from clearhold.api.http.rate_limits import rate_headers
from clearhold.features.core.errors import ErrorCode, FieldError
from clearhold.features.core.vocabulary import about
from clearhold.store.ids import new_id

INTERFACE_VERSION: Final = "2026-09-17"
CONTENT_SECURITY_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"

_REQUEST_ID_KEY: Final = "clearhold.request_id"
_CALLERS_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_WHITE_SPACE: Final = b" \t"
_START: Final = "http.response.start"
_STAMPS: Final = (
    (b"score-version", INTERFACE_VERSION.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
_DEFAULTS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
)


ApiRequest = Request[Any, Any, Any]
"""A request for handlers: the gate has read its body and its principal (``api/http/gate.py``)."""


class ErrorEnvelope(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Every answer that is not a 2xx or a 304."""

    error: Annotated[str, about("The cause and the cure, in one sentence or two, for people.")]
    code: Annotated[ErrorCode, about("The cause, for programs.")]
    request_id: Annotated[str, about("The request's id, as in the header X-Request-Id; the service's log has it too.")]
    fields: Annotated[
        tuple[FieldError, ...] | UnsetType,
        about("On a 400, the parts of the request that break a rule; empty when none does."),
    ] = UNSET  # of a 400


def header_values(scope: Any, name: bytes) -> list[bytes]:
    """All values of a header, in the order they were sent; ``name`` in lower case.

    The white space around a value is no part of it (RFC 9110, 5.5), and a proxy may add or remove it.
    """
    return [value.strip(_WHITE_SPACE) for key, value in scope["headers"] if key == name]


def request_id(scope: Any) -> str:
    """The caller's X-Request-Id when it is well formed, else one minted once for this request."""
    known: str | None = scope.get(_REQUEST_ID_KEY)
    if known is None:
        sent = header_values(scope, b"x-request-id")
        known = sent[0].decode("ascii") if len(sent) == 1 and _CALLERS_ID.fullmatch(sent[0]) else new_id()
        scope[_REQUEST_ID_KEY] = known
    return known


async def stamp_headers(message: Message, scope: Scope) -> None:
    """Litestar's before_send hook."""
    if message["type"] != _START:
        return
    present = {name.lower() for name, _ in message["headers"]}
    defaults = [stamp for stamp in _DEFAULTS if stamp[0] not in present]
    message["headers"] = [
        *message["headers"],
        (b"x-request-id", request_id(scope).encode()),
        *_STAMPS,
        *defaults,
        *rate_headers(scope),
    ]
