"""What applying log entries leads to: the rows that the store commits, in one transaction with the log offset.

Field order here is column order in the store's tables (``store/duck/schema.py`` is generated from these Structs).
Instants are microseconds since the epoch, money is integer cents.
"""

from collections.abc import Callable

import msgspec

Emit = Callable[[msgspec.Struct], None]
"""Takes one row. What an applied entry leads to is emitted row by row, in the order in which it is committed."""


class EventRow(msgspec.Struct, frozen=True, gc=False):
    """One bank event taken in.

    ``result`` is applied; stale (an older snapshot); duplicate or conflicting (the id came before, with the same or
    another body); stored (a known family without a transfer); unusable (odd data); or unknown (an unknown family).
    """

    tenant_id: str
    program_id: str
    shard: int
    offset: int
    event_id: str
    type: str
    family: str
    created_at: int
    appended_at: int
    result: str
    body_crc32: int


class TransferRow(msgspec.Struct, frozen=True, gc=False):
    """One version of a transfer; the one with the highest offset is the newest."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
    rail: str
    direction: str
    type: str | None
    amount_cents: int
    currency: str
    status: str
    entity_id: str | None
    account_id: str | None
    counterparty_id: str | None
    counterparty_country: str | None
    sec_code: str | None
    return_code: str | None
    returned_at: int | None
    effective_at: int | None
    bank_created_at: int
    card_decision_reason: str | None
    score: int | None
    score_band: str | None
    score_version: str | None
    score_n: int | None
    score_confidence: float | None
    scored_at: int | None
    scored_offset: int | None  # which transfer_features row holds the inputs
    raw_offset: int  # which entry of the log holds the bank's object as last delivered
    updated_at: int


class ScoreRow(msgspec.Struct, frozen=True, gc=False):
    """One score of an entity, counterparty, agent or program, written when it became another one.

    A subject without a row is unscored, and so is one whose newest row has no score.
    """

    tenant_id: str
    program_id: str
    id: str
    subject_type: str
    subject_id: str
    shard: int
    offset: int
    version: str
    score: int | None
    band: str
    n: int
    confidence: float | None
    hard: bool
    degraded: bool
    reasons: str  # JSON of Reason[]
    inputs: str  # JSON of what the scorer looked at
    scored_at: int  # what its windows end at: the entry's own time, never before the subject's last evaluation


class EntityRow(msgspec.Struct, frozen=True, gc=False):
    """One version of an entity. Tuples are JSON text; ``raw`` is JSON text without account numbers."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
    type: str
    name: str
    verification_status: str
    is_high_risk: bool
    pep_status: str
    requires_screening: bool
    review_reasons: str
    last_screened_at: int | None
    country_code: str | None
    legal_type: str | None
    expected_payment_rails: str
    raw: str
    created_at: int
    updated_at: int


class CounterpartyRow(msgspec.Struct, frozen=True, gc=False):
    """One version of a counterparty."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
    name: str | None
    routing_number: str | None
    account_last4: str | None
    country_code: str | None
    raw: str | None  # None when this version came from a transfer, not from a counterparty object
    first_seen_at: int | None
    updated_at: int


class AccountRow(msgspec.Struct, frozen=True, gc=False):
    """One version of a bank account."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
    entity_id: str | None
    type: str | None
    status: str | None
    raw: str
    updated_at: int


class ProgramRow(msgspec.Struct, frozen=True, gc=False):
    """One version of a program, as the shard's log carried it; ``body`` is the Program's JSON."""

    tenant_id: str
    id: str
    shard: int
    offset: int
    slug: str
    body: str
    updated_at: int


class PreflightRow(msgspec.Struct, frozen=True, gc=False):
    """A recorded pre-flight; ``body`` is the PreflightRecord's JSON."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
    decision: str
    score: int | None
    band: str
    degraded: bool
    latency_ms: int
    idempotency_key: str | None
    body: str
    created_at: int


class PreflightMatchRow(msgspec.Struct, frozen=True, gc=False):
    """A pre-flight and the transfer that landed for it."""

    tenant_id: str
    program_id: str
    preflight_id: str
    shard: int
    offset: int
    transfer_id: str
    matched_at: int


class BackfillRow(msgspec.Struct, frozen=True, gc=False):
    """How far a backfill had come with an entry of its own: its newest row says where it goes on.

    What the fields mean stands with ``features.backfill.Progress``.
    """

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
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


class QuarantineRow(msgspec.Struct, frozen=True, gc=False):
    """An entry that could not be applied; its bytes stay in the log at this offset."""

    program_id: str
    shard: int
    offset: int
    kind: str
    appended_at: int
    error: str


class ChainFactRow(msgspec.Struct, frozen=True, gc=False):
    """One fact for the record: the writer links it to its tenant's chain (``store/record``) as it commits.

    ``chain`` is dispositions or actions; ``body`` is the fact's canonical JSON (``features/core/canonical.py``).
    """

    tenant_id: str
    program_id: str
    chain: str
    id: str
    shard: int
    offset: int
    body: str
    created_at: int


class AlertRow(msgspec.Struct, frozen=True, gc=False):
    """One version of an alert; the one with the highest offset is the newest.

    ``transfer_id``, score and band are of the transfer that opened it; ``alert_sha256`` is of its body as opened.
    """

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
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


class AlertBodyRow(msgspec.Struct, frozen=True, gc=False):
    """An alert as it was opened, in the canonical form that dispositions cite by its digest; one row an alert."""

    tenant_id: str
    program_id: str
    alert_id: str
    shard: int
    offset: int
    body: str
    sha256: str
    created_at: int


class DispositionRow(msgspec.Struct, frozen=True, gc=False):
    """A decision that was made. Its hashes are in the record's chain."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
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


class DecisionResultRow(msgspec.Struct, frozen=True, gc=False):
    """What came of an entry of kind decision, appeal or label; ``id`` is the entry's, the newest row counts.

    ``result`` is a word of ``features.decisions.DecisionResult``.
    """

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
    kind: str
    alert_id: str | None
    transfer_id: str | None
    result: str
    disposition_id: str | None  # of a decision that was made
    opened_alert_id: str | None  # by an appeal that was made
    created_at: int


class LabelRow(msgspec.Struct, frozen=True, gc=False):
    """What a transfer turned out to be; of several the one with the highest offset counts."""

    tenant_id: str
    program_id: str
    id: str
    shard: int
    offset: int
    transfer_id: str
    label: str
    reason: str
    source: str
    recorded_by: str
    created_at: int
