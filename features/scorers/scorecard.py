"""What every additive scorecard shares: confidence, caps of families, the limits 0 and 100, and the order of reasons.

Unit    points, integers; confidence 0-1
Source  all [P], proposed here; credibility n / (n + k) is Buehlmann's
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from features.core.reason import Reason
from features.scorers.families import Family
from features.scorers.rule import ReasonKind

CREDIBILITY_K: Final = 20
DEGRADED_FACTOR: Final = 0.5
CEILING: Final = 100
PROPOSED: Final = "[P]"


class FamilyCap(NamedTuple):
    """The most points that one family of signals may add."""

    kind: ReasonKind
    points: int


class Limits(NamedTuple):
    """The reasons of a scorer for points that are cut to ``CEILING`` or raised to 0."""

    ceiling: ReasonKind
    floor: ReasonKind

    def reason(self, total: int) -> Reason | None:
        """The reason that brings the total within the limits; None when it is within them."""
        if total > CEILING:
            return self.ceiling.reason(f"Points above {CEILING} are cut ({total} in all).", CEILING - total)
        return self.floor.reason(self.floor.meaning, -total) if total < 0 else None


def family_cap(reason_id: str, family: Family, points: int) -> FamilyCap:
    meaning = f"Signals of the family {family.value} count for at most {points} points."
    return FamilyCap(ReasonKind(reason_id, f"cap_{family.value}", (), family, meaning, PROPOSED), points)


def limits_of(prefix: str) -> Limits:
    """The limits of a scorer; ``prefix`` begins the ids of its reasons, such as TRS."""
    return Limits(
        ceiling=ReasonKind(f"{prefix}-CAP-99", "ceiling", (), None, f"Points above {CEILING} are cut.", PROPOSED),
        floor=ReasonKind(f"{prefix}-CAP-00", "floor", (), None, "Points below 0 are raised to 0.", PROPOSED),
    )


def cap_reasons(points: Mapping[Family | None, int], caps: Mapping[Family, FamilyCap]) -> list[Reason]:
    """The caps that the families' points exceed, each with the points that it takes away."""
    exceeded: list[Reason] = []
    for family, (kind, most) in caps.items():
        over = points.get(family, 0) - most
        if over > 0:
            counted = f"Signals of the family {family.value} count for at most {most} points"
            exceeded.append(kind.reason(f"{counted} ({most + over} in all).", -over))
    return exceeded


def confidence_of(n: int, *, degraded: bool) -> float:
    """Credibility n / (n + 20), halved when an input was missing or stale."""
    return _CONFIDENCE[degraded][min(n, _FULL_FROM)]


def in_order(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """By weight descending, then by id."""
    return tuple(sorted(reasons, key=_by_weight) if len(reasons) > 1 else reasons)


def _by_weight(reason: Reason) -> tuple[int, str]:
    return (-reason.weight, reason.id)


def _credibility(n: int) -> float:
    return round(n / (n + CREDIBILITY_K), 2)


_FULL_FROM: Final = next(n for n in range(10**6) if _credibility(n) == 1)
_CONFIDENCE: Final = tuple(
    tuple(round(_credibility(n) * factor, 3) for n in range(_FULL_FROM + 1)) for factor in (1.0, DEGRADED_FACTOR)
)
