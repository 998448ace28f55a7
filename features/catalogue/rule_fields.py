"""The rule fields of the interface: the features that a bank may write rules on, in the order of the vector.

The columns of ``transfer_features``, the names in ``scoreInputs`` and the page ``docs/features.md`` come from here and
from ``further_fields.py``; ``column`` is the field of ``FeatureVector``.
"""

from typing import Final

from clearhold.features.catalogue.feature import ALL_HISTORY, THE_TRANSFER, Feature

RULE_FIELDS: Final = (
    Feature(
        "amountCents",
        "amount_cents",
        "cents",
        THE_TRANSFER,
        "In US cents, at most ten billion dollars; null where the bank states no amount in US dollars: "
        "the transfer then is in no sum.",
    ),
    Feature("rail", "rail", "word", THE_TRANSFER, "ach, wire, realtime, book, intl_wire, check or card."),
    Feature("direction", "direction", "word", THE_TRANSFER, "incoming or outgoing, by the side that originated it."),
    Feature("type", "type", "word", THE_TRANSFER, "CREDIT or DEBIT on ach, else null."),
    Feature("status", "status", "word", THE_TRANSFER, "The bank's status; null before the transfer landed."),
    Feature("counterpartyCountry", "counterparty_country", "ISO 3166-1", THE_TRANSFER, "Null when not delivered."),
    Feature("cardDecisionReason", "card_decision_reason", "word", THE_TRANSFER, "The normalised reason; card only."),
    Feature(
        "entity.verificationStatus",
        "entity_verification_status",
        "word",
        "as known at the transfer's time",
        "Null until the bank reports the entity.",
    ),
    Feature("entity.pepStatus", "entity_pep_status", "word", "as known then", "Null when not reported."),
    Feature("entity.isHighRisk", "entity_is_high_risk", "", "as known then", "Null when not reported."),
    Feature("entity.requiresScreening", "entity_requires_screening", "", "as known then", "Null when not reported."),
    Feature(
        "entity.screeningAgeDays",
        "entity_screening_age_days",
        "days",
        "as known then",
        "Whole days since the last screening; null when never screened.",
    ),
    Feature("entity.count30d", "entity_count_30d", "count", "30 days", "Its other transfers."),
    Feature("velocity24hCount", "velocity_24h_count", "count", "24 hours", "Of the entity, with this transfer."),
    Feature(
        "velocity24hSumCents", "velocity_24h_sum_cents", "cents", "24 hours", "The entity's transfers, with this one."
    ),
    Feature("entity.priorTransfers", "entity_prior_transfers", "count", ALL_HISTORY, "Its earlier transfers."),
    Feature(
        "entity.priorReturns",
        "entity_prior_returns",
        "count",
        ALL_HISTORY,
        "The entity's earlier ACH transfers that were returned.",
    ),
    Feature(
        "entity.achDebits60d", "entity_ach_debits_60d", "count", "60 days", "The entity's other originated ACH debits."
    ),
    Feature(
        "entity.unauthorizedReturns60d",
        "entity_unauthorized_returns_60d",
        "count",
        "60 days",
        "R05, R07, R10, R11, R29 and R51 delivered on ACH debits that the entity originated.",
    ),
    Feature(
        "structuringWindowCount",
        "structuring_window_count",
        "count",
        "7 days",
        "Transfers in 80-100 % of one reporting threshold, of the entity or to the counterparty, with this one.",
    ),
    Feature(
        "counterparty.firstTime",
        "counterparty_first_time",
        "",
        ALL_HISTORY,
        "No earlier transfer between program and counterparty; null when none was named.",
    ),
    Feature("counterparty.n", "counterparty_n", "count", ALL_HISTORY, "Earlier transfers with the counterparty."),
    Feature(
        "counterparty.priorReturns",
        "counterparty_prior_returns",
        "count",
        ALL_HISTORY,
        "Returned transfers with the counterparty.",
    ),
    Feature(
        "counterparty.priorUnauthorizedReturns",
        "counterparty_prior_unauthorized_returns",
        "count",
        ALL_HISTORY,
        "Unauthorized returns of ACH debits sent to it.",
    ),
    Feature(
        "program.n90d",
        "program_n_90d",
        "count",
        "90 days",
        "Transfers of the same rail and direction when at least 30, else of all; null below 5.",
    ),
    Feature("program.medianCents", "program_median_cents", "cents", "90 days", "Median, within 0.5 %."),
    Feature("program.p95Cents", "program_p95_cents", "cents", "90 days", "95th percentile, within 0.5 %."),
    Feature(
        "program.dailyAvgCents30d",
        "program_daily_avg_cents_30d",
        "cents a day",
        "30 days",
        "Volume over the days of the program's existence in them; null in its first 7 days.",
    ),
    Feature(
        "program.declaredMonthlyVolumeCents",
        "program_declared_monthly_volume_cents",
        "cents a month",
        "as declared then",
        "Null when not declared.",
    ),
    Feature(
        "program.unauthorizedReturnRate60d",
        "program_unauthorized_return_rate_60d",
        "ratio",
        "60 days",
        "Unauthorized returns received over ACH debits originated; null without a debit.",
    ),
    Feature("declared.countries", "declared_countries", "ISO 3166-1 list", "as declared then", "Comma-separated."),
    Feature(
        "typology.roundTrip",
        "typology_round_trip",
        "",
        "7 days",
        "It ends a chain of at most 5 hops that began at its receiver, and 80 % came back; null without an actor.",
    ),
    Feature(
        "typology.layeringHops",
        "typology_layering_hops",
        "hops",
        "72 hours a hop",
        "Longest chain of transfers that ends in this one, each 80-105 % of the one before; null without an actor.",
    ),
    Feature(
        "typology.dormantDays",
        "typology_dormant_days",
        "days",
        ALL_HISTORY,
        "Whole days since the entity's (else the account's) previous transfer; null for its first.",
    ),
    Feature(
        "typology.justBelowThreshold",
        "typology_just_below_threshold",
        "",
        THE_TRANSFER,
        "The amount lies in 90-100 % of a reporting threshold; null without an amount in US dollars.",
    ),
)
