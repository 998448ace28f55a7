"""When a new pair is a rare one: the scorer and the state must mean the same."""

from typing import Final

from features.catalogue.vector import FeatureVector

RARE_AT_MOST: Final = 3


def is_rare_pair(v: FeatureVector) -> bool:
    """Payer and payee are new to each other, and neither met more than 3 others in 90 days, this one counted."""
    if not v.pair_first_time or v.payer_new_payees_90d is None or v.payee_new_payers_90d is None:
        return False
    return v.payer_new_payees_90d <= RARE_AT_MOST and v.payee_new_payers_90d <= RARE_AT_MOST
