"""The refusals of log entries: one error for each result except ``made``.

The flow decides on refusals, by the state at the time when the entry is applied
(``features/core/entries/commands.py``).
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from clearhold.features.core.entries.commands import EntryResult, ResultKind
from clearhold.features.core.errors import (
    ConflictError,
    ErrorCode,
    FieldCode,
    FieldError,
    InvalidRequestError,
    NotFoundError,
    RiskError,
)
from clearhold.features.core.rows.alerts import EntryResultRow

unknown_alert: Final = partial(NotFoundError, "Unknown alert on this tenant.", ErrorCode.ALERT_NOT_FOUND)
unknown_transfer: Final = partial(NotFoundError, "Unknown transfer on this tenant.", ErrorCode.TRANSFER_NOT_FOUND)
person_needed: Final = partial(
    InvalidRequestError,
    "This alert needs a person: name one in the header X-Operator when calling with an API key.",
    ErrorCode.PERSON_REQUIRED,
)
unknown_action: Final = partial(NotFoundError, "Unknown action on this tenant.", ErrorCode.ACTION_NOT_FOUND)
approver_needed: Final = partial(
    InvalidRequestError,
    "An approval needs a person: name one in the header X-Operator when calling with an API key.",
    ErrorCode.PERSON_REQUIRED,
)
change_pending: Final = partial(
    ConflictError, "A change of this is already requested and waits for its approver.", ErrorCode.CHANGE_PENDING
)

_CARRIED_OUT: Final = frozenset({EntryResult.MADE, EntryResult.NOT_WAITING})
"""An approval of an action that no longer waits is not a refusal: the action stays unchanged."""
_UNKNOWN: Final[Mapping[ResultKind, Callable[[], RiskError]]] = {
    ResultKind.DECISION: unknown_alert,
    ResultKind.APPEAL: unknown_alert,
    ResultKind.LABEL: unknown_transfer,
    ResultKind.APPROVAL: unknown_action,
    ResultKind.ACTION: unknown_transfer,  # of a ``clear_hold``
}
_REFUSALS: Final[Mapping[EntryResult, Callable[[], RiskError]]] = {
    EntryResult.FINAL: partial(
        ConflictError, "This alert is closed, which is final. An appeal opens a new alert.", ErrorCode.ALERT_CLOSED
    ),
    EntryResult.NOT_HELD: partial(
        ConflictError, "Only an alert with status held can be released.", ErrorCode.ALERT_NOT_HELD
    ),
    EntryResult.ALREADY: partial(
        ConflictError, "This alert already has this decision, and nothing has changed since.", ErrorCode.ALREADY_DECIDED
    ),
    EntryResult.APPEALED: partial(
        ConflictError,
        "This alert was already appealed. Decide the alert that the appeal opened.",
        ErrorCode.ALREADY_APPEALED,
    ),
    EntryResult.NOT_FINAL: partial(ConflictError, "Only a closed alert can be appealed.", ErrorCode.ALERT_NOT_CLOSED),
    EntryResult.NEEDS_PERSON: person_needed,
    EntryResult.NARRATIVE_TOO_SHORT: partial(
        InvalidRequestError,
        "Validation failed: narrative must have the characters that minNarrativeChars of the policy in force asks for "
        "an alert of this severity, without the white space around them",
        fields=[FieldError(path="narrative", code=FieldCode.TOO_SHORT)],
    ),
    EntryResult.PENDING: change_pending,
    EntryResult.UNCHANGED: partial(
        ConflictError, "The program has this tier, and no withdrawn detector is eligible.", ErrorCode.AUTONOMY_UNCHANGED
    ),
    EntryResult.NOT_ELIGIBLE: partial(
        ConflictError,
        "The evidence lets no further detector be closed without a person.",
        ErrorCode.AUTONOMY_NOT_ELIGIBLE,
    ),
    EntryResult.TOO_EARLY: partial(
        ConflictError, "The program's autonomy was widened less than 7 days ago.", ErrorCode.AUTONOMY_TOO_EARLY
    ),
    EntryResult.IN_FORCE: partial(ConflictError, "This policy is in force already.", ErrorCode.POLICY_IN_FORCE),
    EntryResult.SAME_CAP: partial(ConflictError, "This cap is in force already.", ErrorCode.LIMIT_UNCHANGED),
}


def refusal_of(row: EntryResultRow) -> RiskError | None:
    """The error of a refused entry; None for an executed one."""
    result = EntryResult(row.result)
    if result in _CARRIED_OUT:
        return None
    if result is EntryResult.UNKNOWN:
        return _UNKNOWN[ResultKind(row.kind)]()
    return _REFUSALS[result]()
