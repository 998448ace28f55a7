"""Rows of bank events received and of log entries that could not be applied; of transfers, of pre-flights, and of the
transfer that landed for a pre-flight; and of deliveries to the endpoints of banks.

Deliveries follow from other rows and from the network, and change no score: so they are not in the log, and a rebuild
makes no such rows.
"""

import msgspec

from clearhold.features.core.log_entry import EntryRow, ObjectRow


class EventRow(EntryRow, frozen=True):
    """One delivery of a bank event.

    ``result`` is an ``EventResult``; ``reason`` a sentence on it, and ``path`` the field that the sentence is about.
    ``subject_type`` and ``subject_id`` name the object of the event. ``is_correction`` is true when events under this
    id came before without effect.
    """

    event_id: str
    type: str
    family: str
    created_at: int
    appended_at: int
    result: str
    body_crc32: int
    subject_type: str | None
    subject_id: str | None
    reason: str | None
    path: str | None
    is_correction: bool


class QuarantineRow(msgspec.Struct, frozen=True, gc=False):
    """An entry that could not be applied; its bytes stay in the log at this offset."""

    program_id: str
    shard: int
    offset: int
    kind: str
    appended_at: int
    error: str


class WebhookDeliveryRow(msgspec.Struct, frozen=True, gc=False):
    """An event for one endpoint; ``body`` is sent byte for byte, ``program_id`` is the tenant's for a whole tenant."""

    tenant_id: str
    program_id: str
    id: str
    endpoint_id: str
    event: str
    event_id: str
    body: str
    created_at: int


class WebhookAttemptRow(msgspec.Struct, frozen=True, gc=False):
    """A delivery after an attempt or a new request; the highest version counts. Without a row it is pending."""

    tenant_id: str
    endpoint_id: str
    delivery_id: str
    version: int
    status: str
    attempts: int
    next_attempt_at: int
    last_status_code: int | None
    last_error: str | None
    delivered_at: int | None
    settled_at: int


class TransferRow(ObjectRow, frozen=True):
    """One version of a transfer; the one with the highest offset is the newest."""

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
    number: int  # of the transfer in its program, in the order of arrival
    usd_rate: str | None  # this and the next two: the rate that its US cents rest on; None where the bank states them
    usd_rate_day: str | None
    usd_rate_version: str | None


class PreflightRow(ObjectRow, frozen=True):
    """A recorded pre-flight; ``body`` is the PreflightRecord's JSON."""

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
