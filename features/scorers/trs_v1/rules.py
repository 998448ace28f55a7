"""The rules of trs-v1 in one table, by family, and every reason that the scorer can give.

Weights and triggers never change within a version. Sentences hold numbers, words of the interface and ISO codes,
never names.
"""

from collections.abc import Mapping
from typing import Final

from features.scorers.families import CAPS, Family
from features.scorers.rule import ReasonKind, Rule
from features.scorers.trs_v1 import amount as trs_v1_amount
from features.scorers.trs_v1 import card as trs_v1_card
from features.scorers.trs_v1 import flow as trs_v1_flow
from features.scorers.trs_v1 import geography as trs_v1_place
from features.scorers.trs_v1 import history as trs_v1_history
from features.scorers.trs_v1 import identity as trs_v1_identity
from features.scorers.trs_v1 import relationship as trs_v1_relationship
from features.scorers.trs_v1 import returns as trs_v1_returns
from features.scorers.trs_v1 import timing as trs_v1_timing

CEILING: Final = 100

_PROPOSED: Final = "[P]"
_ALL: Final[tuple[Rule, ...]] = (
    *trs_v1_amount.RULES,
    *trs_v1_timing.RULES,
    *trs_v1_flow.RULES,
    *trs_v1_relationship.RULES,
    *trs_v1_returns.RULES,
    *trs_v1_card.RULES,
    *trs_v1_identity.RULES,
    *trs_v1_place.RULES,
    *trs_v1_history.RULES,
)
RULES: Final[Mapping[Family, tuple[Rule, ...]]] = {
    family: tuple(rule for rule in _ALL if rule.family is family) for family in Family
}
CAP_KINDS: Final = {
    family: ReasonKind(
        cap.reason_id,
        f"cap_{family.value}",
        (),
        family,
        f"Signals of the family {family.value} count for at most {cap.points} points.",
        _PROPOSED,
    )
    for family, cap in CAPS.items()
}
CEILING_KIND: Final = ReasonKind("TRS-CAP-99", "ceiling", (), None, f"Points above {CEILING} are cut.", _PROPOSED)
FLOOR_KIND: Final = ReasonKind("TRS-CAP-00", "floor", (), None, "Points below 0 are raised to 0.", _PROPOSED)
REASONS: Final = (
    *(kind for rules in RULES.values() for rule in rules for kind in rule.kinds),
    *CAP_KINDS.values(),
    CEILING_KIND,
    FLOOR_KIND,
)
