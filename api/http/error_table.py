"""The one table of errors: for each code the status that answers it, when it comes, and what a caller does about it.

The gate and the handlers answer by it, the OpenAPI document and ``docs/errors.md`` are made from it.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from clearhold.features.core.errors import ErrorCode


class ErrorEntry(msgspec.Struct, frozen=True):
    """``meaning`` is when the code comes, ``cure`` what a caller does about it."""

    status: int
    meaning: str
    cure: str


_TRY_AGAIN: Final = "Try again after the seconds in Retry-After."

ERRORS: Final[Mapping[ErrorCode, ErrorEntry]] = {
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
        "What arrived is no HTTP/1.1 request, or offers an upgrade that is not taken; the connection is closed.",
        "Use HTTP/1.1 without TLS or WebSocket; a proxy in front terminates TLS.",
    ),
    ErrorCode.TOKEN_MISSING: ErrorEntry(
        401, "There is no bearer token, or it cannot be read.", "Send one header `Authorization: Bearer TOKEN`."
    ),
    ErrorCode.TOKEN_UNKNOWN: ErrorEntry(
        401,
        "This service issued no such token or key.",
        "Copy it whole; look whether it belongs to another service; rotate it when it is lost.",
    ),
    ErrorCode.TOKEN_REPLACED: ErrorEntry(
        401, "The operator token was rotated and its overlap has ended.", "Use the token that replaced it."
    ),
    ErrorCode.TOKEN_OF_ANOTHER_KIND: ErrorEntry(
        401,
        "The token is known, and this route takes another kind.",
        "`error` names the kind: the admin token for `/api/admin/*`, else an operator token or an API key.",
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
        "Program, secret, signature and body do not belong together; which of them is wrong is not said.",
        "Sign the raw bytes with HMAC-SHA256, the program's whole ingest secret as the key, and send 64 hex digits.",
    ),
    ErrorCode.SCOPE_MISSING: ErrorEntry(
        403, "The API key lacks the scope of this route.", "Create a key with the scope that `error` names."
    ),
    ErrorCode.OPERATOR_TOKEN_REQUIRED: ErrorEntry(
        403, "An API key calls a route for people.", "Use the tenant's operator token with X-Operator."
    ),
    ErrorCode.TENANT_WIDE_REQUIRED: ErrorEntry(
        403,
        "The answer is of the whole tenant, and the key is of one program or a test key.",
        "Use the operator token, or a live key without `programId`.",
    ),
    ErrorCode.TEST_KEY_REQUIRED: ErrorEntry(403, "The sandbox takes test keys only.", "Use a key of mode `test`."),
    ErrorCode.PROGRAM_OUT_OF_REACH: ErrorEntry(
        403,
        "The key may not touch this program: a test key touches simulated programs only, a live key bank-sourced ones, "
        "a key of one program that one.",
        "Use a key of the program's mode, without `programId` or with this one.",
    ),
    ErrorCode.ORIGIN_REFUSED: ErrorEntry(
        403,
        "A page of a browser calls the connector, or a request on this machine names another host.",
        "Call without Origin and under the service's own name; or list the origin in `CLEARHOLD_CONNECTOR_ORIGINS`.",
    ),
    ErrorCode.PATH_NOT_FOUND: ErrorEntry(404, "No route has this path.", "`/docs` lists every path."),
    ErrorCode.TENANT_NOT_FOUND: ErrorEntry(404, "No tenant has this id.", "`GET /api/admin/tenants` lists them."),
    ErrorCode.PROGRAM_NOT_FOUND: ErrorEntry(
        404, "The tenant has no program of this id or slug.", "`GET /api/programs` lists them."
    ),
    ErrorCode.ENTITY_NOT_FOUND: ErrorEntry(
        404, "The tenant has no entity of this id.", "Wait for the bank's first event on it; look at its `result`."
    ),
    ErrorCode.COUNTERPARTY_NOT_FOUND: ErrorEntry(
        404, "The tenant has no counterparty of this id.", "Wait for the bank's first event or transfer with it."
    ),
    ErrorCode.AGENT_NOT_FOUND: ErrorEntry(
        404, "The tenant has no agent of this id.", "Import it; only entities of the program `agents` are agents."
    ),
    ErrorCode.TRANSFER_NOT_FOUND: ErrorEntry(
        404,
        "The tenant has no transfer of this id.",
        "Look whether the bank's event was taken in; a transfer can be read within a second of it.",
    ),
    ErrorCode.EVENT_NOT_FOUND: ErrorEntry(
        404, "No delivery under this event id is in the log.", "Look at what the ingest answered, and send it again."
    ),
    ErrorCode.OBJECT_LOST: ErrorEntry(
        404,
        "The bank's object of the transfer went with a part of the log whose loss was accepted.",
        "The list of transfers has all of it but `raw`.",
    ),
    ErrorCode.PREFLIGHT_NOT_FOUND: ErrorEntry(404, "The tenant has no such pre-flight.", "Use a `preflightId`."),
    ErrorCode.ALERT_NOT_FOUND: ErrorEntry(404, "The tenant has no such alert.", "`GET /api/alerts` lists them."),
    ErrorCode.ACTION_NOT_FOUND: ErrorEntry(404, "The tenant has no such action.", "`GET /api/actions` lists them."),
    ErrorCode.DISPOSITION_NOT_FOUND: ErrorEntry(
        404, "The tenant has no such disposition.", "`GET /api/dispositions` lists them."
    ),
    ErrorCode.POLICY_NOT_FOUND: ErrorEntry(404, "The tenant has no such policy.", "`GET /api/policies` lists them."),
    ErrorCode.RULE_NOT_FOUND: ErrorEntry(404, "The tenant has no such rule.", "`GET /api/rules` lists them."),
    ErrorCode.SCORECARD_NOT_FOUND: ErrorEntry(
        404, "The tenant has no such scorecard.", "`GET /api/scorecards` lists them."
    ),
    ErrorCode.KEY_NOT_FOUND: ErrorEntry(404, "The tenant has no such API key.", "`GET /api/keys` lists them."),
    ErrorCode.SIGNING_KEY_NOT_FOUND: ErrorEntry(
        404, "No signing key has this kid.", "`GET /api/admin/signing-keys` lists them."
    ),
    ErrorCode.WEBHOOK_NOT_FOUND: ErrorEntry(
        404, "The tenant has no such webhook endpoint.", "`GET /api/webhooks` lists them."
    ),
    ErrorCode.DELIVERY_NOT_FOUND: ErrorEntry(
        404, "The endpoint has no such delivery.", "`GET /api/webhooks/{webhookId}/deliveries` lists them."
    ),
    ErrorCode.CHAIN_TOO_SHORT: ErrorEntry(
        404, "The chain has fewer links than that.", "`GET /api/record/verify` counts them."
    ),
    ErrorCode.METHOD_NOT_ALLOWED: ErrorEntry(
        405, "The path does not take this method.", "The header Allow, and `error`, list the methods."
    ),
    ErrorCode.SLUG_TAKEN: ErrorEntry(409, "Another tenant, or program of the tenant, has the slug.", "Choose another."),
    ErrorCode.TOO_MANY_KEYS: ErrorEntry(
        409, "The tenant has as many API keys as it may.", "Revoke one with `DELETE /api/keys/{keyId}`."
    ),
    ErrorCode.TOO_MANY_WEBHOOKS: ErrorEntry(
        409,
        "The tenant has as many enabled webhook endpoints as it may.",
        "Disable one with `DELETE /api/webhooks/{webhookId}`.",
    ),
    ErrorCode.POLICY_VERSION_EXISTS: ErrorEntry(
        409, "The tenant has a policy of this version.", "Choose a new version: a policy is never edited."
    ),
    ErrorCode.POLICY_VERSION_NOT_NEXT: ErrorEntry(
        409,
        "The version leaves out one: those of a kind are counted from 1 on, over the tenant and its programs.",
        "Take the version that `error` names; `GET /api/policies?prefix=` lists the existing ones.",
    ),
    ErrorCode.TOO_MANY_POLICIES: ErrorEntry(
        409,
        "The tenant has a thousand versions of policies or rules, or 200 of scorecards, which are kept for good.",
        "Activate a version that is there; rules can only be paused.",
    ),
    ErrorCode.POLICY_IN_FORCE: ErrorEntry(409, "The policy is in force already.", "Nothing is left to do."),
    ErrorCode.RULE_ID_TAKEN: ErrorEntry(
        409,
        "The tenant has or had a rule of this id.",
        "Choose another id, or write that rule again with `PUT /api/rules/{id}`.",
    ),
    ErrorCode.TOO_MANY_RULES: ErrorEntry(
        409,
        "The tenant has its most rules, or the rules that count are too long for all of its programs together.",
        "Archive one with `POST /api/rules/{id}/archive`, or shorten some.",
    ),
    ErrorCode.RULE_NOT_TESTED: ErrorEntry(
        409,
        "The rule, exactly as it is written, has no backtest over 90 days that is less than 24 hours old.",
        "Make one with `POST /api/rules/{id}/backtest`, and request the activation again.",
    ),
    ErrorCode.RULE_IN_FORCE: ErrorEntry(
        409,
        "The rule is in force: as it is written, or in the version before it was written again.",
        "Nothing is left to activate; to archive it, pause it first with `POST /api/rules/{id}/pause`.",
    ),
    ErrorCode.RULE_NOT_ACTIVE: ErrorEntry(
        409,
        "No version of the rule is in force.",
        "Nothing is left to pause; `GET /api/rules/versions` shows the versions in force.",
    ),
    ErrorCode.RULE_ARCHIVED: ErrorEntry(
        409, "The rule is archived, which is final.", "Write a new rule with another id."
    ),
    ErrorCode.SCORECARD_IN_FORCE: ErrorEntry(
        409,
        "The scorecard is in force already.",
        "Nothing is left to do; `GET /api/scorecards` shows the one in force.",
    ),
    ErrorCode.SCORECARD_NOT_REPORTED: ErrorEntry(
        409,
        "There is no report of this exact card that is less than seven days old.",
        "Make one with `clearhold calibrate`, send it to `POST /api/scorecards/{version}/reports`, and request the "
        "activation again.",
    ),
    ErrorCode.ALERT_CLOSED: ErrorEntry(
        409, "The alert is closed, which is final.", "`POST /api/alerts/{alertId}/appeal` opens a new alert."
    ),
    ErrorCode.ALERT_NOT_HELD: ErrorEntry(409, "The alert is not held, so it cannot be released.", "Close it instead."),
    ErrorCode.ALERT_NOT_CLOSED: ErrorEntry(
        409, "The alert is not closed, so it cannot be appealed.", "Decide it instead."
    ),
    ErrorCode.ALREADY_DECIDED: ErrorEntry(
        409, "The alert has this decision, and nothing has changed since.", "Nothing is left to do."
    ),
    ErrorCode.ALREADY_APPEALED: ErrorEntry(
        409, "The alert was appealed before.", "Decide the alert that the appeal opened."
    ),
    ErrorCode.CHANGE_PENDING: ErrorEntry(
        409,
        "A change of the same thing waits for its approver.",
        "`GET /api/actions?status=requested` lists it. Another person approves it; its requester's approval ends it.",
    ),
    ErrorCode.AUTONOMY_UNCHANGED: ErrorEntry(
        409,
        "The program has the tier, and no withdrawn detector is eligible.",
        "Nothing is left to do until `eligibility` changes.",
    ),
    ErrorCode.LIMIT_UNCHANGED: ErrorEntry(
        409,
        "The cap that is requested is in force, or its removal where no cap is set.",
        "Nothing is left to do; `GET /api/limits/program/{programId}` shows the caps.",
    ),
    ErrorCode.AUTONOMY_NOT_ELIGIBLE: ErrorEntry(
        409,
        "The tier would add no detector, because none of them is eligible.",
        "Label and review more alerts; `GET /api/autonomy/{programId}` names the reasons in `objections`.",
    ),
    ErrorCode.AUTONOMY_TOO_EARLY: ErrorEntry(
        409,
        "The program's autonomy was widened within the last 7 days.",
        "Request it again from `nextChangeAllowedAt` on.",
    ),
    ErrorCode.TRANSFER_NOT_RETURNABLE: ErrorEntry(
        409,
        "The bank could not return this transfer as it stands, which the sentence explains.",
        "Return an ACH transfer, a check or an international wire that was sent and did not come back yet.",
    ),
    ErrorCode.ACTOR_UNSCORED: ErrorEntry(
        409,
        "The actor has no score, because too little of it was observed.",
        "Wait for more transfers; an agent is proved with type `agent`, not `entity`.",
    ),
    ErrorCode.ROTATION_PENDING: ErrorEntry(
        409,
        "A new signing key of this purpose is announced already, and has not begun to sign.",
        "Nothing is left to do; `GET /api/admin/signing-keys` shows from when on it signs.",
    ),
    ErrorCode.ISSUER_UNKNOWN: ErrorEntry(
        409,
        "The service does not know under which address others reach it, and a proof has to name it.",
        "The operator of the service sets `CLEARHOLD_BASE_URL`.",
    ),
    ErrorCode.CHAIN_INCONSISTENT: ErrorEntry(
        409,
        "The chain does not match an earlier checkpoint over it.",
        "`GET /api/record/verify` says where it breaks; inform the operator of the service.",
    ),
    ErrorCode.IDEMPOTENCY_MISMATCH: ErrorEntry(
        409, "The key was used for another request.", "Use a new key for a new request."
    ),
    ErrorCode.IDEMPOTENCY_IN_FLIGHT: ErrorEntry(
        409, "The first request with the key is still being answered.", _TRY_AGAIN
    ),
    ErrorCode.RULE_CHANGED: ErrorEntry(
        412,
        "The rule was changed since the caller read it: If-Match names another ETag.",
        "Read it with `GET /api/rules/{id}`, and send that answer's ETag.",
    ),
    ErrorCode.BODY_TOO_LARGE: ErrorEntry(413, "The body is longer than its route takes.", "`error` says how much."),
    ErrorCode.MEDIA_TYPE_UNSUPPORTED: ErrorEntry(
        415, "The body is not declared as JSON in UTF-8.", "Send `Content-Type: application/json`."
    ),
    ErrorCode.RATE_LIMITED: ErrorEntry(429, "Too many requests of this kind in a second.", _TRY_AGAIN),
    ErrorCode.TOO_MANY_AT_ONCE: ErrorEntry(
        429, "As many as may of these are running for the caller.", "Try again when one of them has finished."
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
        "The scan index cannot be reached, or does not answer as it has to; `error` says which.",
        "Try again when the index answers, as the hourly import does. Imported agents stay.",
    ),
    ErrorCode.UNAVAILABLE: ErrorEntry(
        503,
        "The log or the record is not available; the request may or may not have been stored.",
        "Send it again after the seconds in Retry-After, under the same Idempotency-Key or event id.",
    ),
    ErrorCode.STARTING: ErrorEntry(503, "The program's scorer, or the service, is starting or stopping.", _TRY_AGAIN),
    ErrorCode.CATCHING_UP: ErrorEntry(503, "The service is catching up with its log.", _TRY_AGAIN),
    ErrorCode.OVERLOADED: ErrorEntry(
        503, "More is sent at once than the service takes, or its log keeps up with; nothing was stored.", _TRY_AGAIN
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
"""What can answer any request, whatever its route, and is named with no operation."""
