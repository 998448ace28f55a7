"""The further fields on an actor's busiest day and on the money that passes through it."""

from typing import Final

from clearhold.features.catalogue.feature import Feature

PASSING_FIELDS: Final[tuple[Feature, ...]] = (
    Feature(
        "entity.busiestDay35dCount",
        "entity_busiest_day_count_35d",
        "integer",
        "count",
        "35 days",
        "Most transfers in one of the 34 days before the last 24 hours; if these have 1.5 times as many, also in days "
        "that end with one of its newest 64 earlier transfers. Null below 5 transfers and $2,500 in 24 hours.",
    ),
    Feature(
        "entity.busiestDay35dCents",
        "entity_busiest_day_cents_35d",
        "integer",
        "cents",
        "35 days",
        "Most cents in one of the 34 days before the last 24 hours; if these have 1.5 times as many, also in days that "
        "end with one of its newest 64 earlier transfers. Null below 5 transfers and $2,500 in 24 hours.",
    ),
    Feature(
        "entity.peak48hCents",
        "entity_peak_cents_48h",
        "integer",
        "cents",
        "48 hours",
        "Highest balance of received and sent money, counted from 0; null unless it sends on 80 % of at least $1,000.",
    ),
    Feature(
        "entity.left48hCents",
        "entity_left_cents_48h",
        "integer",
        "cents",
        "48 hours",
        "Last balance of received and sent money; null where entity.peak48hCents is null.",
    ),
    Feature(
        "entity.newMoney48hCents",
        "entity_new_money_cents_48h",
        "integer",
        "cents",
        "48 hours",
        "Received from payers that are unknown or first paid it less than 60 days ago; null where entity.peak48hCents "
        "is null.",
    ),
)
