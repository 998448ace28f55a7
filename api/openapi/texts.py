"""The fixed texts of the API documents: introduction, ways to prove a caller, headers, examples of errors."""

from collections.abc import Mapping
from typing import Any, Final

from clearhold.api.http.auth import OPERATOR_NAME
from clearhold.api.http.envelope import INTERFACE_VERSION
from clearhold.api.http.head import HEADER, IF_MATCH, LONGEST_MS
from clearhold.api.http.idempotency import REPLAYED
from clearhold.api.http.operation import ANYWHERE, LAST_EVENT_ID, Access
from clearhold.features.core.errors import ErrorCode, FieldCode
from clearhold.features.live.reading import EVENT_ID, LONGEST_ID

TITLE: Final = "Clearhold"

CONVENTIONS: Final = f"""Clearhold scores transfers on a bank's rails for risk: as they land, and before they are sent.

**Callers.** A tenant's people send the operator token and their name in X-Operator. Programs send an API key. The bank
signs its events instead.

**Money** is integer cents in a string of digits: "9850" is 98.50. **Times** are UTC in answers; in requests they have
an offset. **A score** is 0 to 100, or null for too little history, never for no risk.

**Lists** that grow with the traffic are pages: `limit` and `cursor` in, `data`, `hasMore` and `nextCursor` out. Short
ones are arrays; one that takes `limit` has its next part in the header Link. Filters take several values.

**Repeats** are safe with an Idempotency-Key: the same request under the same key gets the stored answer.

**Errors** are all of one form: `error` for people, `code` for programs, `requestId` for the log, and on a 400 `fields`
with the path and the code of each field to correct. The schema ErrorCode lists every code. Any request can also be
answered {", ".join(f"`{code}`" for code in ANYWHERE)}.

**The interface's version** is {INTERFACE_VERSION}, in the header Score-Version."""

ADMIN_INFO: Final = """The administration of a Clearhold service: tenants, programs, tokens and secrets.

Every route takes the platform's admin token as bearer token and the acting person in X-Operator. These routes are not
part of the public interface. Keep them inside the bank's network."""

TEXT_PARAMETER: Final = {"type": "string", "minLength": 1, "maxLength": 255}
UUID_PARAMETER: Final = {"type": "string", "format": "uuid"}
SECURITY: Final[Mapping[Access, list[dict[str, list[str]]]]] = {
    Access.PUBLIC: [],
    Access.SIGNATURE: [{"bankSignature": []}],
    Access.BEARER: [{"operatorToken": [], "operatorName": []}, {"apiKey": []}],
    Access.BEARER_ALONE: [{"operatorToken": []}, {"apiKey": []}],
    Access.OPERATOR: [{"operatorToken": [], "operatorName": []}],
    Access.OWNER: [{"operatorToken": []}],
    Access.ADMIN: [{"adminToken": [], "operatorName": []}],
}
CALLED_WITH: Final[Mapping[Access, str]] = {
    Access.PUBLIC: "Anybody may call.",
    Access.SIGNATURE: "Called by the bank, which signs the body.",
    Access.BEARER: "Called with an operator token and X-Operator, or with an API key.",
    Access.BEARER_ALONE: "Called with an operator token or with an API key.",
    Access.OPERATOR: "Called with an operator token and X-Operator; API keys are refused.",
    Access.OWNER: "Called with the operator token of the tenant that owns the program. X-Operator may be left out.",
    Access.ADMIN: "Called with the admin token and X-Operator.",
}
SECURITY_SCHEMES: Final = {
    "operatorToken": {"type": "http", "scheme": "bearer", "description": "The tenant's operator token."},
    "apiKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key of the tenant. A test key may touch simulated programs only, a live key "
        "bank-sourced ones. It needs no X-Operator; with one, that person is on the record.",
    },
    "operatorName": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Operator",
        "description": "Who is acting, written on every decision: a claim under a shared token, and the person under "
        "an operator token that was issued to one.",
    },
    "bankSignature": {
        "type": "apiKey",
        "in": "header",
        "name": "Bank-Signature",
        "description": "HMAC-SHA256 of the raw body with the program's ingest secret, in hex. A program may "
        "name another header in signatureHeader.",
    },
    "adminToken": {"type": "http", "scheme": "bearer", "description": "The platform's admin token."},
}
USUAL_HEADERS: Final = {
    "X-Request-Id": {"description": "The request's id, the caller's own when it was well formed."},
    "Score-Version": {"description": f"The interface version, {INTERFACE_VERSION}."},
}
FURTHER_HEADERS: Final = {
    "ETag": "Digest of the answer, for If-None-Match; of a rule, for If-Match too.",
    "Cache-Control": "How long the answer may be kept.",
    "Content-Disposition": "The name of the file.",
    "X-Accel-Buffering": "no: a proxy is to pass each event on at once.",
    "Link": 'The next page, with rel="next"; absent on the last one.',
}
_RETRY_AFTER: Final = {"Retry-After": {"description": "After how many seconds to try again."}}
HEADERS_OF: Final = {
    401: {"WWW-Authenticate": {"description": "Bearer"}},
    409: {"Retry-After": {"description": "When the first request with the same Idempotency-Key is still under way."}},
    429: _RETRY_AFTER,
    503: _RETRY_AFTER,
}
RATE_HEADERS: Final = {
    "RateLimit-Policy": {"description": "The limit of this kind of request: q requests in w seconds."},
    "RateLimit": {"description": "How many of them are left (r), and the seconds until there are more (t)."},
}
REPLAYED_HEADER: Final = {REPLAYED: {"description": "true when an Idempotency-Key's stored answer was given again."}}
OPERATOR: Final = {
    "name": "X-Operator",
    "in": "header",
    "required": False,
    "description": "Who is acting: a claim, which most routes require with the tenant's operator token. With an API "
    "key it may be left out, and the key itself is on the record. With an operator token that was issued to a person "
    "it is that person, or left out.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": OPERATOR_NAME},
}
IDEMPOTENCY_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes the request safe to repeat. The same method, path and body under the same key are answered "
    "with the stored status and body, without a secret that is shown once; a different request is a 409. Keys are "
    "kept for 24 hours at least, for each caller and path apart.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
}
DEADLINE: Final = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "Milliseconds from the request's arrival within which the answer is wanted. It comes by then, "
    "degraded and unscored (`state_late`) where the program's state was late, or not at all: 503 `deadline_exceeded` "
    "when nothing was recorded, `not_confirmed` when the write overran.",
    "schema": {"type": "integer", "minimum": 1, "maximum": LONGEST_MS},
}
IF_MATCH_PARAMETER: Final = {
    "name": IF_MATCH,
    "in": "header",
    "required": True,
    "description": "The ETag of the version that is replaced; `*` replaces any version.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 1024},
}
LAST_EVENT_ID_PARAMETER: Final = {
    "name": LAST_EVENT_ID,
    "in": "header",
    "required": False,
    "description": "The id of the last event that was received: the answer continues after it. Left out or empty: from "
    "now on.",
    "schema": {"type": "string", "maxLength": LONGEST_ID, "pattern": f"^$|{EVENT_ID}"},
}
EXAMPLE_SENTENCES: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.VALIDATION_FAILED: "Validation failed: transfer.amountCents must be a string of digits, in cents: "
    '"9850" is 98.50; transfer.accountNumber is not a known property',
    ErrorCode.INVALID_JSON: "Validation failed: body must be valid JSON; its first fault is in line 3, column 17",
}
EXAMPLE_FIELDS: Final[Mapping[ErrorCode, list[dict[str, Any]]]] = {
    ErrorCode.VALIDATION_FAILED: [
        {"path": "transfer.amountCents", "code": FieldCode.WRONG_TYPE},
        {"path": "transfer.accountNumber", "code": FieldCode.UNKNOWN},
    ],
    ErrorCode.INVALID_JSON: [{"path": "body", "code": FieldCode.MALFORMED}],
    ErrorCode.PROGRAM_REQUIRED: [{"path": "programId", "code": FieldCode.REQUIRED}],
    ErrorCode.CURSOR_INVALID: [{"path": "cursor", "code": FieldCode.MALFORMED}],
    ErrorCode.OPERATOR_REQUIRED: [{"path": "X-Operator", "code": FieldCode.REQUIRED}],
    ErrorCode.OPERATOR_INVALID: [{"path": "X-Operator", "code": FieldCode.MALFORMED}],
    ErrorCode.IDEMPOTENCY_KEY_INVALID: [{"path": "Idempotency-Key", "code": FieldCode.MALFORMED}],
    ErrorCode.VERSION_UNSUPPORTED: [{"path": "Score-Version", "code": FieldCode.NOT_ONE_OF}],
}
