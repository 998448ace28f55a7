"""Errors over HTTP: the one table of statuses and the one rendering, ``{error, requestId}``.

Every refusal of the service is a RiskError whose sentence is safe to show. Errors of the framework are answered by
status with a sentence of this module, so that their own form never leaves the service.
"""

import errno
from collections.abc import Mapping
from typing import Final

import structlog
from litestar import Response
from litestar.exceptions import HTTPException
from litestar.status_codes import HTTP_500_INTERNAL_SERVER_ERROR, HTTP_503_SERVICE_UNAVAILABLE

from api.http.envelope import ApiRequest, ErrorEnvelope, request_id
from features.core.errors import (
    ConflictError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    RateLimitedError,
    RiskError,
    UnauthorizedError,
    UnavailableError,
)


class BodyTooLargeError(RiskError):
    """The body is longer than its route takes."""


class SlowBodyError(InvalidRequestError):
    """The body did not arrive in time; the connection is closed, because the rest may still come."""


class InFlightError(ConflictError):
    """The same request is being answered right now; it can be repeated a little later."""


class UnsupportedMediaTypeError(RiskError):
    """The media type of the body is not that of its route."""


STATUS_OF: Final[Mapping[type[RiskError], int]] = {
    InvalidRequestError: 400,
    UnauthorizedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    ConflictError: 409,
    BodyTooLargeError: 413,
    UnsupportedMediaTypeError: 415,
    RateLimitedError: 429,
    UnavailableError: 503,
}
HEADERS_OF: Final[Mapping[int, Mapping[str, str]]] = {
    401: {"WWW-Authenticate": "Bearer"},
    429: {"Retry-After": "1"},
    503: {"Retry-After": "1"},
}
INTERNAL: Final = "Internal error."
NO_FILES: Final = "The service has too many files open. Try again."

_NO_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})

_FRAMEWORK_SENTENCES: Final[Mapping[int, str]] = {
    400: "The request is malformed.",
    404: "There is no resource at this path.",
    405: "This path does not take this method.",
    413: "The request body is too large.",
    415: "The request body must be application/json.",
}

log: Final = structlog.get_logger()


def render_error(request: ApiRequest, exc: Exception) -> Response[ErrorEnvelope]:
    """Turn any failure into an answer. The only exception handler the app registers."""
    status, sentence = status_and_sentence(exc)
    if isinstance(exc, UnavailableError):
        log.warning("request_unavailable", request_id=request_id(request.scope), reason=sentence)
    elif status >= HTTP_500_INTERNAL_SERVER_ERROR:
        log.error("request_failed", request_id=request_id(request.scope), status=status, exc_info=exc)
    headers = dict(HEADERS_OF.get(status, {}))
    if isinstance(exc, InFlightError):
        headers["Retry-After"] = "1"
    if isinstance(exc, SlowBodyError):
        headers["Connection"] = "close"
    if isinstance(exc, HTTPException) and exc.headers:
        headers |= {name: value for name, value in exc.headers.items() if name.lower() == "allow"}
    envelope = ErrorEnvelope(error=sentence, request_id=request_id(request.scope))
    return Response(envelope, status_code=status, headers=headers, media_type="application/json")


def status_and_sentence(exc: Exception) -> tuple[int, str]:
    """The status and the sentence of any exception; an unexpected one is a 500 without details."""
    if isinstance(exc, RiskError):
        for kind in type(exc).__mro__:
            if kind in STATUS_OF:
                return STATUS_OF[kind], str(exc)
    if isinstance(exc, OSError) and exc.errno in _NO_FILES:
        return HTTP_503_SERVICE_UNAVAILABLE, NO_FILES
    if isinstance(exc, HTTPException) and exc.status_code in _FRAMEWORK_SENTENCES:
        return exc.status_code, _FRAMEWORK_SENTENCES[exc.status_code]
    return HTTP_500_INTERNAL_SERVER_ERROR, INTERNAL
