"""The event of a committed row for a program's readers, and its ``data``, one Struct a kind.

Ids, words of closed sets, scores and amounts, under the names of the API. No names, no account numbers, no text by a
person and nothing of the bank's ``raw``: a reader asks the API for those, under its key.

Unit    money as a string of integer cents; instants as everywhere in the interface
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import msgspec

from clearhold.features.catalogue.kris import KriValue, SnapshotCause
from clearhold.features.core.entries.actions import ActionStatus, ActionType
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import (
    AchType,
    AlertDecision,
    AlertStatus,
    Band,
    Direction,
    Rail,
    Route,
    Severity,
    SlaTier,
    SubjectType,
    about,
    minted,
)


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

    transfer_id: Annotated[str, about("The bank's id of the transfer.")]
    rail: Rail
    direction: Direction
    type: AchType | None
    amount_cents: str
    currency: str
    status: Annotated[str, about("The bank's status of the transfer.")]
    entity_id: Annotated[str | None, about("The entity that moved the money; null while unknown.")]
    account_id: Annotated[str | None, about("The account on which it moved; null when none is named.")]
    counterparty_id: Annotated[str | None, about("The other side; null when none is named.")]
    return_code: Annotated[str | None, about("The code of its return; null while it is not returned.")]
    score: int | None
    band: Band | None
    version: str | None
    n: int | None
    confidence: float | None
    bank_created_at: Annotated[str, about("When the bank created it.")]
    scored_at: Annotated[str | None, about("When it was scored.")]


class LiveActorScore(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A changed score of an entity, a counterparty, an agent or the program itself."""

    score_id: Annotated[str, minted("score record")]
    subject_type: Annotated[SubjectType, about("Whose score it is.")]
    subject_id: Annotated[str, about("The bank's id of the actor, or the program's id.")]
    score: int | None
    band: Band
    former_band: Annotated[Band, about("The band before.")]
    n: int
    confidence: float | None
    version: str
    hard: bool
    degraded: bool
    scored_at: Annotated[str, about("When it was scored.")]


class LiveSnapshot(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """All indicators of a program as of one instant, without their notes, and the program's score."""

    snapshot_id: Annotated[str, minted("snapshot")]
    cause: Annotated[SnapshotCause, about("Why it was taken.")]
    as_of: str
    window_days: Annotated[int, about("The days that its indicators look back.")]
    program_score: Annotated[int | None, about("The Program Risk Score; null under three measured indicators.")]
    program_score_n: Annotated[int, about("How many indicators the score rests on.")]
    program_score_version: Annotated[str, about("The scorer of the program.")]
    band: Band
    kris: Annotated[dict[str, KriValue], about("The indicators by name.")]


class LiveAlert(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """An alert as opened or changed. ``status`` is auto_closed where the policy closed it at once."""

    alert_id: str
    detector: str
    severity: Severity
    subject_type: Annotated[SubjectType, about("What the alert is about.")]
    subject_id: Annotated[str, about("The bank's id of what the alert is about.")]
    transfer_id: Annotated[str | None, about("The bank's id of the transfer; null when none is concerned.")]
    score_at_alert: Annotated[int | None, about("Score at the opening; null without one.")]
    band_at_alert: Annotated[Band | None, about("Band of that score; null without one.")]
    hard_signal: Annotated[bool, about("Whether a person must decide it.")]
    status: Annotated[AlertStatus, about("The alert's status.")]
    route: Route
    sla_tier: SlaTier
    policy_version: str
    opened_at: str
    due_at: str | None
    escalated_at: str | None
    closed_at: Annotated[str | None, about("When it was closed; null while it waits.")]
    updated_at: str
    appeal_of: Annotated[str | None, about("The alert that it is an appeal of; null for others.")]
    from_history: bool


class LiveDisposition(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A decision on an alert, by a person, a key or the policy (``decided_by_kind``)."""

    disposition_id: Annotated[str, minted("disposition")]
    alert_id: str
    decision: Annotated[AlertDecision, about("The decision.")]
    decided_by_kind: Annotated[Literal["person", "key", "policy"], about("Who decided: a person, a key or the policy.")]
    policy_version: str
    overturns_draft: bool | None
    action_id: Annotated[str | None, about("The action that it follows from; null for others.")]
    created_at: str


class LiveAction(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """An action as requested, approved, executed or ended otherwise."""

    action_id: Annotated[str, minted("action")]
    type: ActionType
    target_type: Annotated[str, about("What it acts on, as in transfer.")]
    target_id: str
    alert_id: str | None
    status: Annotated[ActionStatus, about("How far it is.")]
    created_at: str
    executed_at: Annotated[str | None, about("When it was carried out; null until then.")]
    updated_at: str


LiveData = LiveTransferScore | LiveActorScore | LiveSnapshot | LiveAlert | LiveDisposition | LiveAction


class LiveEvent(msgspec.Struct, frozen=True, gc=False):
    """One committed row of a program, whose events are in the order of ``offset`` and ``index``.

    ``program_id`` is the tenant's id for an action on the whole tenant. ``index`` counts the events of the program from
    one log entry, from 0. ``severity`` is that of an alert, ``band`` that of a score, of an alert's transfer or of a
    snapshot; else None. ``body`` is the event as JSON.
    """

    tenant_id: str
    program_id: str
    shard: int
    offset: int
    index: int
    kind: LiveKind
    severity: str | None
    band: str | None
    data: LiveData
    body: bytes


class LiveBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """An event as its readers get it. What its data has follows from its kind."""

    kind: Annotated[LiveKind, about("The kind of the event.")]
    tenant_id: str
    program_id: str
    at: Annotated[str, about("The time of the log entry that caused it.")]
    cause: Annotated[LiveCause, about("backfill: scored again, about earlier transfers; stream: all others.")]
    simulated: Simulated = msgspec.UNSET
    severity: Annotated[str | msgspec.UnsetType, about("The severity of an alert; absent for other kinds.")] = (
        msgspec.UNSET
    )
    band: Annotated[str | msgspec.UnsetType, about("Of a score, an alert's transfer or a snapshot; else absent.")] = (
        msgspec.UNSET
    )
    data: Annotated[Any, about("The committed row, by kind.")]


DATA_OF: Final[Mapping[LiveKind, type[LiveData]]] = {
    LiveKind.TRANSFER_SCORED: LiveTransferScore,
    LiveKind.ACTOR_SCORED: LiveActorScore,
    LiveKind.PROGRAM_SCORED: LiveActorScore,
    LiveKind.KRI_SNAPSHOT: LiveSnapshot,
    LiveKind.ALERT_OPENED: LiveAlert,
    LiveKind.ALERT_CHANGED: LiveAlert,
    LiveKind.DISPOSITION_CREATED: LiveDisposition,
    LiveKind.ACTION_CHANGED: LiveAction,
}
