"""Actions on money and on permissions, as log entries: a request, an approval, an outcome.

The flow alone decides the effect of an entry, from the state of the action at that time. ``requested`` waits for a
second person; ``approved`` may be carried out; the other three are final.

Unit    instants in microseconds; caps in cents, or a count for ``entity_velocity_24h``, None is no cap
"""

from enum import StrEnum
from typing import Any, Final

import msgspec

from clearhold.features.core.entries.commands import OperatorKind
from clearhold.features.core.principal import OperatorIdentity
from clearhold.features.core.vocabulary import AlertDecision


class ActionType(StrEnum):
    """The kind of action. The last seven change what this platform does, and have their own routes."""

    CLEAR_HOLD = "clear_hold"
    CANCEL_TRANSFER = "cancel_transfer"
    PAUSE_CARD = "pause_card"
    SUSPEND_CARD_ACCOUNT = "suspend_card_account"
    FREEZE_ACCOUNT = "freeze_account"
    REQUEST_TO_PROGRAM = "request_to_program"
    PERIODIC_REVIEW = "periodic_review"
    SET_LIMIT = "set_limit"
    ACTIVATE_POLICY = "activate_policy"
    SET_AUTONOMY = "set_autonomy"
    ACTIVATE_RULE = "activate_rule"
    PAUSE_RULE = "pause_rule"
    ACTIVATE_SCORECARD = "activate_scorecard"
    DECIDE_ALERT = "decide_alert"


class ActionStatus(StrEnum):
    """``approved`` is also an action of one approver before it is carried out."""

    REQUESTED = "requested"
    APPROVED = "approved"
    EXECUTED = "executed"
    FAILED = "failed"
    REFUSED = "refused"


CHANGES_OF_OURS: Final = frozenset(
    {
        ActionType.SET_LIMIT,
        ActionType.ACTIVATE_POLICY,
        ActionType.SET_AUTONOMY,
        ActionType.ACTIVATE_RULE,
        ActionType.ACTIVATE_SCORECARD,
    }
)
ONE_IS_ENOUGH: Final = frozenset({ActionType.PAUSE_RULE})
"""Changes that only narrow: no policy requires a second person."""
ALWAYS_TWO_APPROVERS: Final = CHANGES_OF_OURS | {
    ActionType.FREEZE_ACCOUNT,
    ActionType.REQUEST_TO_PROGRAM,
    ActionType.SUSPEND_CARD_ACCOUNT,
}
FINAL: Final = frozenset({ActionStatus.EXECUTED, ActionStatus.FAILED, ActionStatus.REFUSED})


PLATFORM: Final = "policy:platform"
"""The author of outcomes and of autonomy that a tick narrows; no X-Operator can begin like this."""


class ActionEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A request; ``id`` becomes the action's. ``change`` is the change of a program or tenant (``Change``), else None.

    ``alert_sha256`` is the digest of the alert as it opened, which the state forgets once the alert is closed.
    """

    id: str
    tenant_id: str
    alert_id: str | None
    alert_sha256: str | None
    type: ActionType
    target_type: str
    target_id: str
    operator: str
    operator_kind: OperatorKind
    principal_id: str
    change: dict[str, Any] | None
    at: int
    identity: OperatorIdentity | None = None


class DecisionChange(msgspec.Struct, frozen=True, kw_only=True):
    """The decision on an alert that an action waits with, and its narrative."""

    decision: AlertDecision
    narrative: str


class ApprovalEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The approval by a second person. ``approver`` is on the record, and ``operator`` sent it."""

    id: str
    action_id: str
    approver: str
    operator: str
    principal_id: str
    at: int
    identity: OperatorIdentity | None = None


class OutcomeEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The outcome of carrying out an approved action. ``error`` None: it was carried out.

    ``body_sha256`` is the digest of the version that it brought into force.
    """

    id: str
    action_id: str
    bank_response: dict[str, Any] | None
    error: str | None
    at: int
    body_sha256: str | None = None


def same_person(one: str, other: str) -> bool:
    """Whether two names are of one person, ignoring letter case and spaces.

    >>> same_person("J. Lee", " j.  LEE ")
    True
    """
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()
