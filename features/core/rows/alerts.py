"""Rows of alerts, of people's decisions on alerts and transfers, of actions and backfills, of policies and of the
matches of rules.
"""

from typing import Final

import msgspec

from clearhold.features.core.log_entry import EntryRow, ObjectRow

RANK_INSTANT_BITS: Final = 53
"""The lower part of ``queue_rank``, the time of opening, which fits until the year 2255; above it is the weight."""


class AlertRow(ObjectRow, frozen=True):
    """One version of an alert; the one with the highest offset is the newest.

    ``transfer_id``, score and band are of the transfer that opened it; ``alert_sha256`` is of its body as opened.
    ``from_history`` says that all findings are of transfers that were already history at their delivery.
    """

    detector: str
    severity: str
    subject_type: str
    subject_id: str
    transfer_id: str | None
    summary: str
    evidence: str  # JSON
    score_at_alert: int | None
    band_at_alert: str | None
    hard_signal: bool
    status: str
    route: str
    policy_version: str
    opened_at: int
    closed_at: int | None
    dedupe_key: str
    due_at: int | None
    escalated_at: int | None
    sla_tier: str
    appeal_of: str | None
    draft: str | None  # JSON of a Draft (features/alerts/narrative.py)
    alert_sha256: str
    updated_at: int
    from_history: bool
    queue_rank: int  # lists have the highest first
    stack_id: str | None = None  # of the alerts that are looked at together; None before it first waits
    stack_kind: str | None = None  # a StackKind
    stack_key: str | None = None  # the id of the thing that the alerts of the stack share


class AlertBodyRow(msgspec.Struct, frozen=True, gc=False):
    """An alert at its opening, in the canonical form that dispositions cite by digest; one row an alert."""

    tenant_id: str
    program_id: str
    alert_id: str
    shard: int
    offset: int
    body: str
    sha256: str
    created_at: int


class AlertTransferRow(msgspec.Struct, frozen=True, gc=False):
    """A transfer that an alert is about or rests on; a pair may have several rows."""

    tenant_id: str
    program_id: str
    alert_id: str
    shard: int
    offset: int
    transfer_number: int  # ``TransferRow.number``


class DispositionRow(ObjectRow, frozen=True):
    """A decision on an alert. Its hashes are in the record's chain.

    ``action_id`` is the executed action that it follows from; ``warnings`` is a JSON list, None without.
    """

    alert_id: str
    decided_by: str
    decision: str
    narrative: str
    narrative_model: str | None
    recommendation: str | None
    confidence: float | None
    policy_version: str
    overturns_draft: bool | None
    alert_sha256: str
    policy_sha256: str
    created_at: int
    action_id: str | None
    warnings: str | None
    identity: str | None = None  # of an OperatorIdentity


class AlertNoteRow(ObjectRow, frozen=True):
    """A note on an alert. Its hashes are in the record's chain."""

    alert_id: str
    note: str
    written_by: str
    identity: str | None  # of an OperatorIdentity
    created_at: int


class AlertAssignmentRow(ObjectRow, frozen=True):
    """The assignment of an alert; the one with the highest offset counts. ``assignee`` None: it is unassigned.

    ``assignee_key`` is the form in which names of one person are equal, empty without one.
    """

    alert_id: str
    assignee: str | None
    assignee_key: str
    assigned_by: str
    identity: str | None  # of an OperatorIdentity
    created_at: int


class EntryResultRow(ObjectRow, frozen=True):
    """The result of a log entry of kind decision, appeal or label; ``id`` is the entry's, and the newest row counts.

    ``result`` is a value of ``clearhold.features.core.entries.commands.EntryResult``.
    """

    kind: str
    alert_id: str | None
    transfer_id: str | None
    result: str
    disposition_id: str | None  # of a decision that was taken
    opened_alert_id: str | None  # by an appeal that was accepted
    created_at: int


class LabelRow(ObjectRow, frozen=True):
    """The label of a transfer, bad or ok; the label with the highest offset counts. When one entry gives the label of a
    return and of a dispute, the dispute's counts.
    """

    transfer_id: str
    label: str
    reason: str
    source: str
    recorded_by: str
    created_at: int


class ActionRow(ObjectRow, frozen=True):
    """One version of an action; the one with the highest offset is the newest. Its hashes are in the record's chain.

    ``program_id`` is the tenant's id for an action on the whole tenant. ``change`` and ``bank_response`` are JSON.
    ``released_alert_ids`` is a JSON list of the alerts whose hold it ended, None without. ``ended_by`` declined or
    withdrew it, with the note.
    """

    alert_id: str | None
    type: str
    target_type: str
    target_id: str
    requested_by: str
    approved_by: str | None
    status: str
    change: str | None
    bank_response: str | None
    error: str | None
    executed_at: int | None
    created_at: int
    updated_at: int
    released_alert_ids: str | None
    requested_identity: str | None = None  # of an OperatorIdentity
    approved_identity: str | None = None  # as above
    ended_by: str | None = None
    ended_identity: str | None = None  # as above
    note: str | None = None


class BackfillRow(ObjectRow, frozen=True):
    """The progress of a backfill after one of its log entries; it resumes from its newest row.

    The fields are those of ``clearhold.features.core.entries.commands.Progress``.
    """

    subjects: str  # transfers or actors
    stage: str  # started, running or done
    feature_version: str
    score_version: str
    started_offset: int
    replaying: bool
    position: int
    total: int
    done: int
    changed: int
    actors: int
    counterparties: int
    updated_at: int


class PolicyRow(msgspec.Struct, frozen=True, gc=False):
    """A version that came into force in one program; links of the record cite its body by ``sha256``.

    ``program_id`` is the tenant's id in the state of the tenant. ``body`` is canonical JSON.
    """

    tenant_id: str
    program_id: str
    version: str
    shard: int
    offset: int
    of_program: bool
    action_id: str
    sha256: str
    body: str
    in_force_at: int


class RuleMatchRow(EntryRow, frozen=True):
    """The first time that a rule which opens no alert matched a transfer: ``mode`` is ``log`` or ``shadow``.

    ``band`` is that of the score as of that entry, ``bank_created_at`` the transfer's own time.
    """

    rule_id: str
    rule_sha256: str
    version: str
    mode: str
    transfer_id: str
    band: str
    bank_created_at: int
    matched_at: int
