"""The further fields on an actor's pace, hours and usual amounts, and on money that goes on or back within hours.

Windows of hours leave out other transfers of the same instant, because they were booked together.
"""

from typing import Final

from clearhold.features.catalogue.feature import Feature

RHYTHM_FIELDS: Final[tuple[Feature, ...]] = (
    Feature(
        "entity.p90Cents90d",
        "entity_p90_cents_90d",
        "integer",
        "cents",
        "90 days",
        "90th percentile of the transfers of entity.medianCents90d.",
    ),
    Feature(
        "velocity1hCount",
        "velocity_count_1h",
        "integer",
        "count",
        "1 hour",
        "The entity's earlier transfers, with this one.",
    ),
    Feature(
        "velocity6hCount",
        "velocity_count_6h",
        "integer",
        "count",
        "6 hours",
        "The entity's earlier transfers, with this one.",
    ),
    Feature(
        "entity.received6hCount",
        "entity_received_count_6h",
        "integer",
        "count",
        "6 hours",
        "Earlier payments to the entity from known payers, with cards; the newest 64 and this transfer.",
    ),
    Feature(
        "entity.paid6hCount",
        "entity_paid_count_6h",
        "integer",
        "count",
        "6 hours",
        "Earlier payments by the entity to known payees, with cards; the newest 64 and this transfer.",
    ),
    Feature(
        "entity.received2hCents",
        "entity_received_cents_2h",
        "integer",
        "cents",
        "2 hours",
        "Cents of the payments of entity.received6hCount, without this transfer.",
    ),
    Feature(
        "entity.newParties6h",
        "entity_new_parties_6h",
        "integer",
        "count",
        "6 hours",
        "Earlier payers and payees that were new to the entity, with this transfer.",
    ),
    Feature(
        "entity.usualHourPercent",
        "entity_usual_hour_percent",
        "integer",
        "percent",
        "90 days",
        "Share of the entity's newest 64 other transfers within 90 minutes of this time of day, UTC; null below 20.",
    ),
    Feature(
        "pair.otherWay24hCents",
        "pair_other_way_cents_24h",
        "integer",
        "cents",
        "24 hours",
        "Cents of the newest payment the other way between the two, in the entity's newest 64; null without one.",
    ),
    Feature(
        "typology.quickHops",
        "quick_hops_2h",
        "integer",
        "hops",
        "2 hours a hop",
        "Most payments in a row, whatever their amounts, that ended at the payer; at most 3, and none beyond a side "
        "with over 8 in those 2 hours.",
    ),
)
