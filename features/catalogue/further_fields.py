"""The features beyond the rule fields of the interface, in the order of the vector."""

from typing import Final

from clearhold.features.catalogue.card_fields import CARD_FIELDS
from clearhold.features.catalogue.feature import ALL_HISTORY, THE_TRANSFER, Feature
from clearhold.features.catalogue.network_fields import NETWORK_FIELDS
from clearhold.features.catalogue.passing_fields import PASSING_FIELDS
from clearhold.features.catalogue.policy_fields import POLICY_FIELDS

FURTHER_FIELDS: Final = (
    Feature("declared.rails", "declared_rails", "string", "rail list", "as declared then", "Comma-separated."),
    Feature(
        "entity.sumCents30d", "entity_sum_cents_30d", "integer", "cents", "30 days", "The entity's other transfers."
    ),
    Feature("entity.n90d", "entity_n_90d", "integer", "count", "90 days", "The entity's other transfers."),
    Feature(
        "entity.sumCents90d", "entity_sum_cents_90d", "integer", "cents", "90 days", "The entity's other transfers."
    ),
    Feature(
        "structuring24hCount", "structuring_count_24h", "integer", "count", "24 hours", "As structuringWindowCount."
    ),
    Feature(
        "counterparty.accountChanged",
        "counterparty_account_changed",
        "boolean",
        "",
        ALL_HISTORY,
        "A first transfer to a name with earlier transfers under other account details.",
    ),
    Feature(
        "entity.returns30d", "entity_returns_30d", "integer", "count", "30 days", "Returns of the entity's ACH debits."
    ),
    Feature("entity.achDebits30d", "entity_ach_debits_30d", "integer", "count", "30 days", "As entity.achDebits60d."),
    Feature(
        "entity.ageDays",
        "entity_age_days",
        "integer",
        "days",
        "as known then",
        "Since the entity's first transfer or reported creation, whichever is earlier; null without both.",
    ),
    Feature(
        "entity.medianCents90d",
        "entity_median_cents_90d",
        "integer",
        "cents",
        "90 days",
        "Median of its newest 64 other transfers, the larger ones of one instant counting as newer; null below 5.",
    ),
    Feature(
        "repeatedAmount24hCount",
        "repeated_amount_count_24h",
        "integer",
        "count",
        "24 hours",
        "The entity's newest 64 transfers within 10 % of this amount, with this one.",
    ),
    Feature(
        "roundAmount30dCount",
        "round_amount_count_30d",
        "integer",
        "count",
        "30 days",
        "The entity's multiples of $1,000 from $5,000 on, without cards, with this one.",
    ),
    Feature(
        "entity.in48hCents",
        "entity_in_cents_48h",
        "integer",
        "cents",
        "48 hours",
        "Money that the entity received, without cards, with this transfer.",
    ),
    Feature(
        "entity.out48hCents",
        "entity_out_cents_48h",
        "integer",
        "cents",
        "48 hours",
        "Money that the entity sent, without cards, with this transfer.",
    ),
    *PASSING_FIELDS,
    *NETWORK_FIELDS,
    Feature(
        "entity.newCounterparties24h",
        "entity_new_counterparties_24h",
        "integer",
        "count",
        "24 hours",
        "Counterparties new to the program in the entity's newest 64 transfers of that time, with this one.",
    ),
    Feature(
        "counterparty.sharedEntities30d",
        "counterparty_shared_entities_30d",
        "integer",
        "count",
        "30 days",
        "Entities that dealt with the same routing number and last four, with this one.",
    ),
    Feature(
        "entity.probingReturns30d",
        "entity_probing_returns_30d",
        "integer",
        "count",
        "30 days",
        "Counterparties on whose outgoing ACH entries R02, R03, R04 or R20 was delivered.",
    ),
    Feature(
        "counterparty.stopReturnDays",
        "counterparty_stop_return_days",
        "integer",
        "days",
        ALL_HISTORY,
        "Whole days since the newest R07, R10, R11 or R29 on a debit to the counterparty; null without one.",
    ),
    Feature(
        "entity.achDebits",
        "entity_ach_debits_all",
        "integer",
        "count",
        ALL_HISTORY,
        "ACH debits that the entity originated before.",
    ),
    Feature(
        "entity.pulled2bdCents",
        "entity_pulled_cents_2bd",
        "integer",
        "cents",
        "2 banking days",
        "Cents of the entity's originated ACH debits.",
    ),
    Feature(
        "entity.fastOut2bdCents",
        "entity_fast_out_cents_2bd",
        "integer",
        "cents",
        "2 banking days",
        "Cents that the entity sent by realtime, wire and card, with this transfer.",
    ),
    Feature(
        "entity.microEntries24h",
        "entity_micro_entries_24h",
        "integer",
        "count",
        "24 hours",
        "The entity's ACH entries under $1, with this one.",
    ),
    Feature(
        "program.microEntries24h",
        "program_micro_entries_24h",
        "integer",
        "count",
        "24 hours",
        "The program's ACH entries under $1, with this one.",
    ),
    Feature(
        "entity.forwardDebits24h",
        "entity_forward_debits_24h",
        "integer",
        "count",
        "24 hours",
        "The entity's other originated ACH debits of $1 and more.",
    ),
    *CARD_FIELDS,
    Feature(
        "entity.fraudRisk",
        "entity_fraud_risk",
        "boolean",
        "",
        "as known then",
        "The bank's review reasons include fraud_risk; null without a report on the entity.",
    ),
    Feature(
        "entity.rescreenDays",
        "entity_rescreen_days",
        "integer",
        "days",
        "as known then",
        "Days between screenings of the entity's band by policy; null without a stated duty to screen.",
    ),
    Feature(
        "pair.firstTime",
        "pair_first_time",
        "boolean",
        "",
        ALL_HISTORY,
        "Payer and payee have had no transfer with each other; null when one is unknown.",
    ),
    Feature(
        "payer.newPayees90d",
        "payer_new_payees_90d",
        "integer",
        "count",
        "90 days",
        "Payees new to the payer, with this one; null in the program's first 90 days.",
    ),
    Feature(
        "payee.newPayers90d",
        "payee_new_payers_90d",
        "integer",
        "count",
        "90 days",
        "Payers new to the payee, with this one; null in the program's first 90 days.",
    ),
    Feature(
        "program.rarePairs90d",
        "program_rare_pairs_90d",
        "integer",
        "count",
        "90 days",
        "Other first transfers between two sides with at most 3 new acquaintances each.",
    ),
    Feature(
        "program.transfers90d", "program_transfers_90d", "integer", "count", "90 days", "The program's other transfers."
    ),
    Feature(
        "moved",
        "moved",
        "boolean",
        "",
        THE_TRANSFER,
        "False for an attempt (declined, rejected, canceled), which counts itself in no window but those of card "
        "attempts; null in vectors kept before this was measured.",
    ),
    Feature(
        "counterparty.unauthorizedReturns60d",
        "counterparty_unauthorized_returns_60d",
        "integer",
        "count",
        "60 days",
        "As counterparty.priorUnauthorizedReturns.",
    ),
    Feature(
        "counterparty.frozenReturns",
        "counterparty_frozen_returns",
        "integer",
        "count",
        ALL_HISTORY,
        "R16 (account frozen, or returned by instruction of OFAC) on ACH entries sent to the counterparty.",
    ),
    Feature(
        "pair.regular",
        "pair_regular",
        "boolean",
        "",
        "90 days",
        "The payer paid this payee within 10 % of this from 90 to 14 days ago and nothing in 5 days (of the payee's "
        "newest 64 in each); null below 3 under one threshold in 24 hours, 4 in 7 days and 5 alike.",
    ),
    Feature(
        "program.pairedCount90d",
        "program_paired_count_90d",
        "integer",
        "count",
        "90 days",
        "As program.transfers90d, counted from the program's 90th day on, when rare pairs are first recognised.",
    ),
    *POLICY_FIELDS,
)
