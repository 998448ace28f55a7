"""The feature vector: everything that a scorer may read, as of the transfer's own time.

``features/catalogue/`` says what each field means. Field order is column order in ``transfer_features``.
"""

from typing import Final

import msgspec

from clearhold.features.core.money import money_leaves

FEATURE_VERSION: Final = "features-v6"
RARE_AT_MOST: Final = 3


class FeatureVector(msgspec.Struct, frozen=True, gc=False):
    """None means not measured; it is never 0 or False."""

    amount_cents: int | None
    rail: str
    direction: str
    type: str | None
    status: str | None
    counterparty_country: str | None
    card_decision_reason: str | None
    entity_verification_status: str | None
    entity_pep_status: str | None
    entity_is_high_risk: bool | None
    entity_requires_screening: bool | None
    entity_screening_age_days: int | None
    entity_count_30d: int
    velocity_24h_count: int
    velocity_24h_sum_cents: int
    entity_prior_transfers: int
    entity_prior_returns: int
    entity_ach_debits_60d: int
    entity_unauthorized_returns_60d: int
    structuring_window_count: int
    counterparty_first_time: bool | None
    counterparty_n: int
    counterparty_prior_returns: int
    counterparty_prior_unauthorized_returns: int
    program_n_90d: int | None
    program_median_cents: int | None
    program_p95_cents: int | None
    program_daily_avg_cents_30d: int | None
    program_declared_monthly_volume_cents: int | None
    program_unauthorized_return_rate_60d: float | None
    declared_countries: str
    typology_round_trip: bool | None
    typology_layering_hops: int | None
    typology_dormant_days: int | None
    typology_just_below_threshold: bool | None
    declared_rails: str
    entity_sum_cents_30d: int
    entity_n_90d: int
    entity_sum_cents_90d: int
    structuring_count_24h: int
    counterparty_account_changed: bool
    entity_returns_30d: int
    entity_ach_debits_30d: int
    entity_age_days: int | None
    entity_median_cents_90d: int | None
    repeated_amount_count_24h: int
    round_amount_count_30d: int
    entity_in_cents_48h: int
    entity_out_cents_48h: int
    entity_busiest_day_count_35d: int | None
    entity_busiest_day_cents_35d: int | None
    entity_peak_cents_48h: int | None
    entity_left_cents_48h: int | None
    entity_new_money_cents_48h: int | None
    fan_in_count_24h: int
    fan_in_count_7d: int
    fan_in_usual_week: int | None
    fan_out_count_8h: int
    fan_out_count_24h: int
    fan_out_count_7d: int
    fan_out_usual_week: int | None
    fan_out_new_count_24h: int | None
    gathered_count_24h: int
    gathered_count_7d: int
    gathered_usual_week: int | None
    scatter_gather_middles: int
    layering_least_cents: int | None
    entity_new_counterparties_24h: int
    counterparty_shared_entities_30d: int
    entity_probing_returns_30d: int
    counterparty_stop_return_days: int | None
    entity_ach_debits_all: int
    entity_pulled_cents_2bd: int
    entity_fast_out_cents_2bd: int
    entity_micro_entries_24h: int
    program_micro_entries_24h: int
    entity_forward_debits_24h: int
    card_declines_1h: int | None
    card_small_count_1h: int | None
    program_card_attempts_1h: int
    program_card_declines_1h: int
    program_card_small_count_1h: int
    program_card_attempts_24h: int
    program_card_fraud_declines_24h: int
    program_card_attempts_30d: int
    program_card_fraud_declines_30d: int
    entity_fraud_risk: bool | None
    entity_rescreen_days: int | None
    pair_first_time: bool | None
    payer_new_payees_90d: int | None
    payee_new_payers_90d: int | None
    program_rare_pairs_90d: int
    program_transfers_90d: int
    moved: bool | None  # None in vectors stored before it was measured, which count as moved
    counterparty_unauthorized_returns_60d: int
    counterparty_frozen_returns: int
    pair_regular: bool | None
    program_paired_count_90d: int | None
    counterparty_country_lists: str | None
    structuring_thresholds: str
    thresholds_version: str
    ladder_version: str
    # From here on None in vectors stored before they were measured
    entity_p90_cents_90d: int | None
    velocity_count_1h: int | None
    velocity_count_6h: int | None
    entity_received_count_6h: int | None
    entity_paid_count_6h: int | None
    entity_received_cents_2h: int | None
    entity_new_parties_6h: int | None
    entity_usual_hour_percent: int | None
    pair_other_way_cents_24h: int | None
    quick_hops_2h: int | None


class PathOffsets(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The transfers that passed money on, oldest first, as log offsets of their deliveries."""

    layering_hops: tuple[int, ...] = ()
    round_trip: tuple[int, ...] = ()


class TransferFeaturesRow(msgspec.Struct, frozen=True, gc=False):
    """One scoring of one transfer. In the table the fields of the vector follow as further columns."""

    tenant_id: str
    program_id: str
    transfer_id: str
    shard: int
    offset: int
    taken_at: int  # the transfer's own time, which the windows end at
    scored_at: int
    feature_version: str
    score_version: str
    score: int | None
    band: str
    n: int
    confidence: float | None
    hard: bool
    degraded: bool
    reasons: str  # JSON of Reason[]
    paths: str | None  # JSON of a PathOffsets; None without a path
    rescored: bool  # the transfer was scored before
    vector: FeatureVector


def pays(v: FeatureVector) -> bool:
    """True when the money leaves the program, no matter who originated the transfer."""
    return money_leaves(v.rail, v.direction, v.type)


def is_attempt(v: FeatureVector) -> bool:
    """True when no money moved."""
    return v.moved is False


def is_rare_pair(v: FeatureVector) -> bool:
    """Payer and payee are new to each other, and neither has over 3 new acquaintances in 90 days, this one included."""
    if not v.pair_first_time or v.payer_new_payees_90d is None or v.payee_new_payers_90d is None:
        return False
    return v.payer_new_payees_90d <= RARE_AT_MOST and v.payee_new_payers_90d <= RARE_AT_MOST
