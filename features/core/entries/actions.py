"""Actions on money and on permissions, as log entries: a request, an approval, an outcome; and the changes that they
make to caps and to autonomy.

The flow alone decides the effect of an entry, from the state of the action at that time. ``requested`` waits for a
second person; ``approved`` may be carried out; the others are final.

Autonomy is how far the platform may close a program's alerts alone: ``supervised`` closes nothing alone, ``standard``
is the policy unchanged, ``trusted`` adds the granted detectors.

Unit    instants in microseconds; caps in cents, or a count for ``entity_velocity_24h``, None is no cap
"""

from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from clearhold.features.core.entries.commands import OperatorKind
from clearhold.features.core.principal import OperatorIdentity
from clearhold.features.core.vocabulary import AlertDecision, about


class ActionType(StrEnum):
    """The kind of action. The last eight change what this platform does, and have their own routes."""

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
    APPLY_CONFIG = "apply_config"


class ActionStatus(StrEnum):
    """``approved`` is also an action of one approver before it is carried out."""

    REQUESTED = "requested"
    APPROVED = "approved"
    EXECUTED = "executed"
    FAILED = "failed"
    REFUSED = "refused"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"


CHANGES_OF_OURS: Final = frozenset(
    {
        ActionType.SET_LIMIT,
        ActionType.ACTIVATE_POLICY,
        ActionType.SET_AUTONOMY,
        ActionType.ACTIVATE_RULE,
        ActionType.ACTIVATE_SCORECARD,
        ActionType.APPLY_CONFIG,
    }
)
ONE_IS_ENOUGH: Final = frozenset({ActionType.PAUSE_RULE})
"""Changes that only narrow: no policy requires a second person."""
ALWAYS_TWO_APPROVERS: Final = CHANGES_OF_OURS | {
    ActionType.FREEZE_ACCOUNT,
    ActionType.REQUEST_TO_PROGRAM,
    ActionType.SUSPEND_CARD_ACCOUNT,
}
ENDED: Final = frozenset({ActionStatus.DECLINED, ActionStatus.WITHDRAWN})
"""Ended by a person, with a note, before anything was carried out."""
FINAL: Final = ENDED | {ActionStatus.EXECUTED, ActionStatus.FAILED, ActionStatus.REFUSED}


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


class ApprovalAnswer(StrEnum):
    """The answer of a person to an action that waits: another person approves or declines it, its requester withdraws
    it.
    """

    APPROVE = "approve"
    DECLINE = "decline"
    WITHDRAW = "withdraw"


class ApprovalEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The answer to a waiting action: the approval by a second person, unless ``answer`` says another.

    ``approver`` is the person on the record, and ``operator`` sent it. ``note`` says why an action is declined or
    withdrawn; of an approval, what the console knows of its two names.
    """

    id: str
    action_id: str
    approver: str
    operator: str
    principal_id: str
    at: int
    identity: OperatorIdentity | None = None
    answer: ApprovalAnswer = ApprovalAnswer.APPROVE
    note: str | None = None


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
    return person_key(one) == person_key(other)


def person_key(name: str) -> str:
    """The form in which all names of one person are equal."""
    return " ".join(name.split()).casefold()


class CapKind(StrEnum):
    ACH_DEBIT_DAILY = "ach_debit_daily"  # ACH debits that the program originates, in a day (UTC)
    ACH_DEBIT_MONTHLY = "ach_debit_monthly"  # the same in a calendar month (UTC)
    PER_TRANSACTION = "per_transaction"  # one outgoing transfer
    ENTITY_DAILY = "entity_daily"  # what one entity sends out, in a day (UTC)
    ENTITY_VELOCITY_24H = "entity_velocity_24h"  # transfers of one entity in 24 hours, in either direction


COUNTED_KINDS: Final = frozenset({CapKind.ENTITY_VELOCITY_24H})
"""The kinds whose cap is a count; the others are in cents."""

MOST_CAP: Final = 2**53
"""No cap is higher: some readers of JSON cannot tell larger integers apart."""


class LimitChange(msgspec.Struct, frozen=True, kw_only=True):
    """One changed cap in the record: caps are strings of digits, because the record holds no integer of 2^53.

    ``from_`` is the cap in force at the request, which the state fills in.
    """

    kind: CapKind
    to: str | None
    note: str | None
    from_: str | None = msgspec.field(name="from", default=None)


class CapVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A cap that came into force, or its removal where ``cap`` is None; ``before`` is the replaced cap."""

    kind: CapKind
    cap: int | None
    before: int | None
    version: str
    requested_by: str
    approved_by: str
    since: int
    note: str | None
    action_id: str


def digits_of(cap: int | None) -> str | None:
    return None if cap is None else str(cap)


def cap_of(digits: str | None) -> int | None:
    return None if digits is None else int(digits)


class AutonomyTier(StrEnum):
    """From the narrowest to the widest."""

    SUPERVISED = "supervised"
    STANDARD = "standard"
    TRUSTED = "trusted"


TIERS: Final = tuple(AutonomyTier)


class AutonomyBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One version of a program's autonomy.

    ``granted`` detectors are closable beside those of the policy; ``withdrawn`` ones are not closable here, although
    the policy has them or they were granted. ``note`` is the person's text, or the rule that narrowed the autonomy.
    """

    version: Annotated[str, about("The version, counted by program.")]
    tier: AutonomyTier
    granted: tuple[str, ...]
    withdrawn: Annotated[
        tuple[str, ...],
        about("Detectors that may not be closed alone here, although the policy has them or they were granted."),
    ]
    note: Annotated[str, about("Why: in the words of the person, or by which rule it narrowed by itself.")]


class AutonomyVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version with the instant from which it is in force."""

    body: AutonomyBody
    created_at: int


class AutonomyRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The change that a person requests."""

    tier: AutonomyTier
    note: str


class AutonomyChange(msgspec.Struct, frozen=True, kw_only=True, rename={"replaced": "from"}):
    """The change as recorded in its action: the replaced version, None for the first, and the new body."""

    replaced: str | None
    body: AutonomyBody


class DetectorTally(msgspec.Struct, kw_only=True):
    """Counts over a detector's closable alerts on one program; ``recent`` ones are of the last 30 days."""

    alerts: int = 0
    labelled: int = 0  # by matured labels
    bad: int = 0
    reviewed: int = 0
    overturned: int = 0
    recent_reviewed: int = 0
    recent_overturned: int = 0


def autonomy_version(number: int) -> str:
    return f"autonomy-v{number}"


class Signers(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The two persons behind a change of limits that a configuration makes, and the requester's note."""

    requested_by: str
    approved_by: str
    note: str | None


class PolicyEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A version brought into force by an approved action; the same ``action_id`` applied again changes nothing.

    ``from_start`` is for the policies that a new program begins with, which count for all its history. Only limits have
    ``signers``; the program's state numbers their versions.
    """

    tenant_id: str
    version: str
    body: dict[str, Any]
    action_id: str
    of_program: bool  # activated for the program alone, not for the whole tenant
    from_start: bool = False
    signers: Signers | None = None
