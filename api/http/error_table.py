"""The one table of errors: for each code its status, its cause, and the caller's cure.

The gate and the handlers use it; the OpenAPI document and ``docs/errors.md`` are generated from it.
"""

from collections.abc import Mapping
from typing import Final

from clearhold.api.http.state_errors import STATE_ERRORS, TRY_AGAIN, ErrorEntry
from clearhold.features.core.errors import ErrorCode

_REQUEST_ERRORS: Final[Mapping[ErrorCode, ErrorEntry]] = {
    ErrorCode.VALIDATION_FAILED: ErrorEntry(
        400, "The body, a parameter or a header breaks a rule.", "Correct each of `fields`; `error` words the rules."
    ),
    ErrorCode.INVALID_JSON: ErrorEntry(
        400, "The body is not JSON in UTF-8.", "`error` names the line and the column of the first fault."
    ),
    ErrorCode.PROGRAM_REQUIRED: ErrorEntry(
        400, "Several programs of the tenant have an object of this id.", "Name one in `programId`."
    ),
    ErrorCode.CURSOR_INVALID: ErrorEntry(
        400,
        "The cursor is not one of this list, or came with other filters.",
        "Send the last page's `nextCursor` with the filters of that page, or begin again without a cursor.",
    ),
    ErrorCode.OPERATOR_REQUIRED: ErrorEntry(
        400, "An operator token or the admin token came without X-Operator.", "Name the acting person in X-Operator."
    ),
    ErrorCode.OPERATOR_INVALID: ErrorEntry(
        400,
        "X-Operator is not 1-128 printable ASCII characters, or has the form of a key or a policy.",
        "Send a login name or an e-mail address.",
    ),
    ErrorCode.PERSON_REQUIRED: ErrorEntry(
        400,
        "An API key without a named person decides an alert that needs a person, or approves an action.",
        "Name the person in X-Operator.",
    ),
    ErrorCode.IDEMPOTENCY_KEY_INVALID: ErrorEntry(
        400, "Idempotency-Key is not 1-255 printable ASCII characters, given once.", "Send a new UUID."
    ),
    ErrorCode.VERSION_UNSUPPORTED: ErrorEntry(
        400, "Score-Version names another version of the interface.", "Leave it out, or send this version."
    ),
    ErrorCode.BODY_INCOMPLETE: ErrorEntry(400, "The body ended before its declared length.", "Send it whole."),
    ErrorCode.REQUEST_TOO_SLOW: ErrorEntry(
        400, "The headers or the body did not arrive in time; the connection is closed.", "Send it again, at once."
    ),
    ErrorCode.HTTP_UNREADABLE: ErrorEntry(
        400,
        "The bytes are not an HTTP/1.1 request, or offer an unsupported upgrade; the connection is closed.",
        "Use HTTP/1.1 without TLS or WebSocket; a proxy in front terminates TLS.",
    ),
    ErrorCode.TOKEN_MISSING: ErrorEntry(
        401, "There is no bearer token, or it cannot be read.", "Send one header `Authorization: Bearer TOKEN`."
    ),
    ErrorCode.TOKEN_UNKNOWN: ErrorEntry(
        401,
        "This service issued no such token or key.",
        "Copy the whole token; check that it belongs to this service; rotate it if it is lost.",
    ),
    ErrorCode.TOKEN_REPLACED: ErrorEntry(
        401, "The operator token was rotated and its overlap has ended.", "Use the token that replaced it."
    ),
    ErrorCode.TOKEN_OF_ANOTHER_KIND: ErrorEntry(
        401,
        "The token is valid, but this route needs another kind.",
        "`error` names the kind: the admin token for `/api/admin/*`, else an operator token or an API key.",
    ),
    ErrorCode.TOKEN_EXPIRED: ErrorEntry(
        401, "The person's operator token has expired.", "The platform admin issues another."
    ),
    ErrorCode.TOKEN_REVOKED: ErrorEntry(
        401, "The person's operator token was revoked.", "The platform admin issues another, if the person may act."
    ),
    ErrorCode.KEY_REVOKED: ErrorEntry(401, "The API key was revoked.", "Create another with `POST /api/keys`."),
    ErrorCode.TENANT_MISMATCH: ErrorEntry(
        401, "The parameter `tenant` names another tenant than the token's.", "Leave it out, or correct it."
    ),
    ErrorCode.PROGRAM_NOT_OWNED: ErrorEntry(
        401, "The token's tenant has no such program.", "Use the operator token of the tenant that owns the program."
    ),
    ErrorCode.SIGNATURE_INVALID: ErrorEntry(
        401,
        "Program, secret, signature and body do not match; the answer does not say which of them is wrong.",
        "Sign the raw bytes with HMAC-SHA256, the program's whole ingest secret as the key, and send 64 hex digits.",
    ),
    ErrorCode.SCOPE_MISSING: ErrorEntry(
        403, "The API key lacks the scope of this route.", "Create a key with the scope that `error` names."
    ),
    ErrorCode.OPERATOR_TOKEN_REQUIRED: ErrorEntry(
        403, "An API key calls a route for people.", "Use the tenant's operator token with X-Operator."
    ),
    ErrorCode.OPERATOR_MISMATCH: ErrorEntry(
        403,
        "The operator token was issued to a person, and X-Operator or approverId names another.",
        "Leave X-Operator out, or send the name of the token; each person uses their token.",
    ),
    ErrorCode.PERSON_TOKEN_REQUIRED: ErrorEntry(
        403,
        "The approval must prove its person, and the request may have to as well: a name in X-Operator is a claim.",
        "Approve with an operator token that was issued to another person than the requester.",
    ),
    ErrorCode.TENANT_WIDE_REQUIRED: ErrorEntry(
        403,
        "The answer covers the whole tenant; the key is limited to one program, or is a test key.",
        "Use the operator token, or a live key without `programId`.",
    ),
    ErrorCode.TEST_KEY_REQUIRED: ErrorEntry(403, "The sandbox takes test keys only.", "Use a key of mode `test`."),
    ErrorCode.PROGRAM_OUT_OF_REACH: ErrorEntry(
        403,
        "The key may not touch this program: a test key touches simulated programs only, a live key bank-sourced ones, "
        "a key with a `programId` only that program.",
        "Use a key of the program's mode, without `programId` or with this one.",
    ),
    ErrorCode.ORIGIN_REFUSED: ErrorEntry(
        403,
        "A browser page of another origin calls the connector, or a request on this machine names another host.",
        "Call without Origin and under the service's own name; or list the origin in `CLEARHOLD_CONNECTOR_ORIGINS`.",
    ),
    ErrorCode.METHOD_NOT_ALLOWED: ErrorEntry(
        405, "The path does not take this method.", "The header Allow, and `error`, list the methods."
    ),
    ErrorCode.BODY_TOO_LARGE: ErrorEntry(413, "The body is longer than its route takes.", "`error` names the limit."),
    ErrorCode.MEDIA_TYPE_UNSUPPORTED: ErrorEntry(
        415, "The body is not declared as JSON in UTF-8.", "Send `Content-Type: application/json`."
    ),
    ErrorCode.RATE_LIMITED: ErrorEntry(429, "Too many requests of this kind in a second.", TRY_AGAIN),
    ErrorCode.TOO_MANY_AT_ONCE: ErrorEntry(
        429, "The caller has the most requests of this kind in progress.", "Try again when one of them has finished."
    ),
    ErrorCode.HEADERS_TOO_LARGE: ErrorEntry(
        431, "The request line and headers are too long; the connection is closed.", "Send fewer or shorter headers."
    ),
    ErrorCode.INTERNAL_ERROR: ErrorEntry(
        500, "A fault of the service.", "Report the `requestId`: the log has the cause under it."
    ),
    ErrorCode.SCAN_INDEX_UNSET: ErrorEntry(
        502, "The service has no scan index to import agents from.", "Set CLEARHOLD_SCAN_INDEX_URL and start it again."
    ),
    ErrorCode.SCAN_INDEX_FAILED: ErrorEntry(
        502,
        "The scan index cannot be reached, or its answer is invalid; `error` says which.",
        "Try again when the index answers, as the hourly import does. Imported agents stay.",
    ),
    ErrorCode.UNAVAILABLE: ErrorEntry(
        503,
        "The log or the record is not available; the request may or may not have been stored.",
        "Send it again after the seconds in Retry-After, under the same Idempotency-Key or event id.",
    ),
    ErrorCode.STARTING: ErrorEntry(503, "The program's scorer, or the service, is starting or stopping.", TRY_AGAIN),
    ErrorCode.CATCHING_UP: ErrorEntry(503, "The service is catching up with its log.", TRY_AGAIN),
    ErrorCode.OVERLOADED: ErrorEntry(
        503, "The load is over the limit of the service or of its log; nothing was stored.", TRY_AGAIN
    ),
    ErrorCode.NOT_CONFIRMED: ErrorEntry(
        503,
        "The request was accepted and is not confirmed yet.",
        "Repeat it with the same Idempotency-Key, or idempotencyKey, for its result.",
    ),
    ErrorCode.DEADLINE_EXCEEDED: ErrorEntry(
        503,
        "The answer would not have been in time for X-Deadline-Ms; nothing was recorded.",
        "Decide without it, or try again; with a longer deadline when it happens often.",
    ),
}
ERRORS: Final[Mapping[ErrorCode, ErrorEntry]] = dict(
    sorted({**_REQUEST_ERRORS, **STATE_ERRORS}.items(), key=lambda row: row[1].status)
)
"""By status; within one in the order of the codes."""

ANYWHERE: Final = (
    ErrorCode.HTTP_UNREADABLE,
    ErrorCode.REQUEST_TOO_SLOW,
    ErrorCode.BODY_INCOMPLETE,
    ErrorCode.PATH_NOT_FOUND,
    ErrorCode.METHOD_NOT_ALLOWED,
    ErrorCode.HEADERS_TOO_LARGE,
    ErrorCode.INTERNAL_ERROR,
    ErrorCode.OVERLOADED,
)
"""Codes that can answer any request; no operation lists them."""
