"""Errors of the stored state: no object has the id, or the object does not allow the change in its present state.

A part of the one table, ``api/http/error_table.py``.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from clearhold.features.core.errors import ErrorCode


class ErrorEntry(msgspec.Struct, frozen=True):
    """``meaning`` is the cause, ``cure`` the caller's next step."""

    status: int
    meaning: str
    cure: str


TRY_AGAIN: Final = "Try again after the seconds in Retry-After."

STATE_ERRORS: Final[Mapping[ErrorCode, ErrorEntry]] = {
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
        "Check the result of the bank's event; a transfer can be read within a second of it.",
    ),
    ErrorCode.EVENT_NOT_FOUND: ErrorEntry(
        404,
        "No delivery under this event id is in the log.",
        "Check the answer of the ingest, and send the event again.",
    ),
    ErrorCode.OBJECT_LOST: ErrorEntry(
        404,
        "The bank's object of the transfer was in a part of the log whose loss was accepted.",
        "The list of transfers has everything except `raw`.",
    ),
    ErrorCode.PREFLIGHT_NOT_FOUND: ErrorEntry(404, "The tenant has no such pre-flight.", "Use a `preflightId`."),
    ErrorCode.ALERT_NOT_FOUND: ErrorEntry(404, "The tenant has no such alert.", "`GET /api/alerts` lists them."),
    ErrorCode.ACTION_NOT_FOUND: ErrorEntry(404, "The tenant has no such action.", "`GET /api/actions` lists them."),
    ErrorCode.SNAPSHOT_NOT_FOUND: ErrorEntry(
        404, "The tenant has no such snapshot of indicators.", "`GET /api/kri/snapshots` lists them."
    ),
    ErrorCode.DISPOSITION_NOT_FOUND: ErrorEntry(
        404, "The tenant has no such disposition.", "`GET /api/dispositions` lists them."
    ),
    ErrorCode.POLICY_NOT_FOUND: ErrorEntry(404, "The tenant has no such policy.", "`GET /api/policies` lists them."),
    ErrorCode.RULE_NOT_FOUND: ErrorEntry(404, "The tenant has no such rule.", "`GET /api/rules` lists them."),
    ErrorCode.SCORECARD_NOT_FOUND: ErrorEntry(
        404, "The tenant has no such scorecard.", "`GET /api/scorecards` lists them."
    ),
    ErrorCode.KEY_NOT_FOUND: ErrorEntry(404, "The tenant has no such API key.", "`GET /api/keys` lists them."),
    ErrorCode.TOKEN_NOT_FOUND: ErrorEntry(
        404,
        "The tenant has issued no such token to a person.",
        "`GET /api/admin/tenants/{tenantId}/operator-tokens` lists them.",
    ),
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
    ErrorCode.SLUG_TAKEN: ErrorEntry(409, "Another tenant, or program of the tenant, has the slug.", "Choose another."),
    ErrorCode.TOO_MANY_KEYS: ErrorEntry(
        409, "The tenant has reached its limit of API keys, or of persons' tokens.", "Revoke one that is not used."
    ),
    ErrorCode.TOO_MANY_WEBHOOKS: ErrorEntry(
        409,
        "The tenant has reached its limit of enabled webhook endpoints.",
        "Disable one with `DELETE /api/webhooks/{webhookId}`.",
    ),
    ErrorCode.POLICY_VERSION_EXISTS: ErrorEntry(
        409, "The tenant has a policy of this version.", "Choose a new version: a policy is never edited."
    ),
    ErrorCode.POLICY_VERSION_NOT_NEXT: ErrorEntry(
        409,
        "The version skips a number: versions of a kind are numbered from 1, over the tenant and its programs.",
        "Take the version that `error` names; `GET /api/policies?prefix=` lists the existing ones.",
    ),
    ErrorCode.TOO_MANY_POLICIES: ErrorEntry(
        409,
        "The tenant has a thousand versions of policies or rules, or 200 of scorecards, which are kept permanently.",
        "Activate an existing version; rules can only be paused.",
    ),
    ErrorCode.POLICY_IN_FORCE: ErrorEntry(409, "The policy is in force already.", "Nothing is left to do."),
    ErrorCode.RULE_ID_TAKEN: ErrorEntry(
        409,
        "The tenant has or had a rule of this id.",
        "Choose another id, or change that rule with `PUT /api/rules/{id}`.",
    ),
    ErrorCode.TOO_MANY_RULES: ErrorEntry(
        409,
        "The tenant has reached its limit of rules, or the rules that count are too long for all programs together.",
        "Archive one with `POST /api/rules/{id}/archive`, or shorten some.",
    ),
    ErrorCode.RULE_NOT_TESTED: ErrorEntry(
        409,
        "The rule's current text has no backtest over 90 days that is less than 24 hours old.",
        "Make one with `POST /api/rules/{id}/backtest`, and request the activation again.",
    ),
    ErrorCode.RULE_IN_FORCE: ErrorEntry(
        409,
        "The rule is in force, with its current or its previous text.",
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
        "A change of the same kind waits for its approver.",
        "`GET /api/actions?status=requested` lists it. Another person approves it; its requester's approval ends it.",
    ),
    ErrorCode.AUTONOMY_UNCHANGED: ErrorEntry(
        409,
        "The program has the tier, and no withdrawn detector is eligible.",
        "Nothing is left to do until `eligibility` changes.",
    ),
    ErrorCode.LIMIT_UNCHANGED: ErrorEntry(
        409,
        "The requested cap is in force, or its removal was requested where no cap is set.",
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
        "The bank cannot return this transfer; `error` has the reason.",
        "Return an ACH transfer, a check or an international wire that was sent and was not returned yet.",
    ),
    ErrorCode.ACTOR_UNSCORED: ErrorEntry(
        409,
        "The actor has no score, because its history is too short.",
        "Wait for more transfers; for an agent use type `agent`, not `entity`.",
    ),
    ErrorCode.ROTATION_PENDING: ErrorEntry(
        409,
        "A new signing key of this purpose is announced already, and has not begun to sign.",
        "Nothing is left to do; `GET /api/admin/signing-keys` shows when it begins to sign.",
    ),
    ErrorCode.ISSUER_UNKNOWN: ErrorEntry(
        409,
        "The service does not know its public address, which a proof must name.",
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
        409, "The first request with the key is still being answered.", TRY_AGAIN
    ),
    ErrorCode.RULE_CHANGED: ErrorEntry(
        412,
        "The rule was changed since the caller read it: If-Match names another ETag.",
        "Read it with `GET /api/rules/{id}`, and send that answer's ETag.",
    ),
}
