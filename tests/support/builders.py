"""Builders that fill every default, so that a test names only what it is about."""

from typing import Any, Final

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.principal import Program
from clearhold.features.policy.in_force import PolicyBook
from tests.support.clock import T0


def a_program(**over: Any) -> Program:
    usual: dict[str, Any] = {"id": "prg_1", "tenant_id": "ten_1", "slug": "acme", "name": "Acme"}
    return Program(**usual | over)


def a_log_entry(**over: Any) -> LogEntry:
    usual: dict[str, Any] = {
        "shard": 0,
        "offset": 1,
        "kind": EntryKind.BANK,
        "program_id": "prg_1",
        "appended_at": T0,
        "body": b"{}",
    }
    return LogEntry(**usual | over)


_QUIET: Final[dict[str, Any]] = {
    "amount_cents": 100_00,
    "rail": "wire",
    "direction": "outgoing",
    "type": None,
    "status": "COMPLETED",
    "counterparty_country": "US",
    "card_decision_reason": None,
    "entity_verification_status": "VERIFIED",
    "entity_pep_status": "no",
    "entity_is_high_risk": False,
    "entity_requires_screening": False,
    "entity_screening_age_days": 30,
    "entity_count_30d": 20,
    "velocity_24h_count": 1,
    "velocity_24h_sum_cents": 100_00,
    "entity_prior_transfers": 40,
    "entity_prior_returns": 0,
    "entity_ach_debits_60d": 10,
    "entity_unauthorized_returns_60d": 0,
    "structuring_window_count": 0,
    "counterparty_first_time": False,
    "counterparty_n": 10,
    "counterparty_prior_returns": 0,
    "counterparty_prior_unauthorized_returns": 0,
    "program_n_90d": 100,
    "program_median_cents": 100_00,
    "program_p95_cents": 500_00,
    "program_daily_avg_cents_30d": 1_000_00,
    "program_declared_monthly_volume_cents": None,
    "program_unauthorized_return_rate_60d": 0.0,
    "declared_countries": "DE,US",
    "typology_round_trip": False,
    "typology_layering_hops": 0,
    "typology_dormant_days": 2,
    "typology_just_below_threshold": False,
    "declared_rails": "ach,wire",
    "entity_sum_cents_30d": 2_000_00,
    "entity_n_90d": 40,
    "entity_sum_cents_90d": 4_000_00,
    "structuring_count_24h": 0,
    "counterparty_account_changed": False,
    "entity_returns_30d": 0,
    "entity_ach_debits_30d": 5,
    "entity_age_days": 400,
    "entity_median_cents_90d": 100_00,
    "repeated_amount_count_24h": 1,
    "round_amount_count_30d": 0,
    "entity_in_cents_48h": 0,
    "entity_out_cents_48h": 100_00,
    "entity_busiest_day_count_35d": 1,
    "entity_busiest_day_cents_35d": 100_00,
    "entity_peak_cents_48h": None,
    "entity_left_cents_48h": None,
    "entity_new_money_cents_48h": None,
    "fan_in_count_24h": 1,
    "fan_in_count_7d": 1,
    "fan_in_usual_week": 1,
    "fan_out_count_8h": 1,
    "fan_out_count_24h": 1,
    "fan_out_count_7d": 2,
    "fan_out_usual_week": 3,
    "fan_out_new_count_24h": None,
    "gathered_count_24h": 0,
    "gathered_count_7d": 0,
    "gathered_usual_week": None,
    "scatter_gather_middles": 0,
    "layering_least_cents": None,
    "entity_new_counterparties_24h": 0,
    "counterparty_shared_entities_30d": 1,
    "entity_probing_returns_30d": 0,
    "counterparty_stop_return_days": None,
    "entity_ach_debits_all": 20,
    "entity_pulled_cents_2bd": 0,
    "entity_fast_out_cents_2bd": 0,
    "entity_micro_entries_24h": 0,
    "program_micro_entries_24h": 0,
    "entity_forward_debits_24h": 0,
    "card_declines_1h": 0,
    "card_small_count_1h": 0,
    "program_card_attempts_1h": 0,
    "program_card_declines_1h": 0,
    "program_card_small_count_1h": 0,
    "program_card_attempts_24h": 0,
    "program_card_fraud_declines_24h": 0,
    "program_card_attempts_30d": 0,
    "program_card_fraud_declines_30d": 0,
    "entity_fraud_risk": False,
    "entity_rescreen_days": 365,
    "pair_first_time": False,
    "payer_new_payees_90d": 5,
    "payee_new_payers_90d": 5,
    "program_rare_pairs_90d": 0,
    "program_transfers_90d": 1_000,
    "moved": True,
    "counterparty_unauthorized_returns_60d": 0,
    "counterparty_frozen_returns": 0,
    "pair_regular": None,
    "program_paired_count_90d": None,
    "structuring_thresholds": "300000,1000000",
    "thresholds_version": "thresholds-v1",
    "ladder_version": "ladder-v1",
    "entity_p90_cents_90d": 20_000,
    "velocity_count_1h": 1,
    "velocity_count_6h": 1,
    "entity_received_count_6h": 0,
    "entity_paid_count_6h": 1,
    "entity_received_cents_2h": 0,
    "entity_new_parties_6h": 0,
    "entity_usual_hour_percent": 50,
    "pair_other_way_cents_24h": None,
    "quick_hops_2h": 0,
}


def a_vector(**over: Any) -> FeatureVector:
    """A wire of 100.00 with a long, quiet and well known history: no rule has anything to say of it.

    Its country is on the lists that a new tenant has it on.
    """
    values = _QUIET | over
    lists = PolicyBook("prg_1").thresholds(0).lists_of(values["counterparty_country"])
    return FeatureVector(**{"counterparty_country_lists": lists} | values)
