"""The history rule of trs-v1: a long clean past takes points away, and never a hard signal.

Source  [P], proposed here, to be tuned on labels
"""

from typing import Final

from features.catalogue.vector import FeatureVector
from features.core.reason import Reason
from features.scorers.families import Family
from features.scorers.rule import ReasonKind, Rule

CLEAN_HISTORY_TRANSFERS: Final = 60
WELL_KNOWN_COUNTERPARTY: Final = 20

CLEAN: Final = ReasonKind(
    "TRS-HIS-01",
    "clean_history",
    (-5,),
    Family.HISTORY,
    "At least 60 earlier transfers of the entity and 20 with the counterparty, none returned.",
    "[P]",
)


def clean_history(v: FeatureVector) -> Reason | None:
    """A long history without a return, with a counterparty that is well known; 60 and 20 [P]."""
    if v.entity_prior_transfers < CLEAN_HISTORY_TRANSFERS or v.counterparty_n < WELL_KNOWN_COUNTERPARTY:
        return None
    if v.entity_prior_returns or v.counterparty_prior_returns:
        return None
    counts = f"{v.entity_prior_transfers} earlier transfers of the entity, {v.counterparty_n} with this counterparty"
    return CLEAN.reason(f"{counts}, none returned.")


RULES: Final[tuple[Rule, ...]] = (Rule(clean_history, (CLEAN,), of_attempts=True),)
