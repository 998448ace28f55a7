"""Transaction Risk Score, trs-v1: an additive scorecard over the feature vector.

Unit    points 0-100, integers; None below the floor, because unscored is not clear
n       the entity's earlier transfers when there are at least 5, else the program's transfers of 90 days
Errors  none: every FeatureVector has an answer, and the same vector always the same one
Source  weights and triggers are named beside each rule, in the modules that ``trs_v1_rules.py`` lists
"""

from collections.abc import Callable
from typing import Final

from features.catalogue.vector import FeatureVector
from features.core.reason import Reason, Score
from features.scorers.families import CAPS, Family
from features.scorers.rule import ANY_RAIL
from features.scorers.trs_v1.flow import is_quiet
from features.scorers.trs_v1.rules import CAP_KINDS, CEILING, CEILING_KIND, FLOOR_KIND, RULES

VERSION: Final = "trs-v1"
ENTITY_FLOOR: Final = 5
PROGRAM_FLOOR: Final = 30
CREDIBILITY_K: Final = 20

Check = Callable[[FeatureVector], Reason | None]


def _checks_of(rail: str, *families: Family) -> tuple[Check, ...]:
    return tuple(rule.check for family in families for rule in RULES[family] if rail in rule.rails)


_SHAPELESS: Final = tuple(family for family in Family if family is not Family.FLOW)
# The checks that look at a rail, without those of the flow family and with them.
_CHECKS: Final = {rail: (_checks_of(rail, *_SHAPELESS), _checks_of(rail, *Family)) for rail in ANY_RAIL}
_FAMILY_OF: Final = {kind.id: kind.family for rules in RULES.values() for rule in rules for kind in rule.kinds}
# Confidence by n, as far as it still grows; the second is for degraded inputs.
_SATED: Final = next(n for n in range(10**6) if round(n / (n + CREDIBILITY_K), 2) == 1)
_CONFIDENCE: Final = tuple(
    tuple(round(round(n / (n + CREDIBILITY_K), 2) * factor, 3) for n in range(_SATED + 1)) for factor in (1.0, 0.5)
)


def fired(vector: FeatureVector) -> list[Reason]:
    """Every reason that the rules give, whether there is history enough for a score or not; no caps."""
    return [reason for check in _CHECKS[vector.rail][not is_quiet(vector)] if (reason := check(vector)) is not None]


def score(vector: FeatureVector, *, degraded: bool) -> Score:
    """Add up the rules that fire, family by family, and show every cap as a reason of its own."""
    reasons = fired(vector)
    n = _observations(vector)
    if vector.entity_prior_transfers < ENTITY_FLOOR and (vector.program_n_90d or 0) < PROGRAM_FLOOR:
        hard = tuple(sorted((reason for reason in reasons if reason.hard), key=_shown_first))
        return Score(version=VERSION, value=None, n=n, confidence=None, reasons=hard)
    confidence = _CONFIDENCE[degraded][min(n, _SATED)]
    if not reasons:
        return Score(version=VERSION, value=0, n=n, confidence=confidence, reasons=())
    total = _capped(reasons)
    if total > CEILING:
        sentence = f"Points above {CEILING} are cut ({total} in all)."
        reasons.append(CEILING_KIND.reason(sentence, CEILING - total))
        total = CEILING
    elif total < 0:
        reasons.append(FLOOR_KIND.reason("Points below 0 are raised to 0.", -total))
        total = 0
    return Score(
        version=VERSION, value=total, n=n, confidence=confidence, reasons=tuple(sorted(reasons, key=_shown_first))
    )


def _observations(vector: FeatureVector) -> int:
    if vector.entity_prior_transfers >= ENTITY_FLOOR or vector.program_n_90d is None:
        return vector.entity_prior_transfers
    return vector.program_n_90d


def _capped(reasons: list[Reason]) -> int:
    """The points of all; for each family over its cap, the cap joins the reasons with the points it takes away."""
    points: dict[Family | None, int] = {}
    for reason in reasons:
        family = _FAMILY_OF[reason.id]
        points[family] = points.get(family, 0) + reason.weight
    for family, cap in CAPS.items():
        over = points.get(family, 0) - cap.points
        if over > 0:
            counted = f"Signals of the family {family.value} count for at most {cap.points} points"
            reasons.append(CAP_KINDS[family].reason(f"{counted} ({cap.points + over} in all).", -over))
            points[family] = cap.points
    return sum(points.values())


def _shown_first(reason: Reason) -> tuple[int, str]:
    return (-reason.weight, reason.id)
