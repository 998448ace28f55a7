"""Errors: each has one sentence that is safe to show to any caller, and a code for programs.

``api/http/error_table.py`` gives the HTTP status of every code, and the cure for a caller.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

import msgspec

from clearhold.features.core.vocabulary import about


class ErrorCode(StrEnum):
    """The kind of failure. A code never changes its meaning; a new meaning gets a new code."""

    VALIDATION_FAILED = "validation_failed"
    INVALID_JSON = "invalid_json"
    PROGRAM_REQUIRED = "program_required"
    CURSOR_INVALID = "cursor_invalid"
    OPERATOR_REQUIRED = "operator_required"
    OPERATOR_INVALID = "operator_invalid"
    PERSON_REQUIRED = "person_required"
    IDEMPOTENCY_KEY_INVALID = "idempotency_key_invalid"
    VERSION_UNSUPPORTED = "version_unsupported"
    BODY_INCOMPLETE = "body_incomplete"
    REQUEST_TOO_SLOW = "request_too_slow"
    HTTP_UNREADABLE = "http_unreadable"

    TOKEN_MISSING = "token_missing"  # noqa: S105 - a code, not a token
    TOKEN_UNKNOWN = "token_unknown"  # noqa: S105 - as above
    TOKEN_REPLACED = "token_replaced"  # noqa: S105 - as above
    TOKEN_OF_ANOTHER_KIND = "token_of_another_kind"  # noqa: S105 - as above
    TOKEN_EXPIRED = "token_expired"  # noqa: S105 - as above
    TOKEN_REVOKED = "token_revoked"  # noqa: S105 - as above
    KEY_REVOKED = "key_revoked"
    TENANT_MISMATCH = "tenant_mismatch"
    PROGRAM_NOT_OWNED = "program_not_owned"
    SIGNATURE_INVALID = "signature_invalid"

    SCOPE_MISSING = "scope_missing"
    OPERATOR_TOKEN_REQUIRED = "operator_token_required"  # noqa: S105 - as above
    OPERATOR_MISMATCH = "operator_mismatch"
    PERSON_TOKEN_REQUIRED = "person_token_required"  # noqa: S105 - as above
    TENANT_WIDE_REQUIRED = "tenant_wide_required"
    TEST_KEY_REQUIRED = "test_key_required"
    PROGRAM_OUT_OF_REACH = "program_out_of_reach"
    ORIGIN_REFUSED = "origin_refused"

    PATH_NOT_FOUND = "path_not_found"
    TENANT_NOT_FOUND = "tenant_not_found"
    PROGRAM_NOT_FOUND = "program_not_found"
    ENTITY_NOT_FOUND = "entity_not_found"
    COUNTERPARTY_NOT_FOUND = "counterparty_not_found"
    ACCOUNT_NOT_FOUND = "account_not_found"
    AGENT_NOT_FOUND = "agent_not_found"
    TRANSFER_NOT_FOUND = "transfer_not_found"
    EVENT_NOT_FOUND = "event_not_found"
    OBJECT_LOST = "object_lost"
    PREFLIGHT_NOT_FOUND = "preflight_not_found"
    ALERT_NOT_FOUND = "alert_not_found"
    STACK_NOT_FOUND = "stack_not_found"
    ACTION_NOT_FOUND = "action_not_found"
    SNAPSHOT_NOT_FOUND = "snapshot_not_found"
    DISPOSITION_NOT_FOUND = "disposition_not_found"
    POLICY_NOT_FOUND = "policy_not_found"
    RULE_NOT_FOUND = "rule_not_found"
    SCORECARD_NOT_FOUND = "scorecard_not_found"
    KEY_NOT_FOUND = "key_not_found"
    TOKEN_NOT_FOUND = "token_not_found"  # noqa: S105 - as above
    SIGNING_KEY_NOT_FOUND = "signing_key_not_found"
    WEBHOOK_NOT_FOUND = "webhook_not_found"
    DELIVERY_NOT_FOUND = "delivery_not_found"
    CHAIN_TOO_SHORT = "chain_too_short"

    METHOD_NOT_ALLOWED = "method_not_allowed"

    SLUG_TAKEN = "slug_taken"
    TOO_MANY_KEYS = "too_many_keys"
    TOO_MANY_WEBHOOKS = "too_many_webhooks"
    POLICY_VERSION_EXISTS = "policy_version_exists"
    POLICY_VERSION_NOT_NEXT = "policy_version_not_next"
    TOO_MANY_POLICIES = "too_many_policies"
    POLICY_IN_FORCE = "policy_in_force"
    RULE_ID_TAKEN = "rule_id_taken"
    TOO_MANY_RULES = "too_many_rules"
    RULE_NOT_TESTED = "rule_not_tested"
    RULE_IN_FORCE = "rule_in_force"
    RULE_NOT_ACTIVE = "rule_not_active"
    RULE_ARCHIVED = "rule_archived"
    SCORECARD_IN_FORCE = "scorecard_in_force"
    SCORECARD_NOT_REPORTED = "scorecard_not_reported"
    ALERT_CLOSED = "alert_closed"
    ALERT_NOT_IN_STACK = "alert_not_in_stack"
    STACK_NOT_SPLIT = "stack_not_split"
    ALERT_NOT_HELD = "alert_not_held"
    ALERT_NOT_CLOSED = "alert_not_closed"
    ALREADY_DECIDED = "already_decided"
    ALREADY_APPEALED = "already_appealed"
    CHANGE_PENDING = "change_pending"
    ACTION_NOT_WAITING = "action_not_waiting"
    OWN_ACTION = "own_action"
    NOT_THE_REQUESTER = "not_the_requester"
    AUTONOMY_UNCHANGED = "autonomy_unchanged"
    LIMIT_UNCHANGED = "limit_unchanged"
    CONFIG_CHANGED = "config_changed"
    AUTONOMY_NOT_ELIGIBLE = "autonomy_not_eligible"
    AUTONOMY_TOO_EARLY = "autonomy_too_early"
    TRANSFER_NOT_RETURNABLE = "transfer_not_returnable"
    ACTOR_UNSCORED = "actor_unscored"
    ROTATION_PENDING = "rotation_pending"
    ISSUER_UNKNOWN = "issuer_unknown"
    CHAIN_INCONSISTENT = "chain_inconsistent"
    IDEMPOTENCY_MISMATCH = "idempotency_mismatch"
    IDEMPOTENCY_IN_FLIGHT = "idempotency_in_flight"

    RULE_CHANGED = "rule_changed"

    BODY_TOO_LARGE = "body_too_large"
    MEDIA_TYPE_UNSUPPORTED = "media_type_unsupported"
    RATE_LIMITED = "rate_limited"
    TOO_MANY_AT_ONCE = "too_many_at_once"
    HEADERS_TOO_LARGE = "headers_too_large"
    INTERNAL_ERROR = "internal_error"
    TRANSFER_CODING_UNKNOWN = "transfer_coding_unknown"

    SCAN_INDEX_UNSET = "scan_index_unset"
    SCAN_INDEX_FAILED = "scan_index_failed"

    UNAVAILABLE = "unavailable"
    STARTING = "starting"
    STANDBY = "standby"
    CATCHING_UP = "catching_up"
    OVERLOADED = "overloaded"
    NOT_CONFIRMED = "not_confirmed"
    DEADLINE_EXCEEDED = "deadline_exceeded"

    HTTP_VERSION_UNSUPPORTED = "http_version_unsupported"


class FieldCode(StrEnum):
    """The rule that a field of a request breaks."""

    REQUIRED = "required"
    UNKNOWN = "unknown"
    WRONG_TYPE = "wrong_type"
    NOT_ONE_OF = "not_one_of"
    MALFORMED = "malformed"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    TOO_SMALL = "too_small"
    TOO_LARGE = "too_large"
    REPEATED = "repeated"
    CONFLICTING = "conflicting"


class FieldError(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a request that breaks a rule.

    ``path`` is dotted for a body (``transfer.amountCents``, ``when[0].op``), else the name of the parameter or header.
    """

    path: str
    code: Annotated[FieldCode, about("The broken rule.")]


class WrittenFault(NamedTuple):
    """One fault of a rule or a card. ``sentence`` continues the path: "must be …"; it quotes no input."""

    path: str
    sentence: str
    code: FieldCode


CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Line breaks, marks that turn the direction of text, and halves of characters, beside the control characters."""


class RiskError(Exception):
    """A refusal; ``str(error)`` is the sentence a caller reads, ``code`` and ``fields`` are for its program."""

    def __init__(self, sentence: str, code: ErrorCode, *, fields: Iterable[FieldError] = ()) -> None:
        super().__init__(sentence)
        self.code = code
        self.fields = tuple(fields)


class InvalidRequestError(RiskError):
    """The input breaks a rule of the interface."""

    def __init__(
        self, sentence: str, code: ErrorCode = ErrorCode.VALIDATION_FAILED, *, fields: Iterable[FieldError] = ()
    ) -> None:
        super().__init__(sentence, code, fields=fields)


class UnauthorizedError(RiskError):
    """The caller did not prove who it is."""


class ForbiddenError(RiskError):
    """The caller is known and may not do this."""


class NotFoundError(RiskError):
    """No such object on this tenant."""


class ConflictError(RiskError):
    """The object's state, or an earlier request, conflicts with this one."""


class StaleError(RiskError):
    """The object has changed since the caller read it."""


class RateLimitedError(RiskError):
    """The caller exceeds its rate; the same request can succeed later."""

    def __init__(self, sentence: str, code: ErrorCode = ErrorCode.RATE_LIMITED) -> None:
        super().__init__(sentence, code)


class UnavailableError(RiskError):
    """The service cannot do this durably right now; nothing was stored."""

    def __init__(self, sentence: str, code: ErrorCode = ErrorCode.UNAVAILABLE) -> None:
        super().__init__(sentence, code)


class GatewayError(RiskError):
    """A service that is called for the caller is unreachable, or its answer is malformed."""


def invalid(path: str, rule: str, code: FieldCode) -> InvalidRequestError:
    """The 400 for one field: ``Validation failed: transfer.amountCents must be ...``."""
    return InvalidRequestError(f"Validation failed: {path} {rule}", fields=(FieldError(path=path, code=code),))
