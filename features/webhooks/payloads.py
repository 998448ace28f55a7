"""The body of a delivery: the envelope of an event, and the ``data`` of each type, one Struct a type.

Ids, words of closed sets, scores and amounts. No names, no account numbers, no text by a person and nothing of the
bank's ``raw``: a receiver reads those from the API under its key.

Unit    money as a string of integer cents; instants as everywhere in the interface
"""

from enum import StrEnum
from typing import Final

import msgspec

from clearhold.features.catalogue.kris import KriValue
from clearhold.features.core.entries.commands import DecisionWarning
from clearhold.features.core.principal import Simulated


class EventType(StrEnum):
    """``ping`` is sent on request alone, and never subscribed to."""

    ALERT_OPENED = "alert.opened"
    DISPOSITION_SIGNED = "disposition.signed"
    ACTION_CREATED = "action.created"
    ACTION_APPROVED = "action.approved"
    PREFLIGHT_SCORED = "preflight.scored"
    TRANSFER_SCORED = "transfer.scored"
    LABEL_RECORDED = "label.recorded"
    KRI_SNAPSHOT = "kri.snapshot"
    PING = "ping"


SUBSCRIBABLE: Final = tuple(each for each in EventType if each is not EventType.PING)


MAX_BODY_BYTES: Final = 20_000


class AlertOpened(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An opened alert. ``status`` is auto_closed where the policy closed it at once."""

    alert_id: str
    detector: str
    severity: str
    subject_type: str
    subject_id: str
    transfer_id: str | None
    score_at_alert: int | None
    band_at_alert: str | None
    hard_signal: bool
    status: str
    route: str
    sla_tier: str
    policy_version: str
    opened_at: str
    due_at: str | None
    appeal_of: str | None
    from_history: bool
    simulated: Simulated = msgspec.UNSET


class DispositionSigned(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A decision on an alert, by a person, a key or the policy.

    ``action_id`` is the executed action that it follows from; ``warnings`` name the actions that it contradicts.
    """

    disposition_id: str
    alert_id: str
    decision: str
    decided_by_kind: str
    policy_version: str
    overturns_draft: bool | None
    created_at: str
    action_id: str | None
    warnings: tuple[DecisionWarning, ...]
    simulated: Simulated = msgspec.UNSET


class ActionCreated(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An action as requested. ``status`` is requested while it waits for a second person."""

    action_id: str
    type: str
    target_type: str
    target_id: str
    alert_id: str | None
    status: str
    created_at: str
    simulated: Simulated = msgspec.UNSET


class ActionApproved(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An action that a second person approved."""

    action_id: str
    type: str
    target_type: str
    target_id: str
    alert_id: str | None
    status: str
    created_at: str
    approved_at: str
    simulated: Simulated = msgspec.UNSET


class PreflightScored(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The recorded answer to a pre-flight."""

    preflight_id: str
    decision: str
    score: int | None
    band: str
    version: str
    n: int
    confidence: float | None
    rail: str
    direction: str
    type: str | None
    amount_cents: str
    currency: str
    entity_id: str | None
    counterparty_id: str | None
    limits_hit: tuple[str, ...]
    degraded: bool
    created_at: str
    simulated: Simulated = msgspec.UNSET


class TransferScored(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A scoring of a transfer at landing, or after a change or a return; none by a backfill."""

    transfer_id: str
    rail: str
    direction: str
    type: str | None
    amount_cents: str
    currency: str
    status: str
    entity_id: str | None
    counterparty_id: str | None
    return_code: str | None
    score: int | None
    band: str | None
    version: str | None
    n: int | None
    confidence: float | None
    bank_created_at: str
    scored_at: str
    simulated: Simulated = msgspec.UNSET


class LabelRecorded(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether a transfer turned out bad or ok."""

    label_id: str
    transfer_id: str
    label: str
    source: str
    created_at: str
    simulated: Simulated = msgspec.UNSET


class KriSnapshotTaken(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All indicators of a program as of one instant, with the program's score."""

    snapshot_id: str
    cause: str
    as_of: str
    window_days: int
    program_score: int | None
    program_score_n: int
    program_score_version: str
    band: str
    kris: dict[str, KriValue]
    simulated: Simulated = msgspec.UNSET


class Ping(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What POST /api/webhooks/{id}/test sends."""

    endpoint_id: str
    simulated: Simulated = msgspec.UNSET


class WebhookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a tenant. ``id`` follows from its cause, so that a replay gives the same.

    ``program_id`` None is the tenant's own; ``created_at`` is microseconds.
    """

    id: str
    type: EventType
    tenant_id: str
    program_id: str | None
    created_at: int
    data: msgspec.Struct


class Payload(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body of a delivery. ``tenant`` is the slug, ``program`` the id or null."""

    id: str
    type: EventType
    created_at: str
    tenant: str
    program: str | None
    data: msgspec.Raw
