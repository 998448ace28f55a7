"""Transaction Risk Score, trs-v1: an additive scorecard over the feature vector.

Unit    points 0-100, integers; None below the floor and without an amount in US dollars: unscored is not clear
n       the entity's earlier transfers when there are at least 5, else the program's transfers of 90 days
Errors  none: every FeatureVector has an answer, and the same vector always the same one
Source  weights and triggers are named beside each rule, in the modules that ``rules.py`` lists
"""

from collections.abc import Callable
from typing import Final

from features.catalogue.vector import FeatureVector, is_attempt
from features.core.reason import Reason, Score
from features.scorers.families import Family
from features.scorers.rule import ANY_RAIL
from features.scorers.scorecard import CEILING, cap_reasons, confidence_of, in_order
from features.scorers.trs_v1.flow import is_quiet
from features.scorers.trs_v1.rules import CAPS, LIMITS, RULES

VERSION: Final = "trs-v1"
ENTITY_FLOOR: Final = 5
PROGRAM_FLOOR: Final = 30

Check = Callable[[FeatureVector], Reason | None]


def _checks_of(rail: str, *families: Family) -> tuple[Check, ...]:
    return tuple(rule.check for family in families for rule in RULES[family] if rail in rule.rails)


def _checks_of_attempts(rail: str) -> tuple[Check, ...]:
    return tuple(rule.check for rules in RULES.values() for rule in rules if rule.of_attempts and rail in rule.rails)


_ALL_BUT_FLOW: Final = tuple(family for family in Family if family is not Family.FLOW)
# The checks that look at a rail, without those of the flow family and with them.
_CHECKS: Final = {rail: (_checks_of(rail, *_ALL_BUT_FLOW), _checks_of(rail, *Family)) for rail in ANY_RAIL}
_CHECKS_OF_ATTEMPTS: Final = {rail: _checks_of_attempts(rail) for rail in ANY_RAIL}
_FAMILY_OF: Final = {kind.id: kind.family for rules in RULES.values() for rule in rules for kind in rule.kinds}


def fired(vector: FeatureVector) -> list[Reason]:
    """Every reason that the rules give, whether there is history enough for a score or not; no caps."""
    checks = _CHECKS_OF_ATTEMPTS[vector.rail] if is_attempt(vector) else _CHECKS[vector.rail][not is_quiet(vector)]
    return [reason for check in checks if (reason := check(vector)) is not None]


def score(vector: FeatureVector, *, degraded: bool) -> Score:
    """Add up the rules that fire, family by family, and show every cap as a reason of its own.

    Without an amount in US dollars nothing says how much is moved, and there is no score (ruling 38).
    """
    reasons = fired(vector)
    n = _observations(vector)
    if vector.amount_cents is None or not _has_history(vector):
        hard = [reason for reason in reasons if reason.hard]
        return Score(version=VERSION, value=None, n=n, confidence=None, reasons=in_order(hard))
    confidence = confidence_of(n, degraded=degraded)
    if not reasons:
        return Score(version=VERSION, value=0, n=n, confidence=confidence, reasons=())
    reasons += cap_reasons(_points_by_family(reasons), CAPS)
    total = sum([reason.weight for reason in reasons])
    limited = LIMITS.reason(total)
    if limited is not None:
        reasons.append(limited)
    value = min(CEILING, max(0, total))
    return Score(version=VERSION, value=value, n=n, confidence=confidence, reasons=in_order(reasons))


def _has_history(vector: FeatureVector) -> bool:
    return vector.entity_prior_transfers >= ENTITY_FLOOR or (vector.program_n_90d or 0) >= PROGRAM_FLOOR


def _observations(vector: FeatureVector) -> int:
    if vector.entity_prior_transfers >= ENTITY_FLOOR or vector.program_n_90d is None:
        return vector.entity_prior_transfers
    return vector.program_n_90d


def _points_by_family(reasons: list[Reason]) -> dict[Family | None, int]:
    points: dict[Family | None, int] = {}
    for reason in reasons:
        family = _FAMILY_OF[reason.id]
        points[family] = points.get(family, 0) + reason.weight
    return points
