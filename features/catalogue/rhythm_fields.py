"""The further fields on an actor's pace, hours and usual amounts, and on money that goes on or back within hours;
on an actor's busiest day, and on the money that passes through it.

Windows of hours leave out other transfers of the same instant, because they were booked together.
"""

from typing import Final

from clearhold.features.catalogue.feature import Feature

PASSING_FIELDS: Final[tuple[Feature, ...]] = (
    Feature(
        "entity.busiestDay35dCount",
        "entity_busiest_day_count_35d",
        "count",
        "35 days",
        "Most transfers in one of the 34 days before the last 24 hours; if these have 1.5 times as many, also in days "
        "that end with one of its newest 64 earlier transfers. Null below 5 transfers and $2,500 in 24 hours.",
    ),
    Feature(
        "entity.busiestDay35dCents",
        "entity_busiest_day_cents_35d",
        "cents",
        "35 days",
        "Most cents in one of the 34 days before the last 24 hours; if these have 1.5 times as many, also in days that "
        "end with one of its newest 64 earlier transfers. Null below 5 transfers and $2,500 in 24 hours.",
    ),
    Feature(
        "entity.peak48hCents",
        "entity_peak_cents_48h",
        "cents",
        "48 hours",
        "Highest balance of received and sent money, counted from 0; null unless it sends on 80 % of at least $1,000.",
    ),
    Feature(
        "entity.left48hCents",
        "entity_left_cents_48h",
        "cents",
        "48 hours",
        "Last balance of received and sent money; null where entity.peak48hCents is null.",
    ),
    Feature(
        "entity.newMoney48hCents",
        "entity_new_money_cents_48h",
        "cents",
        "48 hours",
        "Received from payers that are unknown or first paid it less than 60 days ago; null where entity.peak48hCents "
        "is null.",
    ),
)


RHYTHM_FIELDS: Final[tuple[Feature, ...]] = (
    Feature(
        "entity.p90Cents90d",
        "entity_p90_cents_90d",
        "cents",
        "90 days",
        "90th percentile of the transfers of entity.medianCents90d.",
    ),
    Feature(
        "velocity1hCount", "velocity_count_1h", "count", "1 hour", "The entity's earlier transfers, with this one."
    ),
    Feature(
        "velocity6hCount", "velocity_count_6h", "count", "6 hours", "The entity's earlier transfers, with this one."
    ),
    Feature(
        "entity.received6hCount",
        "entity_received_count_6h",
        "count",
        "6 hours",
        "Earlier payments to the entity from known payers, with cards; the newest 64 and this transfer.",
    ),
    Feature(
        "entity.paid6hCount",
        "entity_paid_count_6h",
        "count",
        "6 hours",
        "Earlier payments by the entity to known payees, with cards; the newest 64 and this transfer.",
    ),
    Feature(
        "entity.received2hCents",
        "entity_received_cents_2h",
        "cents",
        "2 hours",
        "Cents of the payments of entity.received6hCount, without this transfer.",
    ),
    Feature(
        "entity.newParties6h",
        "entity_new_parties_6h",
        "count",
        "6 hours",
        "Earlier payers and payees that were new to the entity, with this transfer.",
    ),
    Feature(
        "entity.usualHourPercent",
        "entity_usual_hour_percent",
        "percent",
        "90 days",
        "Share of the entity's newest 64 other transfers within 90 minutes of this time of day, UTC; null below 20.",
    ),
    Feature(
        "pair.otherWay24hCents",
        "pair_other_way_cents_24h",
        "cents",
        "24 hours",
        "Cents of the newest payment the other way between the two, in the entity's newest 64; null without one.",
    ),
    Feature(
        "typology.quickHops",
        "quick_hops_2h",
        "hops",
        "2 hours a hop",
        "Most payments in a row, whatever their amounts, that ended at the payer; at most 3, and none beyond a side "
        "with over 8 in those 2 hours.",
    ),
)
