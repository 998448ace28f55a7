"""The refusals of log entries: one error for each result except ``made``.

The flow decides on refusals, by the state at the time when the entry is applied
(``features/core/entries/commands.py``).
"""

from collections.abc import Callable, Mapping
from typing import Final

from clearhold.features.core.entries.commands import EntryResult, ResultKind
from clearhold.features.core.errors import ConflictError, ErrorCode, InvalidRequestError, NotFoundError, RiskError
from clearhold.features.core.rows.alerts import EntryResultRow


class UnknownAlertError(NotFoundError):
    def __init__(self) -> None:
        super().__init__("Unknown alert on this tenant.", ErrorCode.ALERT_NOT_FOUND)


class UnknownTransferError(NotFoundError):
    def __init__(self) -> None:
        super().__init__("Unknown transfer on this tenant.", ErrorCode.TRANSFER_NOT_FOUND)


class AlertClosedError(ConflictError):
    def __init__(self) -> None:
        super().__init__(
            "This alert is closed, which is final. An appeal opens a new alert.",
            ErrorCode.ALERT_CLOSED,
        )


class AlertNotHeldError(ConflictError):
    def __init__(self) -> None:
        super().__init__("Only an alert with status held can be released.", ErrorCode.ALERT_NOT_HELD)


class AlreadyDecidedError(ConflictError):
    def __init__(self) -> None:
        super().__init__(
            "This alert already has this decision, and nothing has changed since.", ErrorCode.ALREADY_DECIDED
        )


class AlreadyAppealedError(ConflictError):
    def __init__(self) -> None:
        super().__init__(
            "This alert was already appealed. Decide the alert that the appeal opened.", ErrorCode.ALREADY_APPEALED
        )


class AlertNotClosedError(ConflictError):
    def __init__(self) -> None:
        super().__init__("Only a closed alert can be appealed.", ErrorCode.ALERT_NOT_CLOSED)


class PersonNeededError(InvalidRequestError):
    def __init__(self) -> None:
        super().__init__(
            "This alert needs a person: name one in the header X-Operator when calling with an API key.",
            ErrorCode.PERSON_REQUIRED,
        )


class UnknownActionError(NotFoundError):
    def __init__(self) -> None:
        super().__init__("Unknown action on this tenant.", ErrorCode.ACTION_NOT_FOUND)


class ApproverNeededError(InvalidRequestError):
    def __init__(self) -> None:
        super().__init__(
            "An approval needs a person: name one in the header X-Operator when calling with an API key.",
            ErrorCode.PERSON_REQUIRED,
        )


class ChangePendingError(ConflictError):
    def __init__(self) -> None:
        super().__init__("A change of this is already requested and waits for its approver.", ErrorCode.CHANGE_PENDING)


class AutonomyUnchangedError(ConflictError):
    def __init__(self) -> None:
        super().__init__(
            "The program has this tier, and no withdrawn detector is eligible.", ErrorCode.AUTONOMY_UNCHANGED
        )


class NotEligibleError(ConflictError):
    def __init__(self) -> None:
        super().__init__(
            "The evidence lets no further detector be closed without a person.", ErrorCode.AUTONOMY_NOT_ELIGIBLE
        )


class TooEarlyError(ConflictError):
    def __init__(self) -> None:
        super().__init__("The program's autonomy was widened less than 7 days ago.", ErrorCode.AUTONOMY_TOO_EARLY)


class LimitUnchangedError(ConflictError):
    def __init__(self) -> None:
        super().__init__("This cap is in force already.", ErrorCode.LIMIT_UNCHANGED)


class PolicyInForceError(ConflictError):
    def __init__(self) -> None:
        super().__init__("This policy is in force already.", ErrorCode.POLICY_IN_FORCE)


_CARRIED_OUT: Final = frozenset({EntryResult.MADE, EntryResult.NOT_WAITING})
"""An approval of an action that no longer waits is not a refusal: the action stays unchanged (ruling 27)."""
_UNKNOWN: Final[Mapping[ResultKind, Callable[[], RiskError]]] = {
    ResultKind.DECISION: UnknownAlertError,
    ResultKind.APPEAL: UnknownAlertError,
    ResultKind.LABEL: UnknownTransferError,
    ResultKind.APPROVAL: UnknownActionError,
}
_REFUSALS: Final[Mapping[EntryResult, Callable[[], RiskError]]] = {
    EntryResult.FINAL: AlertClosedError,
    EntryResult.NOT_HELD: AlertNotHeldError,
    EntryResult.ALREADY: AlreadyDecidedError,
    EntryResult.APPEALED: AlreadyAppealedError,
    EntryResult.NOT_FINAL: AlertNotClosedError,
    EntryResult.NEEDS_PERSON: PersonNeededError,
    EntryResult.PENDING: ChangePendingError,
    EntryResult.UNCHANGED: AutonomyUnchangedError,
    EntryResult.NOT_ELIGIBLE: NotEligibleError,
    EntryResult.TOO_EARLY: TooEarlyError,
    EntryResult.IN_FORCE: PolicyInForceError,
    EntryResult.SAME_CAP: LimitUnchangedError,
}


def refusal_of(row: EntryResultRow) -> RiskError | None:
    """The error of a refused entry; None for an executed one."""
    result = EntryResult(row.result)
    if result in _CARRIED_OUT:
        return None
    if result is EntryResult.UNKNOWN:
        return _UNKNOWN[ResultKind(row.kind)]()
    return _REFUSALS[result]()
