"""Transaction Risk Score, trs-v1: an additive scorecard over the feature vector.

Unit    points 0-100, integers; None below the floor, because unscored is not clear
n       the entity's earlier transfers when there are at least 5, else the program's transfers of 90 days
Errors  none: every FeatureVector has an answer, and the same vector always the same one
Source  weights and triggers are named beside each rule in ``trs_v1_rules.py``
"""

from collections.abc import Callable
from typing import Final

from features.reason import Reason, Score
from features.scorers.families import CAPS, Family
from features.scorers.trs_v1_rules import RULES
from features.vector import FeatureVector

VERSION: Final = "trs-v1"
ENTITY_FLOOR: Final = 5
PROGRAM_FLOOR: Final = 30
CREDIBILITY_K: Final = 20
CEILING: Final = 100

Rule = Callable[[FeatureVector], Reason | None]
_RULES: Final[tuple[tuple[Family, Rule], ...]] = tuple(
    (family, rule) for family, rules in RULES.items() for rule in rules
)


def score(vector: FeatureVector, *, degraded: bool) -> Score:
    """Add up the rules that fire, family by family, and show every cap as a reason of its own."""
    fired: dict[Family, list[Reason]] = {}
    for family, rule in _RULES:
        reason = rule(vector)
        if reason is not None:
            fired.setdefault(family, []).append(reason)
    total = sum(_capped(family, of_family) for family, of_family in fired.items())
    reasons = [reason for of_family in fired.values() for reason in of_family]
    n = _observations(vector)
    if vector.entity_prior_transfers < ENTITY_FLOOR and (vector.program_n_90d or 0) < PROGRAM_FLOOR:
        hard = tuple(sorted((reason for reason in reasons if reason.hard), key=_shown_first))
        return Score(version=VERSION, value=None, n=n, confidence=None, reasons=hard)
    if total > CEILING:
        reasons.append(
            _limit("TRS-CAP-99", "ceiling", CEILING - total, f"Points above {CEILING} are cut ({total} in all).")
        )
        total = CEILING
    elif total < 0:
        reasons.append(_limit("TRS-CAP-00", "floor", -total, "Points below 0 are raised to 0."))
        total = 0
    confidence = round(round(n / (n + CREDIBILITY_K), 2) * (0.5 if degraded else 1.0), 3)
    return Score(
        version=VERSION, value=total, n=n, confidence=confidence, reasons=tuple(sorted(reasons, key=_shown_first))
    )


def _observations(vector: FeatureVector) -> int:
    if vector.entity_prior_transfers >= ENTITY_FLOOR or vector.program_n_90d is None:
        return vector.entity_prior_transfers
    return vector.program_n_90d


def _capped(family: Family, fired: list[Reason]) -> int:
    """The family's points; over its cap, the cap is added to the reasons with the points it takes away."""
    points = sum(reason.weight for reason in fired)
    cap = CAPS.get(family)
    if cap is None or points <= cap.points:
        return points
    sentence = f"Signals of the family {family.value} count for at most {cap.points} points ({points} in all)."
    fired.append(_limit(cap.reason_id, f"cap_{family.value}", cap.points - points, sentence))
    return cap.points


def _limit(reason_id: str, signal: str, weight: int, sentence: str) -> Reason:
    return Reason(id=reason_id, signal=signal, weight=weight, hard=False, sentence=sentence)


def _shown_first(reason: Reason) -> tuple[int, str]:
    return (-reason.weight, reason.id)
