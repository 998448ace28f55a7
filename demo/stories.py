"""All stories in their order, with the detectors that must catch each."""

from typing import Final

from clearhold.demo import fraud, mules
from clearhold.demo.story import Story

UNAUTHORIZED: Final = Story(
    name="unauthorized returns", detectors=("unauthorized_return",), moves=fraud.unauthorized_debits
)
UNDER_3K: Final = Story(name="structuring under $3,000", detectors=("structuring_pattern",), moves=fraud.just_under_3k)
UNDECLARED: Final = Story(
    name="undeclared country", detectors=("country_outside_declared",), moves=fraud.undeclared_country
)
CARDS: Final = Story(name="one card tested", detectors=("card_testing",), moves=fraud.card_testing)
DORMANT: Final = "dormant account wakes up"

EVERY_STORY: Final[tuple[Story, ...]] = (
    Story(name="structuring under $10,000", detectors=("structuring_pattern",), moves=fraud.just_under_10k),
    Story(name="denied entity moves money", detectors=("kyc_denied_moving",), moves=fraud.denied_but_moving),
    Story(name="accounts probed", detectors=("return_code_abuse",), moves=mules.probed_accounts),
    Story(name="call-for-action country", detectors=("high_risk_geography",), moves=fraud.called_for_action),
    Story(name="mule: many in, one out", detectors=("funnel_mule", "rapid_in_out"), moves=mules.mule),
    Story(name="velocity burst", detectors=("velocity_spike",), moves=fraud.velocity_burst),
    Story(
        name="changed account details",
        detectors=("first_time_counterparty_large", "amount_spike", "band_hold"),
        moves=fraud.changed_account,
    ),
    UNAUTHORIZED,
    Story(name="round trip", detectors=("round_trip",), moves=mules.round_trip),
    UNDER_3K,
    CARDS,
    Story(name="micro-entries", detectors=("micro_entry_abuse",), moves=mules.micro_entries),
    UNDECLARED,
)
TOLD_ONCE: Final[tuple[Story, ...]] = (
    Story(name=DORMANT, detectors=("dormant_reactivation",), moves=fraud.dormant_employer),
    Story(name="out before a debit returns", detectors=("ach_float",), moves=mules.float_on_a_debit),
    Story(name=DORMANT, detectors=("dormant_reactivation",), moves=fraud.second_dormant_employer),
)
TOLD_IN_HISTORY: Final[tuple[Story, ...]] = (UNAUTHORIZED, UNDER_3K, UNDECLARED, CARDS)
DETECTORS_OF: Final = {story.name: story.detectors for story in (*EVERY_STORY, *TOLD_ONCE)}
