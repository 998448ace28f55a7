"""The signals of trs-v1 on card purchases, by what holder, card and program usually buy and where, for cards fitted to
labels.

Unit    purchases, merchants, or percent of a usual amount, rounded down and at most ``MOST_PERCENT``; of two places,
        the minutes by which the time between them is under a day, so that more is worse
Window  90 days for categories, 24 hours for places and merchants
Null    where the bank does not state the category or whether the card was present, and below five amounts
Source  named at each signal; figures [P]

No distances are known: two countries may be neighbours, and two states too. None of these has points on the default
card.
"""

from collections.abc import Sequence
from typing import Final

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.money import counted, money
from clearhold.features.scorers.signal import CARD_ONLY, Signal
from clearhold.features.scorers.trs_v1.amount import MOST_PERCENT

MERCHANTS_FROM: Final = 2
_DAY_MINUTES: Final = 24 * 60
_BAHNSEN: Final = "A. C. Bahnsen et al., Expert Systems with Applications 51 (2016); figures [P]"
_HANDBOOK: Final = "Y.-A. Le Borgne et al., Fraud Detection Handbook, 2022, chapter 3; figures [P]"
_ISSUERS: Final = "[P]; issuers compare the places and times of the uses of a card"


def _percent(v: FeatureVector, usual: int | None) -> int | None:
    return None if v.amount_cents is None or not usual else min(MOST_PERCENT, 100 * v.amount_cents // usual)


def _edges(usual: int | None, percents: Sequence[int]) -> list[int]:
    return [-(-percent * (usual or 0) // 100) for percent in percents]


def _under_a_day(minutes: int | None) -> int | None:
    return None if minutes is None else _DAY_MINUTES - minutes


def _usual_sentence(v: FeatureVector, whose: str, usual: int | None) -> str:
    category = v.merchant_category
    return f"{money(v.amount_cents or 0)} in category {category}; {whose} median in it is {money(usual or 0)}."


NEW_CATEGORY: Final = Signal[FeatureVector](
    "TRS-CRD-04",
    "new_category",
    "The entity's first purchase of 90 days in a merchant category: its purchases in others in that time.",
    lambda v: v.entity_new_category_after_90d,
    lambda v, n: f"First purchase of 90 days in category {v.merchant_category}, after {n} in others.",
    source=_BAHNSEN,
    unit="purchases in other categories",
    rails=CARD_ONLY,
)
OVER_OWN_CATEGORY: Final = Signal[FeatureVector](
    "TRS-CRD-05",
    "amount_over_own_category",
    "The amount beside the entity's median in the merchant category.",
    lambda v: _percent(v, v.entity_category_median_cents_90d),
    lambda v, _: _usual_sentence(v, "this entity's", v.entity_category_median_cents_90d),
    source=_BAHNSEN,
    unit="percent of the entity's median in the category",
    edges=lambda v, percents: _edges(v.entity_category_median_cents_90d, percents),
    rails=CARD_ONLY,
)
OVER_CATEGORY: Final = Signal[FeatureVector](
    "TRS-CRD-06",
    "amount_over_category",
    "The amount beside the program's median in the merchant category.",
    lambda v: _percent(v, v.program_category_median_cents_90d),
    lambda v, _: _usual_sentence(v, "the program's", v.program_category_median_cents_90d),
    source=_HANDBOOK,
    unit="percent of the program's median in the category",
    edges=lambda v, percents: _edges(v.program_category_median_cents_90d, percents),
    rails=CARD_ONLY,
)
TWO_COUNTRIES: Final = Signal[FeatureVector](
    "TRS-CRD-07",
    "card_in_two_countries",
    "The card was present in two countries within a day.",
    lambda v: _under_a_day(v.card_other_country_minutes_24h),
    lambda v, _: (
        f"The card was present in another country {counted(v.card_other_country_minutes_24h or 0, 'minute')} before."
    ),
    source=_ISSUERS,
    unit="minutes under 24 hours",
    rails=CARD_ONLY,
    of_attempts=True,
)
TWO_STATES: Final = Signal[FeatureVector](
    "TRS-CRD-08",
    "card_in_two_states",
    "The card was present in two states of the US within a day.",
    lambda v: _under_a_day(v.card_other_state_minutes_24h),
    lambda v, _: (
        f"The card was present in another state {counted(v.card_other_state_minutes_24h or 0, 'minute')} before "
        f"{v.merchant_state}."
    ),
    source=_ISSUERS,
    unit="minutes under 24 hours",
    rails=CARD_ONLY,
    of_attempts=True,
)
MERCHANTS_WITHOUT_CARD: Final = Signal[FeatureVector](
    "TRS-CRD-09",
    "card_not_present_run",
    "From 2 merchants in 24 hours on: the merchants at which the card was used without being present.",
    lambda v: v.card_not_present_merchants_24h,
    lambda _v, n: f"The card was used at {n} merchants in 24 hours without being present.",
    source=_ISSUERS,
    unit="merchants",
    least=MERCHANTS_FROM,
    rails=CARD_ONLY,
    of_attempts=True,
)

SIGNALS: Final[tuple[Signal[FeatureVector], ...]] = (
    *(NEW_CATEGORY, OVER_OWN_CATEGORY, OVER_CATEGORY),
    *(TWO_COUNTRIES, TWO_STATES, MERCHANTS_WITHOUT_CARD),
)
