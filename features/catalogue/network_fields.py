"""The further fields on payers, payees and chains of transfers around both sides, and on
attempts and declines of cards.
"""

from typing import Final

from clearhold.features.catalogue.feature import Feature

CARD_FIELDS: Final[tuple[Feature, ...]] = (
    Feature(
        "card.declines1h",
        "card_declines_1h",
        "count",
        "1 hour",
        "Declined attempts on the card (else its account, else its entity), with this one; null when none of them is "
        "known, and before landing when the entity has several cards; 0 on other rails.",
    ),
    Feature(
        "card.smallAuthorizations1h",
        "card_small_count_1h",
        "count",
        "1 hour",
        "Attempts under $5 on the same card, with this one; null as above; 0 on other rails.",
    ),
    Feature(
        "program.cardAttempts1h",
        "program_card_attempts_1h",
        "count",
        "1 hour",
        "Card attempts, with this one; 0 on other rails.",
    ),
    Feature("program.cardDeclines1h", "program_card_declines_1h", "count", "1 hour", "Declined attempts."),
    Feature("program.cardSmall1h", "program_card_small_count_1h", "count", "1 hour", "Attempts up to $5."),
    Feature(
        "program.cardAttempts24h",
        "program_card_attempts_24h",
        "count",
        "24 hours",
        "Card attempts, with this one; 0 on other rails.",
    ),
    Feature(
        "program.cardFraudDeclines24h",
        "program_card_fraud_declines_24h",
        "count",
        "24 hours",
        "Card attempts declined for suspected fraud or failed authentication.",
    ),
    Feature(
        "program.cardAttempts30d",
        "program_card_attempts_30d",
        "count",
        "30 days",
        "Card attempts, with this one; 0 on other rails.",
    ),
    Feature(
        "program.cardFraudDeclines30d",
        "program_card_fraud_declines_30d",
        "count",
        "30 days",
        "Card attempts declined for suspected fraud or failed authentication.",
    ),
)


NETWORK_FIELDS: Final[tuple[Feature, ...]] = (
    Feature(
        "fanIn24hCount",
        "fan_in_count_24h",
        "count",
        "24 hours",
        "Distinct payers of the receiving side, with this one.",
    ),
    Feature(
        "fanIn7dCount", "fan_in_count_7d", "count", "7 days", "Distinct payers of the receiving side, with this one."
    ),
    Feature(
        "fanInUsualWeek",
        "fan_in_usual_week",
        "count",
        "12 weeks",
        "Median of the receiving side's distinct payers in the completed weeks (from Monday, UTC) since its first; "
        "null before one is completed.",
    ),
    Feature(
        "fanOut8hCount", "fan_out_count_8h", "count", "8 hours", "Distinct payees of the paying side, with this one."
    ),
    Feature(
        "fanOut24hCount", "fan_out_count_24h", "count", "24 hours", "Distinct payees of the paying side, with this one."
    ),
    Feature(
        "fanOut7dCount", "fan_out_count_7d", "count", "7 days", "Distinct payees of the paying side, with this one."
    ),
    Feature(
        "fanOutUsualWeek",
        "fan_out_usual_week",
        "count",
        "12 weeks",
        "Median of the paying side's distinct payees in the completed weeks (from Monday, UTC) since its first; null "
        "before one is completed.",
    ),
    Feature(
        "fanOutNew24hCount",
        "fan_out_new_count_24h",
        "count",
        "24 hours",
        "Of the paying side's newest 64 payments with this one, payees first paid less than 14 days ago; null "
        "below 5 payees in 24 hours or 3 times the usual week.",
    ),
    Feature("gathered24hCount", "gathered_count_24h", "count", "24 hours", "Distinct payers of the paying side."),
    Feature("gathered7dCount", "gathered_count_7d", "count", "7 days", "Distinct payers of the paying side."),
    Feature(
        "gatheredUsualWeek",
        "gathered_usual_week",
        "count",
        "12 weeks",
        "Median of the paying side's distinct payers in the completed weeks (from Monday, UTC) since its first; null "
        "before one is completed.",
    ),
    Feature(
        "typology.scatterGatherMiddles",
        "scatter_gather_middles",
        "count",
        "7 days",
        "Payers of the receiving side that one common third party had paid before.",
    ),
    Feature(
        "typology.layeringLeastCents",
        "layering_least_cents",
        "cents",
        "72 hours a hop",
        "Smallest amount of the chain of typology.layeringHops; null without one.",
    ),
)
