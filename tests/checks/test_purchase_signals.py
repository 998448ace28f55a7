"""The signals of card purchases by hand; and the nearest amount that changes the band of a card with one of them."""

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.core.scorecards import points_from
from clearhold.features.measurement.assessment import smallest_change, with_amount
from clearhold.features.scorers.cards import compile_card
from clearhold.features.scorers.trs_v1 import purchases
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from tests.support.builders import a_vector
from tests.support.cards import changed

PURCHASE: Final = {"rail": "card", "merchant_category": "5411", "card_present": True}


@pytest.mark.parametrize(
    ("signal", "over", "measured", "sentence"),
    [
        (
            purchases.NEW_CATEGORY,
            {"entity_new_category_after_90d": 12},
            12,
            "First purchase of 90 days in category 5411, after 12 in others.",
        ),
        (purchases.NEW_CATEGORY, {"entity_new_category_after_90d": None}, None, None),
        (
            purchases.OVER_OWN_CATEGORY,
            {"entity_category_median_cents_90d": 30_00},
            333,
            "USD 100.00 in category 5411; this entity's median in it is USD 30.00.",
        ),
        (purchases.OVER_OWN_CATEGORY, {"entity_category_median_cents_90d": 0}, None, None),
        (purchases.OVER_OWN_CATEGORY, {"entity_category_median_cents_90d": 1, "amount_cents": None}, None, None),
        (
            purchases.OVER_CATEGORY,
            {"program_category_median_cents_90d": 400_00},
            25,
            "USD 100.00 in category 5411; the program's median in it is USD 400.00.",
        ),
        (purchases.OVER_CATEGORY, {"program_category_median_cents_90d": None}, None, None),
        (
            purchases.TWO_COUNTRIES,
            {"card_other_country_minutes_24h": 0},
            1_440,
            "The card was present in another country 0 minutes before.",
        ),
        (purchases.TWO_COUNTRIES, {"card_other_country_minutes_24h": 1_439}, 1, None),
        (
            purchases.TWO_STATES,
            {"card_other_state_minutes_24h": 1, "merchant_state": "TX"},
            1_439,
            "The card was present in another state 1 minute before TX.",
        ),
        (
            purchases.MERCHANTS_WITHOUT_CARD,
            {"card_not_present_merchants_24h": 4},
            4,
            "The card was used at 4 merchants in 24 hours without being present.",
        ),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_given_a_purchase_then_measure_and_sentence_are_as_by_hand(
    signal: Any, over: dict[str, Any], measured: int | None, sentence: str | None
) -> None:
    vector = a_vector(**PURCHASE | over)

    assert signal.measure(vector) == measured
    if measured is not None and sentence is not None:
        assert signal.sentence(vector, measured) == sentence


@pytest.mark.parametrize("signal", [purchases.OVER_OWN_CATEGORY, purchases.OVER_CATEGORY], ids=lambda each: each.name)
@settings(max_examples=25, deadline=None)
@given(amount=st.integers(2, 400), median=st.integers(1, 300), step=st.integers(1, 400))
def test_given_a_card_with_one_of_them_then_the_nearest_amount_that_changes_the_band_is_found(
    signal: Any, amount: int, median: int, step: int
) -> None:
    hard = [each for each in trs_v1.DEFAULT_CARD.signals if trs_v1.SCORER.signals[each.id].hard]
    signals = (*hard, points_from(signal.id, (step, 35), (2 * step, 75)))
    card = compile_card(changed(trs_v1.DEFAULT_CARD, signals=signals, caps=()), version="scorecard-v1")
    medians = {"entity_category_median_cents_90d": median, "program_category_median_cents_90d": median}
    vector = a_vector(**PURCHASE | medians, amount_cents=amount, card_declines_1h=0)

    change = smallest_change(vector, card, degraded=False)

    band = card.score(vector, degraded=False).band
    near = [
        change
        for away in range(1, 301)
        for change in (-away, away)
        if amount + change >= 1 and card.score(with_amount(vector, amount + change), degraded=False).band is not band
    ]
    assert (None if change is None or abs(change.change_cents) > 300 else change.change_cents) == next(iter(near), None)
