"""The history signal of trs-v1: a long clean past subtracts points, but never removes a hard signal.

Source  [P], proposed here, to be tuned on labels
"""

from typing import Final

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.scorecards import points_when
from clearhold.features.scorers.signal import Signal

CLEAN_HISTORY_TRANSFERS: Final = 60
WELL_KNOWN_COUNTERPARTY: Final = 20


def _is_clean(v: FeatureVector) -> bool:
    """A long history without a return, with a counterparty that is well known; 60 and 20 [P]."""
    if v.entity_prior_transfers < CLEAN_HISTORY_TRANSFERS or v.counterparty_n < WELL_KNOWN_COUNTERPARTY:
        return False
    return not v.entity_prior_returns and not v.counterparty_prior_returns


CLEAN: Final = Signal[FeatureVector](
    "TRS-HIS-01",
    "clean_history",
    "At least 60 earlier transfers of the entity and 20 with the counterparty, none returned.",
    _is_clean,
    lambda v, _: (
        f"{v.entity_prior_transfers:,} earlier transfers by this entity, {v.counterparty_n:,} with this counterparty; "
        "none was returned."
    ),
    of_attempts=True,
    mitigates=True,
)

SIGNALS: Final = (CLEAN,)
POINTS: Final = (points_when(CLEAN.id, -5),)
"""Of the default card."""
