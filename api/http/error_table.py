"""The one table of errors: for each code its status, its cause, and the caller's cure.

The gate and the handlers use it; the OpenAPI document and ``docs/errors.md`` are generated from it.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from clearhold.features.core.errors import ErrorCode


class ErrorEntry(msgspec.Struct, frozen=True):
    """``meaning`` is the cause, ``cure`` the caller's next step."""

    status: int
    meaning: str
    cure: str


_invalid: Final = partial(ErrorEntry, 400)
_unproven: Final = partial(ErrorEntry, 401)
_forbidden: Final = partial(ErrorEntry, 403)
_unknown: Final = partial(ErrorEntry, 404)
_conflict: Final = partial(ErrorEntry, 409)
_unavailable: Final = partial(ErrorEntry, 503)


def _no(noun: str, listed_at: str) -> ErrorEntry:
    return _unknown(f"The tenant has no such {noun}.", f"`GET {listed_at}` lists them.")


_TRY_AGAIN: Final = "Try again after the seconds in Retry-After."

ERRORS: Final[Mapping[ErrorCode, ErrorEntry]] = {
    ErrorCode.VALIDATION_FAILED: _invalid(
        "The body, a parameter or a header breaks a rule.", "Correct each of `fields`; `error` words the rules."
    ),
    ErrorCode.INVALID_JSON: _invalid(
        "The body is not JSON in UTF-8.", "`error` names the line and the column of the first fault."
    ),
    ErrorCode.PROGRAM_REQUIRED: _invalid(
        "Several programs of the tenant have an object of this id.", "Name one in `programId`."
    ),
    ErrorCode.CURSOR_INVALID: _invalid(
        "The cursor is not one of this list, or came with other filters.",
        "Send the last page's `nextCursor` with the filters of that page, or begin again without a cursor.",
    ),
    ErrorCode.OPERATOR_REQUIRED: _invalid(
        "An operator token or the admin token came without X-Operator.", "Name the acting person in X-Operator."
    ),
    ErrorCode.OPERATOR_INVALID: _invalid(
        "X-Operator is blank, repeated or not 1-128 printable ASCII characters, or begins with `key:`, `policy:` or "
        "`operator:`.",
        "Send a login name or an e-mail address.",
    ),
    ErrorCode.PERSON_REQUIRED: _invalid(
        "An API key without a named person decides an alert that needs a person, or approves an action.",
        "Name the person in X-Operator.",
    ),
    ErrorCode.IDEMPOTENCY_KEY_INVALID: _invalid(
        "Idempotency-Key is not 1-255 printable ASCII characters, given once.", "Send a new UUID."
    ),
    ErrorCode.VERSION_UNSUPPORTED: _invalid(
        "Score-Version names another version of the interface.", "Leave it out, or send this version."
    ),
    ErrorCode.BODY_INCOMPLETE: _invalid("The body ended before its declared length.", "Send it whole."),
    ErrorCode.REQUEST_TOO_SLOW: _invalid(
        "The headers or the body did not arrive in time; the connection is closed.", "Send it again, at once."
    ),
    ErrorCode.HTTP_UNREADABLE: _invalid(
        "The bytes are not an HTTP/1.1 request, or offer an unsupported upgrade; the connection is closed.",
        "Use HTTP/1.1 without TLS or WebSocket; a proxy in front terminates TLS.",
    ),
    ErrorCode.TOKEN_MISSING: _unproven(
        "There is no bearer token, or it cannot be read.", "Send one header `Authorization: Bearer TOKEN`."
    ),
    ErrorCode.TOKEN_UNKNOWN: _unproven(
        "This service issued no such token or key.",
        "Copy the whole token; check that it belongs to this service; rotate it if it is lost.",
    ),
    ErrorCode.TOKEN_REPLACED: _unproven(
        "The operator token was rotated and its overlap has ended.", "Use the token that replaced it."
    ),
    ErrorCode.TOKEN_OF_ANOTHER_KIND: _unproven(
        "The token is valid, but this route needs another kind.",
        "`error` names the kind: the admin token for `/api/admin/*`, else an operator token or an API key.",
    ),
    ErrorCode.TOKEN_EXPIRED: _unproven(
        "The person's operator token has expired.", "The platform admin issues another."
    ),
    ErrorCode.TOKEN_REVOKED: _unproven(
        "The person's operator token was revoked.", "The platform admin issues another, if the person may act."
    ),
    ErrorCode.KEY_REVOKED: _unproven("The API key was revoked.", "Create another with `POST /api/keys`."),
    ErrorCode.TENANT_MISMATCH: _unproven(
        "The parameter `tenant` names another tenant than the token's.", "Leave it out, or correct it."
    ),
    ErrorCode.PROGRAM_NOT_OWNED: _unproven(
        "The token's tenant has no such program.", "Use the operator token of the tenant that owns the program."
    ),
    ErrorCode.SIGNATURE_INVALID: _unproven(
        "Program, secret, signature and body do not match; the answer does not say which of them is wrong.",
        "Sign the raw bytes with HMAC-SHA256, the program's whole ingest secret as the key, and send 64 hex digits. "
        "For a simulated program, POST /api/ingest/bank/{programId}/check names the fault.",
    ),
    ErrorCode.SCOPE_MISSING: _forbidden(
        "The API key lacks the scope of this route.", "Create a key with the scope that `error` names."
    ),
    ErrorCode.OPERATOR_TOKEN_REQUIRED: _forbidden(
        "An API key calls a route for people.", "Use the tenant's operator token with X-Operator."
    ),
    ErrorCode.OPERATOR_MISMATCH: _forbidden(
        "The operator token was issued to a person, and X-Operator or approverId names another.",
        "Leave X-Operator out, or send the name of the token; each person uses their token.",
    ),
    ErrorCode.PERSON_TOKEN_REQUIRED: _forbidden(
        "The approval must prove its person, and the request may have to as well: a name in X-Operator is a claim.",
        "Approve with an operator token that was issued to another person than the requester.",
    ),
    ErrorCode.TENANT_WIDE_REQUIRED: _forbidden(
        "The answer covers the whole tenant; the key is limited to one program, or is a test key.",
        "Use the operator token, or a live key without `programId`.",
    ),
    ErrorCode.TEST_KEY_REQUIRED: _forbidden("The sandbox takes test keys only.", "Use a key of mode `test`."),
    ErrorCode.PROGRAM_OUT_OF_REACH: _forbidden(
        "The key may not touch this program: a test key touches simulated programs only, a live key bank-sourced ones, "
        "a key with a `programId` only that program.",
        "Use a key of the program's mode, without `programId` or with this one.",
    ),
    ErrorCode.ORIGIN_REFUSED: _forbidden(
        "A browser page of another origin calls the connector, or a request on this machine has another Host than "
        "localhost, 127.0.0.1, ::1 or that of `CLEARHOLD_BASE_URL`.",
        "Call without Origin and under one of these hosts; or list the origin in `CLEARHOLD_CONNECTOR_ORIGINS`.",
    ),
    ErrorCode.PATH_NOT_FOUND: _unknown("No route has this path.", "`/docs` lists every path."),
    ErrorCode.TENANT_NOT_FOUND: _unknown("No tenant has this id.", "`GET /api/admin/tenants` lists them."),
    ErrorCode.PROGRAM_NOT_FOUND: _unknown(
        "The tenant has no program of this id or slug.", "`GET /api/programs` lists them."
    ),
    ErrorCode.ENTITY_NOT_FOUND: _unknown(
        "The tenant has no entity of this id.",
        "Wait for the bank's first event on it. If that has come, its `result` in `GET /api/events` says why it had no "
        "effect.",
    ),
    ErrorCode.COUNTERPARTY_NOT_FOUND: _unknown(
        "The tenant has no counterparty of this id.", "Wait for the bank's first event or transfer with it."
    ),
    ErrorCode.ACCOUNT_NOT_FOUND: _unknown(
        "The tenant has no account of this id.", "Wait for the bank's first event or transfer with it."
    ),
    ErrorCode.AGENT_NOT_FOUND: _unknown(
        "The tenant has no agent of this id.", "Import it; only entities of the program `agents` are agents."
    ),
    ErrorCode.TRANSFER_NOT_FOUND: _unknown(
        "The tenant has no transfer of this id.",
        "Check the result of the bank's event; a transfer can be read within a second of it.",
    ),
    ErrorCode.EVENT_NOT_FOUND: _unknown(
        "No delivery under this event id is in the log.", "Check the answer of the ingest, and send the event again."
    ),
    ErrorCode.OBJECT_LOST: _unknown(
        "The bank's object of the transfer was in a part of the log whose loss was accepted.",
        "The list of transfers has everything except `raw`.",
    ),
    ErrorCode.PREFLIGHT_NOT_FOUND: _unknown("The tenant has no such pre-flight.", "Use a `preflightId`."),
    ErrorCode.ALERT_NOT_FOUND: _no("alert", "/api/alerts"),
    ErrorCode.STACK_NOT_FOUND: _no("stack", "/api/stacks"),
    ErrorCode.ACTION_NOT_FOUND: _no("action", "/api/actions"),
    ErrorCode.SNAPSHOT_NOT_FOUND: _no("snapshot of indicators", "/api/kri/snapshots"),
    ErrorCode.DISPOSITION_NOT_FOUND: _no("disposition", "/api/dispositions"),
    ErrorCode.POLICY_NOT_FOUND: _no("policy", "/api/policies"),
    ErrorCode.RULE_NOT_FOUND: _no("rule", "/api/rules"),
    ErrorCode.SCORECARD_NOT_FOUND: _no("scorecard", "/api/scorecards"),
    ErrorCode.KEY_NOT_FOUND: _no("API key", "/api/keys"),
    ErrorCode.TOKEN_NOT_FOUND: _unknown(
        "The tenant has issued no such token to a person.",
        "`GET /api/admin/tenants/{tenantId}/operator-tokens` lists them.",
    ),
    ErrorCode.SIGNING_KEY_NOT_FOUND: _unknown(
        "No signing key has this kid.", "`GET /api/admin/signing-keys` lists them."
    ),
    ErrorCode.WEBHOOK_NOT_FOUND: _no("webhook endpoint", "/api/webhooks"),
    ErrorCode.DELIVERY_NOT_FOUND: _unknown(
        "The endpoint has no such delivery.", "`GET /api/webhooks/{webhookId}/deliveries` lists them."
    ),
    ErrorCode.CHAIN_TOO_SHORT: _unknown(
        "The chain has no link of this number, or fewer links than the requested size.",
        "`GET /api/record/verify` counts them.",
    ),
    ErrorCode.METHOD_NOT_ALLOWED: ErrorEntry(
        405, "The path does not take this method.", "The header Allow, and `error`, list the methods."
    ),
    ErrorCode.SLUG_TAKEN: _conflict("Another tenant, or program of the tenant, has the slug.", "Choose another."),
    ErrorCode.TOO_MANY_KEYS: _conflict(
        "The tenant has reached its limit of API keys, or of persons' tokens.", "Revoke one that is not used."
    ),
    ErrorCode.TOO_MANY_WEBHOOKS: _conflict(
        "The tenant has reached its limit of enabled webhook endpoints.",
        "Disable one with `DELETE /api/webhooks/{webhookId}`.",
    ),
    ErrorCode.POLICY_VERSION_EXISTS: _conflict(
        "The tenant has a policy of this version.", "Choose a new version: a policy is never edited."
    ),
    ErrorCode.POLICY_VERSION_NOT_NEXT: _conflict(
        "The version skips a number: a tenant has one numbering of each kind, from 1, for all its programs.",
        "Take the version that `error` names; `GET /api/policies?prefix=` lists the existing ones.",
    ),
    ErrorCode.TOO_MANY_POLICIES: _conflict(
        "The tenant has a thousand versions of policies or rules, or 200 of scorecards, which are kept permanently.",
        "Activate an existing version; rules can only be paused.",
    ),
    ErrorCode.POLICY_IN_FORCE: _conflict("The policy is in force already.", "Nothing is left to do."),
    ErrorCode.RULE_ID_TAKEN: _conflict(
        "The tenant has or had a rule of this id.", "Choose another id, or change that rule with `PUT /api/rules/{id}`."
    ),
    ErrorCode.TOO_MANY_RULES: _conflict(
        "The tenant has reached its limit of rules; or its rules in force and in testing, with a copy for each "
        "program, have too many bytes.",
        "Archive one with `POST /api/rules/{id}/archive`, or shorten or pause some.",
    ),
    ErrorCode.RULE_NOT_TESTED: _conflict(
        "The rule's current text has no backtest over 90 days that is less than 24 hours old.",
        "Make one with `POST /api/rules/{id}/backtest`, and request the activation again.",
    ),
    ErrorCode.RULE_IN_FORCE: _conflict(
        "The rule is in force, with its current or its previous text.",
        "Nothing is left to activate; to archive it, pause it first with `POST /api/rules/{id}/pause`.",
    ),
    ErrorCode.RULE_NOT_ACTIVE: _conflict(
        "No version of the rule is in force.",
        "Nothing is left to pause; `GET /api/rules/versions` shows the versions in force.",
    ),
    ErrorCode.RULE_ARCHIVED: _conflict("The rule is archived, which is final.", "Write a new rule with another id."),
    ErrorCode.SCORECARD_IN_FORCE: _conflict("The scorecard is in force already.", "`GET /api/scorecards` shows it."),
    ErrorCode.SCORECARD_NOT_REPORTED: _conflict(
        "There is no report of this exact card that is less than seven days old.",
        "Make one with `clearhold calibrate`, send it to `POST /api/scorecards/{version}/reports`, and request the "
        "activation again.",
    ),
    ErrorCode.ALERT_CLOSED: _conflict("The alert is closed, which is final.", "An appeal opens a new alert."),
    ErrorCode.ALERT_NOT_IN_STACK: _conflict("An alert named does not wait in the stack.", "Read the stack again."),
    ErrorCode.STACK_NOT_SPLIT: _conflict("All waiting alerts were named, so none would stay.", "Name fewer."),
    ErrorCode.ALERT_NOT_HELD: _conflict("The alert is not held, so it cannot be released.", "Close it instead."),
    ErrorCode.ALERT_NOT_CLOSED: _conflict("The alert is not closed, so it cannot be appealed.", "Decide it instead."),
    ErrorCode.ALREADY_DECIDED: _conflict("The alert has this decision, and nothing has changed.", "Go on."),
    ErrorCode.ALREADY_APPEALED: _conflict("The alert was appealed before.", "Decide the alert that the appeal opened."),
    ErrorCode.CHANGE_PENDING: _conflict(
        "A change of the same kind waits for its approver.",
        "`GET /api/actions?status=requested` lists it: another person answers it, or its requester withdraws it.",
    ),
    ErrorCode.ACTION_NOT_WAITING: _conflict("The action waits for no second person any more.", "Read its outcome."),
    ErrorCode.OWN_ACTION: _conflict("Its requester may not decline an action.", "Withdraw it."),
    ErrorCode.NOT_THE_REQUESTER: _conflict("Only its requester may withdraw an action.", "Decline it."),
    ErrorCode.AUTONOMY_UNCHANGED: _conflict(
        "The program already has this tier, and no detector that was withdrawn from it has become eligible again.",
        "Wait until `eligibility` in `GET /api/autonomy/{programId}` shows one.",
    ),
    ErrorCode.LIMIT_UNCHANGED: _conflict(
        "The requested cap is in force, or its removal was requested where no cap is set.",
        "Nothing is left to do; `GET /api/limits/program/{programId}` shows the caps.",
    ),
    ErrorCode.CONFIG_CHANGED: _conflict("The plan was made against another configuration.", "Plan again."),
    ErrorCode.AUTONOMY_NOT_ELIGIBLE: _conflict(
        "The tier would add no detector, because none of them is eligible.",
        "Label and review more alerts; `GET /api/autonomy/{programId}` names the reasons in `objections`.",
    ),
    ErrorCode.AUTONOMY_TOO_EARLY: _conflict(
        "The program's autonomy was widened within the last 7 days.", "Request it again from `nextChangeAllowedAt` on."
    ),
    ErrorCode.TRANSFER_NOT_RETURNABLE: _conflict(
        "The bank cannot return this transfer; `error` has the reason.",
        "Return an ACH transfer, a check or an international wire that was sent and was not returned yet.",
    ),
    ErrorCode.ACTOR_UNSCORED: _conflict(
        "The actor has no score, because its history is too short.",
        "Wait for more transfers. An agent has a score as type `agent` alone: as `entity` it stays unscored.",
    ),
    ErrorCode.ROTATION_PENDING: _conflict(
        "A new signing key of this purpose is announced already, and has not begun to sign.",
        "Nothing is left to do; `GET /api/admin/signing-keys` shows when it begins to sign.",
    ),
    ErrorCode.ISSUER_UNKNOWN: _conflict(
        "The service does not know its public address, which a proof must name.",
        "The operator of the service sets `CLEARHOLD_BASE_URL`.",
    ),
    ErrorCode.CHAIN_INCONSISTENT: _conflict(
        "The chain does not match an earlier checkpoint over it.",
        "`GET /api/record/verify` says where it breaks; inform the operator of the service.",
    ),
    ErrorCode.IDEMPOTENCY_MISMATCH: _conflict("The key was used for another request.", "Use a new key for a new one."),
    ErrorCode.IDEMPOTENCY_IN_FLIGHT: _conflict("The first request with the key is still being answered.", _TRY_AGAIN),
    ErrorCode.RULE_CHANGED: ErrorEntry(
        412,
        "The rule was changed since the caller read it: If-Match names another ETag.",
        "Read it with `GET /api/rules/{id}`, and send that answer's ETag.",
    ),
    ErrorCode.BODY_TOO_LARGE: ErrorEntry(413, "The body is longer than its route takes.", "`error` names the limit."),
    ErrorCode.MEDIA_TYPE_UNSUPPORTED: ErrorEntry(
        415, "The body is packed, or not declared as JSON in UTF-8.", "Send `Content-Type: application/json` alone."
    ),
    ErrorCode.RATE_LIMITED: ErrorEntry(429, "Too many requests of this kind in a second.", _TRY_AGAIN),
    ErrorCode.TOO_MANY_AT_ONCE: ErrorEntry(
        429, "The caller has the most requests of this kind in progress.", "Try again when one of them has finished."
    ),
    ErrorCode.HEADERS_TOO_LARGE: ErrorEntry(
        431, "The request line and headers are too long; the connection is closed.", "Send fewer or shorter headers."
    ),
    ErrorCode.INTERNAL_ERROR: ErrorEntry(
        500, "A fault of the service.", "Report the `requestId`: the log has the cause under it."
    ),
    ErrorCode.TRANSFER_CODING_UNKNOWN: ErrorEntry(
        501,
        "Transfer-Encoding names a coding other than chunked; the connection is closed.",
        "Send the body as it is, with its length or chunked.",
    ),
    ErrorCode.SCAN_INDEX_UNSET: ErrorEntry(
        502, "The service has no scan index to import agents from.", "Set CLEARHOLD_SCAN_INDEX_URL and start it again."
    ),
    ErrorCode.SCAN_INDEX_FAILED: ErrorEntry(
        502,
        "The scan index cannot be reached, or its answer is invalid; `error` says which.",
        "Try again when the index answers, as the hourly import does. Imported agents stay.",
    ),
    ErrorCode.UNAVAILABLE: _unavailable(
        "The log or the record is not available; the request may or may not have been stored.",
        "Send it again after the seconds in Retry-After, under the same Idempotency-Key or event id.",
    ),
    ErrorCode.STARTING: _unavailable("The program's scorer, or the service, is starting or stopping.", _TRY_AGAIN),
    ErrorCode.STANDBY: _unavailable("Another node owns the log, at `owner`; nothing was stored.", "Send it there."),
    ErrorCode.CATCHING_UP: _unavailable("The service is catching up with its log.", _TRY_AGAIN),
    ErrorCode.OVERLOADED: _unavailable(
        "The service, its log or the program's queue of events is at its limit; nothing was stored.",
        _TRY_AGAIN,
    ),
    ErrorCode.NOT_CONFIRMED: _unavailable(
        "The request was accepted and is not confirmed yet.",
        "Repeat it with the same Idempotency-Key, or idempotencyKey, for its result.",
    ),
    ErrorCode.DEADLINE_EXCEEDED: _unavailable(
        "The answer would not have been in time for X-Deadline-Ms; nothing was recorded.",
        "Decide without it, or try again; with a longer deadline when it happens often.",
    ),
    ErrorCode.HTTP_VERSION_UNSUPPORTED: ErrorEntry(
        505, "The request names another version of HTTP; the connection is closed.", "Send HTTP/1.1 or HTTP/1.0."
    ),
}
"""By status; within one in the order of the codes."""
