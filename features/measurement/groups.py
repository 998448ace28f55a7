"""The feature vector in groups that are measured together: the vector's fields are those of the groups, in order.

A group is built with its fields by name, so that the type checker finds a missing, misspelled or wrongly typed value; a
Struct takes a tenth of the time of a named tuple. ``features/catalogue/`` has unit, window and meaning of each field.
"""

from typing import Final

import msgspec


class Group(msgspec.Struct, frozen=True, gc=False):
    """Some fields of the vector, in its order and of its types."""


class Facts(Group, frozen=True):
    """The transfer itself."""

    amount_cents: int | None
    rail: str
    direction: str
    type: str | None
    status: str | None
    counterparty_country: str | None
    card_decision_reason: str | None


class Identity(Group, frozen=True):
    """The bank's report on the entity; all None without one."""

    entity_verification_status: str | None
    entity_pep_status: str | None
    entity_is_high_risk: bool | None
    entity_requires_screening: bool | None
    entity_screening_age_days: int | None


class Activity(Group, frozen=True):
    """Counts of the actor: velocity with the transfer, all others without it."""

    entity_count_30d: int
    velocity_24h_count: int
    velocity_24h_sum_cents: int
    entity_prior_transfers: int
    entity_prior_returns: int
    entity_ach_debits_60d: int
    entity_unauthorized_returns_60d: int
    structuring_window_count: int


class Relationship(Group, frozen=True):
    """The program's history with the counterparty."""

    counterparty_first_time: bool | None
    counterparty_n: int
    counterparty_prior_returns: int
    counterparty_prior_unauthorized_returns: int


class ProgramFigures(Group, frozen=True):
    """The program's baseline and volume, beside its declaration."""

    program_n_90d: int | None
    program_median_cents: int | None
    program_p95_cents: int | None
    program_daily_avg_cents_30d: int | None
    program_declared_monthly_volume_cents: int | None
    program_unauthorized_return_rate_60d: float | None
    declared_countries: str


class Typologies(Group, frozen=True):
    """The shapes that the interface names, and the rails that the program declared."""

    typology_round_trip: bool | None
    typology_layering_hops: int | None
    typology_dormant_days: int | None
    typology_just_below_threshold: bool | None
    declared_rails: str


class History(Group, frozen=True):
    """Sums and counts of the actor's other transfers."""

    entity_sum_cents_30d: int
    entity_n_90d: int
    entity_sum_cents_90d: int
    structuring_count_24h: int
    counterparty_account_changed: bool
    entity_returns_30d: int
    entity_ach_debits_30d: int


class Amounts(Group, frozen=True):
    """The actor's age, its usual amount, similar amounts, and the money received and sent in 48 hours."""

    entity_age_days: int | None
    entity_median_cents_90d: int | None
    repeated_amount_count_24h: int
    round_amount_count_30d: int
    entity_in_cents_48h: int
    entity_out_cents_48h: int


class Passing(Group, frozen=True):
    """The actor's busiest day of five weeks, and the money that passes through it; None where no rule needs it."""

    entity_busiest_day_count_35d: int | None
    entity_busiest_day_cents_35d: int | None
    entity_peak_cents_48h: int | None
    entity_left_cents_48h: int | None
    entity_new_money_cents_48h: int | None


class Flow(Group, frozen=True):
    """The shape of the graph around the transfer: fans, middlemen, new and shared counterparties."""

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


class Returns(Group, frozen=True):
    """Returns that probe for accounts, and days since one after which a debit must not be repeated."""

    entity_probing_returns_30d: int
    counterparty_stop_return_days: int | None


class AchEntries(Group, frozen=True):
    """ACH debits of the actor, its fast payments beside them, and micro-entries."""

    entity_ach_debits_all: int
    entity_pulled_cents_2bd: int
    entity_fast_out_cents_2bd: int
    entity_micro_entries_24h: int
    program_micro_entries_24h: int
    entity_forward_debits_24h: int


class Cards(Group, frozen=True):
    """Attempts, declines and small attempts of the card (None if unknown) and the program; 0 on other rails."""

    card_declines_1h: int | None
    card_small_count_1h: int | None
    program_card_attempts_1h: int
    program_card_declines_1h: int
    program_card_small_count_1h: int
    program_card_attempts_24h: int
    program_card_fraud_declines_24h: int
    program_card_attempts_30d: int
    program_card_fraud_declines_30d: int


class Novelties(Group, frozen=True):
    """The bank's fraud mark, the screening cadence, and how new payer and payee are to each other."""

    entity_fraud_risk: bool | None
    entity_rescreen_days: int | None
    pair_first_time: bool | None
    payer_new_payees_90d: int | None
    payee_new_payers_90d: int | None
    program_rare_pairs_90d: int
    program_transfers_90d: int


class Standing(Group, frozen=True):
    """Whether money moved, relevant returns with the counterparty, and whether the payment is regular or rare."""

    moved: bool | None
    counterparty_unauthorized_returns_60d: int
    counterparty_frozen_returns: int
    pair_regular: bool | None
    program_paired_count_90d: int | None


class MeasuredInForce(Group, frozen=True):
    """Policy on the counterparty's country, the thresholds, and the versions in force."""

    counterparty_country_lists: str | None
    structuring_thresholds: str
    thresholds_version: str
    ladder_version: str


class Rhythm(Group, frozen=True):
    """The actor's pace, hours and usual amounts, and money that goes on or back within hours; None without an actor."""

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


GROUPS: Final[tuple[type[Group], ...]] = (
    *(Facts, Identity, Activity, Relationship, ProgramFigures, Typologies, History),
    *(Amounts, Passing, Flow, Returns, AchEntries, Cards, Novelties, Standing, MeasuredInForce, Rhythm),
)
"""All groups, in the order of the vector."""
