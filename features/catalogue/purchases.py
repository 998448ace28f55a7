"""The features of card purchases: the bank's statements on merchant and card, and the usual of the merchant's
category. Null where the bank states nothing of it, on other rails, and in older stored vectors.

The bank's events locate a merchant by its country and, in the US, its state; so two places are two of these, however
near to each other they are.
"""

from typing import Annotated

from clearhold.features.catalogue.feature import THE_TRANSFER, Group, feature


class Purchases(Group, frozen=True):
    """Statements on any card transfer; the measures are of purchases, which are outgoing, and leave out refunds."""

    card_present: Annotated[
        bool | None, feature("cardPresent", THE_TRANSFER), "Whether the card was at the merchant, as the bank states."
    ]
    entry_mode: Annotated[
        str | None,
        feature("entryMode", THE_TRANSFER),
        "How the card's number was entered: the issuer's word in capitals, such as ECOMMERCE.",
    ]
    merchant_category: Annotated[
        str | None, feature("merchantCategory", THE_TRANSFER, unit="ISO 18245"), "The merchant's category, four digits."
    ]
    merchant_state: Annotated[
        str | None,
        feature("merchantState", THE_TRANSFER, unit="ISO 3166-2:US"),
        "The merchant's state or territory, two letters, where its country is US.",
    ]
    entity_category_count_90d: Annotated[
        int | None, feature("entity.categoryCount90d"), "The entity's other purchases in this merchant category."
    ]
    entity_new_category_after_90d: Annotated[
        int | None,
        feature("entity.newCategoryAfter90d"),
        "The entity's other purchases in stated categories where none is of this one: it uses the category for the "
        "first time in 90 days; else null.",
    ]
    entity_category_median_cents_90d: Annotated[
        int | None,
        feature("entity.categoryMedianCents90d"),
        "Median of its newest 64 other purchases in this category, the larger ones of one instant counting as newer, "
        "without amounts that are not in US dollars; null below 5 amounts.",
    ]
    program_category_median_cents_90d: Annotated[
        int | None,
        feature("program.categoryMedianCents90d"),
        "Median of the program's other purchases in this category, within 0.5 %; null below 5 amounts.",
    ]
    card_other_country_minutes_24h: Annotated[
        int | None,
        feature("card.otherCountryMinutes24h", unit="minutes"),
        "Whole minutes since the newest attempt on the same card in another country, both with the card present; of "
        "the card's newest 64 attempts. Null without one, without a country, and as card.declines1h.",
    ]
    card_other_state_minutes_24h: Annotated[
        int | None,
        feature("card.otherStateMinutes24h", unit="minutes"),
        "The same in another state, where both countries are US.",
    ]
    card_not_present_merchants_24h: Annotated[
        int | None,
        feature("card.notPresentMerchants24h"),
        "Distinct merchants of the attempts on the same card without the card present, with this one; of the card's "
        "newest 64 attempts. Null where the card is present or this is not stated, and as card.declines1h.",
    ]
