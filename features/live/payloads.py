"""The event of a committed row for a program's readers, and its ``data``, one Struct a kind.

Ids, words of closed sets, scores and amounts, under the names of the API. No names, no account numbers, no text by a
person and nothing of the bank's ``raw``: a reader asks the API for those, under its key.

Unit    money as a string of integer cents; instants as everywhere in the interface
"""

from enum import StrEnum
from typing import Final

import msgspec

from clearhold.features.catalogue.kris import KriValue
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Simulated


class LiveKind(StrEnum):
    """In the order of the events of one log entry."""

    TRANSFER_SCORED = "transfer.scored"
    ACTOR_SCORED = "actor.scored"
    PROGRAM_SCORED = "program.scored"
    KRI_SNAPSHOT = "kri.snapshot"
    ALERT_OPENED = "alert.opened"
    ALERT_CHANGED = "alert.changed"
    DISPOSITION_CREATED = "disposition.created"
    ACTION_CHANGED = "action.changed"


class LiveCause(StrEnum):
    """``backfill`` is a row that a step of a backfill has written, about earlier transfers; others are ``stream``."""

    STREAM = "stream"
    BACKFILL = "backfill"


class LiveTransferScore(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A scoring of a transfer: at landing, after a change or a return, and by a backfill."""

    transfer_id: str
    rail: str
    direction: str
    type: str | None
    amount_cents: str
    currency: str
    status: str
    entity_id: str | None
    account_id: str | None
    counterparty_id: str | None
    return_code: str | None
    score: int | None
    band: str | None
    version: str | None
    n: int | None
    confidence: float | None
    bank_created_at: str
    scored_at: str | None


class LiveActorScore(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A changed score of an entity, a counterparty, an agent or the program itself."""

    score_id: str
    subject_type: str
    subject_id: str
    score: int | None
    band: str
    former_band: str
    n: int
    confidence: float | None
    version: str
    hard: bool
    degraded: bool
    scored_at: str


class LiveSnapshot(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """All indicators of a program as of one instant, without their notes, and the program's score."""

    snapshot_id: str
    cause: str
    as_of: str
    window_days: int
    program_score: int | None
    program_score_n: int
    program_score_version: str
    band: str
    kris: dict[str, KriValue]


class LiveAlert(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """An alert as opened or changed. ``status`` is auto_closed where the policy closed it at once."""

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
    escalated_at: str | None
    closed_at: str | None
    updated_at: str
    appeal_of: str | None
    from_history: bool


class LiveDisposition(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A decision on an alert, by a person, a key or the policy (``decided_by_kind``)."""

    disposition_id: str
    alert_id: str
    decision: str
    decided_by_kind: str
    policy_version: str
    overturns_draft: bool | None
    action_id: str | None
    created_at: str


class LiveAction(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """An action as requested, approved, executed or ended otherwise."""

    action_id: str
    type: str
    target_type: str
    target_id: str
    alert_id: str | None
    status: str
    created_at: str
    executed_at: str | None
    updated_at: str


LiveData = LiveTransferScore | LiveActorScore | LiveSnapshot | LiveAlert | LiveDisposition | LiveAction


class LiveEvent(msgspec.Struct, frozen=True, gc=False):
    """One committed row of a program, whose events are in the order of ``offset`` and ``index``.

    ``program_id`` is the tenant's id for an action on the whole tenant. ``index`` counts the events of the program from
    one log entry, from 0. ``at`` is the entry's time in microseconds. ``severity`` is that of an alert, ``band`` that
    of a score, of an alert's transfer or of a snapshot; else None.
    """

    tenant_id: str
    program_id: str
    shard: int
    offset: int
    index: int
    kind: LiveKind
    at: int
    cause: LiveCause
    is_simulated: bool
    severity: str | None
    band: str | None
    data: LiveData


class _Body(msgspec.Struct, frozen=True, rename="camel", gc=False):
    kind: LiveKind
    tenant_id: str
    program_id: str
    at: str
    cause: LiveCause
    simulated: Simulated
    severity: str | msgspec.UnsetType
    band: str | msgspec.UnsetType
    data: LiveData


_ENCODE: Final = msgspec.json.Encoder().encode


def body_of(event: LiveEvent) -> bytes:
    """The event as JSON. ``simulated``, ``severity`` and ``band`` are absent where they do not apply."""
    return _ENCODE(
        _Body(
            event.kind,
            event.tenant_id,
            event.program_id,
            format_instant(event.at),
            event.cause,
            True if event.is_simulated else msgspec.UNSET,
            event.severity or msgspec.UNSET,
            event.band or msgspec.UNSET,
            event.data,
        )
    )
