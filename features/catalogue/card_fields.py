"""The further fields on attempts and declines of cards."""

from typing import Final

from clearhold.features.catalogue.feature import Feature

CARD_FIELDS: Final[tuple[Feature, ...]] = (
    Feature(
        "card.declines1h",
        "card_declines_1h",
        "integer",
        "count",
        "1 hour",
        "Declined attempts on the card (else its account, else its entity), with this one; null when none of them is "
        "known, and before landing when the entity has several cards; 0 on other rails.",
    ),
    Feature(
        "card.smallAuthorizations1h",
        "card_small_count_1h",
        "integer",
        "count",
        "1 hour",
        "Attempts under $5 on the same card, with this one; null as above; 0 on other rails.",
    ),
    Feature(
        "program.cardAttempts1h",
        "program_card_attempts_1h",
        "integer",
        "count",
        "1 hour",
        "Card attempts, with this one; 0 on other rails.",
    ),
    Feature("program.cardDeclines1h", "program_card_declines_1h", "integer", "count", "1 hour", "Declined attempts."),
    Feature("program.cardSmall1h", "program_card_small_count_1h", "integer", "count", "1 hour", "Attempts up to $5."),
    Feature(
        "program.cardAttempts24h",
        "program_card_attempts_24h",
        "integer",
        "count",
        "24 hours",
        "Card attempts, with this one; 0 on other rails.",
    ),
    Feature(
        "program.cardFraudDeclines24h",
        "program_card_fraud_declines_24h",
        "integer",
        "count",
        "24 hours",
        "Card attempts declined for suspected fraud or failed authentication.",
    ),
    Feature(
        "program.cardAttempts30d",
        "program_card_attempts_30d",
        "integer",
        "count",
        "30 days",
        "Card attempts, with this one; 0 on other rails.",
    ),
    Feature(
        "program.cardFraudDeclines30d",
        "program_card_fraud_declines_30d",
        "integer",
        "count",
        "30 days",
        "Card attempts declined for suspected fraud or failed authentication.",
    ),
)
