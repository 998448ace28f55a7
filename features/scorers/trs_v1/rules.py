"""The rules of trs-v1 in one table, by family, and every reason that the scorer can give.

Weights and triggers never change within a version. Sentences hold numbers, words of the interface and ISO codes,
never names.
"""

from collections.abc import Mapping
from typing import Final

from features.scorers.families import Family
from features.scorers.rule import Rule
from features.scorers.scorecard import FamilyCap, family_cap, limits_of
from features.scorers.trs_v1 import amount, card, flow, geography, history, identity, relationship, returns, timing

_ALL: Final[tuple[Rule, ...]] = (
    *amount.RULES,
    *timing.RULES,
    *flow.RULES,
    *relationship.RULES,
    *returns.RULES,
    *card.RULES,
    *identity.RULES,
    *geography.RULES,
    *history.RULES,
)
RULES: Final[Mapping[Family, tuple[Rule, ...]]] = {
    family: tuple(rule for rule in _ALL if rule.family is family) for family in Family
}
CAPS: Final[Mapping[Family, FamilyCap]] = {
    family: family_cap(f"TRS-CAP-{number:02d}", family, points)
    for number, (family, points) in enumerate(
        (
            (Family.AMOUNT, 30),
            (Family.TIMING, 30),
            (Family.RELATIONSHIP, 30),
            (Family.RETURNS, 45),
            (Family.IDENTITY, 60),
            (Family.GEOGRAPHY, 40),
            (Family.DECLARED, 30),
            (Family.FLOW, 60),
            (Family.CARD, 45),
        ),
        start=1,
    )
}
"""The most points that each family may add; all [P], to be tuned on labels."""

LIMITS: Final = limits_of("TRS")
REASONS: Final = (
    *(kind for rules in RULES.values() for rule in rules for kind in rule.kinds),
    *(cap.kind for cap in CAPS.values()),
    *LIMITS,
)
