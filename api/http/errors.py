"""Errors over HTTP, in one form: ``{error, code, requestId}``, and ``fields`` on a 400.

Every refusal of the service is a RiskError whose sentence is safe to show, with the status that its code has in the
table of errors. Errors of the framework become RiskErrors, so that their form never leaves the service.
"""

import errno
from collections.abc import Mapping
from typing import Final

import structlog
from litestar import Response
from litestar.exceptions import HTTPException
from litestar.status_codes import HTTP_400_BAD_REQUEST, HTTP_500_INTERNAL_SERVER_ERROR
from msgspec import UNSET

from clearhold.api.http.envelope import ApiRequest, ErrorEnvelope, request_id
from clearhold.api.http.error_table import ERRORS
from clearhold.features.core.errors import ErrorCode, RiskError, UnavailableError

INTERNAL: Final = RiskError("Internal error.", ErrorCode.INTERNAL_ERROR)

_AT_ONCE: Final = {"Retry-After": "1"}
_HEADERS_OF_STATUS: Final[Mapping[int, Mapping[str, str]]] = {
    401: {"WWW-Authenticate": "Bearer"},
    429: _AT_ONCE,
    503: _AT_ONCE,
}
NO_FILES: Final = "The service has too many files open. Try again."

_NO_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})
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
    elif status >= HTTP_500_INTERNAL_SERVER_ERROR:
        log.warning("request_unavailable", request_id=request_id(request.scope), reason=str(refusal))
    headers = {**_HEADERS_OF_STATUS.get(status, {}), **_HEADERS_OF_CODE.get(refusal.code, {})}
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
    return _FRAMEWORK.get(exc.status_code, INTERNAL) if isinstance(exc, HTTPException) else INTERNAL


def status_of(exc: Exception) -> int:
    return ERRORS[refusal_of(exc).code].status


def _allowed(exc: Exception) -> str | None:
    """The allowed methods of a path, from the framework's 405."""
    headers = exc.headers if isinstance(exc, HTTPException) and exc.headers else {}
    return next((value for name, value in headers.items() if name.lower() == "allow"), None)
