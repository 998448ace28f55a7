"""The parts of every answer: the request id, the interface version, the security headers, and errors in one form.

The headers are set in the ``before_send`` hook, which also runs for routing 404s, 405s and 500s. An error is
``{error, code, requestId}``, and ``fields`` on a 400. Every refusal of the service is a RiskError whose sentence is
safe to show, with the status that its code has in the table of errors; errors of the framework become RiskErrors.

Routes note in the scope what the status does not show, for the metrics.
"""

import errno
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple

import duckdb
import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.status_codes import HTTP_400_BAD_REQUEST, HTTP_500_INTERNAL_SERVER_ERROR
from litestar.types import Message, Scope
from msgspec import UNSET, UnsetType

from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.limits import rate_headers
from clearhold.features.core.errors import ErrorCode, FieldError, RiskError, UnavailableError
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
    """Every answer with a status of 400 or above."""

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


_NOTES: Final = "clearhold.notes"


class Outcome(StrEnum):
    """A detail that the status does not show, at most one for each request."""

    NONE = ""
    DEGRADED = "degraded"  # a pre-flight with missing or stale inputs
    DUPLICATE = "duplicate"  # an event that was in the log already
    BEHIND = "behind"  # events of a program that has too many waiting
    REPLAYED = "replayed"  # the stored answer to an Idempotency-Key
    CONFLICT = "conflict"  # an Idempotency-Key with another body, or one whose first request is still running


class EventCounts(NamedTuple):
    """How many events of a batch there were of each kind."""

    accepted: int
    duplicate: int
    refused_invalid: int


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """``events`` are those of a batch; ``verdict`` is the result of a proof's verification, one of a closed set."""

    outcome: Outcome = Outcome.NONE
    events: EventCounts | None = None
    verdict: str | None = None


_NO_NOTES: Final = Notes()


def note(scope: Any, **notes: Outcome | EventCounts | str) -> None:
    """Note these fields of ``Notes`` for the metrics of the request."""
    scope[_NOTES] = msgspec.structs.replace(notes_of(scope), **notes)


def notes_of(scope: Any) -> Notes:
    notes: Notes = scope.get(_NOTES, _NO_NOTES)
    return notes


INTERNAL: Final = RiskError("Internal error.", ErrorCode.INTERNAL_ERROR)

_AT_ONCE: Final = {"Retry-After": "1"}
HEADERS_OF_STATUS: Final[Mapping[int, Mapping[str, str]]] = {
    401: {"WWW-Authenticate": "Bearer"},
    429: _AT_ONCE,
    503: _AT_ONCE,
}
NO_FILES: Final = "The service has too many files open. Try again."
NO_DISK: Final = "The service cannot write to its disk right now. Try again."
NO_DATABASE: Final = "The database of the service cannot answer right now. Try again."

_NO_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})
_NO_DATABASE: Final = (duckdb.OperationalError, duckdb.FatalException)
_NO_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
_HEADERS_OF_CODE: Final[Mapping[ErrorCode, Mapping[str, str]]] = {
    ErrorCode.IDEMPOTENCY_IN_FLIGHT: _AT_ONCE,
    ErrorCode.REQUEST_TOO_SLOW: {"Connection": "close"},  # The rest of the body may still come.
}
_FRAMEWORK: Final[Mapping[int, RiskError]] = {
    400: RiskError("The request is malformed.", ErrorCode.VALIDATION_FAILED),
    404: RiskError("There is no resource at this path. The page /docs lists every path.", ErrorCode.PATH_NOT_FOUND),
    405: RiskError("This path does not take this method.", ErrorCode.METHOD_NOT_ALLOWED),
    413: RiskError("The request body is too large.", ErrorCode.BODY_TOO_LARGE),
    415: RiskError("The request body must be application/json.", ErrorCode.MEDIA_TYPE_UNSUPPORTED),
}

log: Final = structlog.get_logger()


def render_error(request: ApiRequest, exc: Exception) -> Response[ErrorEnvelope]:
    """Answer any failure; the application's only exception handler."""
    refusal = refusal_of(exc)
    status = ERRORS[refusal.code].status
    if refusal is INTERNAL:
        log.error("request_failed", request_id=request_id(request.scope), status=status, exc_info=exc)
    elif status >= HTTP_500_INTERNAL_SERVER_ERROR and notes_of(request.scope).outcome is not Outcome.BEHIND:  # a flood
        cause = None if refusal is exc else exc
        log.warning("request_unavailable", request_id=request_id(request.scope), reason=str(refusal), exc_info=cause)
    headers = {**HEADERS_OF_STATUS.get(status, {}), **_HEADERS_OF_CODE.get(refusal.code, {})}
    allowed = _allowed(exc)
    sentence = str(refusal)
    if allowed:
        headers["Allow"] = allowed
        sentence = f"{sentence} It takes {allowed}."
    envelope = ErrorEnvelope(
        error=sentence,
        code=refusal.code,
        request_id=request_id(request.scope),
        fields=refusal.fields if status == HTTP_400_BAD_REQUEST else UNSET,
    )
    return Response(envelope, status_code=status, headers=headers, media_type="application/json")


def refusal_of(exc: Exception) -> RiskError:
    """Any exception as a refusal; an unexpected one is a 500 without details."""
    if isinstance(exc, RiskError):
        return exc
    if isinstance(exc, OSError) and exc.errno in _NO_FILES:
        return UnavailableError(NO_FILES, ErrorCode.OVERLOADED)
    if isinstance(exc, OSError) and exc.errno in _NO_DISK:
        return UnavailableError(NO_DISK)
    if isinstance(exc, _NO_DATABASE):
        return UnavailableError(NO_DATABASE)
    return _FRAMEWORK.get(exc.status_code, INTERNAL) if isinstance(exc, HTTPException) else INTERNAL


def retry_headers(refusal: RiskError) -> dict[str, str]:
    """When the same request can succeed, for a refusal that says so."""
    status = ERRORS[refusal.code].status
    known = {**HEADERS_OF_STATUS.get(status, {}), **_HEADERS_OF_CODE.get(refusal.code, {})}
    return {name: value for name, value in known.items() if name == "Retry-After"}


def status_of(exc: Exception) -> int:
    return ERRORS[refusal_of(exc).code].status


def _allowed(exc: Exception) -> str | None:
    """The allowed methods of a path, from the framework's 405."""
    headers = exc.headers if isinstance(exc, HTTPException) and exc.headers else {}
    return next((value for name, value in headers.items() if name.lower() == "allow"), None)
