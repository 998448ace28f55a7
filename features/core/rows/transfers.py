"""Rows of transfers, of pre-flights, and of the transfer that landed for a pre-flight.

Field order is column order. Instants are microseconds since the epoch, money is integer cents.
"""

import msgspec

from clearhold.features.core.log_entry import ObjectRow


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
