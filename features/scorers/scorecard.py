"""The common part of all scores: confidence, caps of families, the limits 0 and 100, and the order of reasons.

Unit    points, integers; confidence 0-1
Source  all [P], proposed here; credibility n / (n + k) is Buehlmann's
"""

from collections.abc import Sequence
from typing import Final

from clearhold.features.core.reason import Reason
from clearhold.features.scorers.families import Family

CREDIBILITY_K: Final = 20
DEGRADED_FACTOR: Final = 0.5
CEILING: Final = 100
PROPOSED: Final = "[P]"


def cap_reason(reason_id: str, family: Family, most: int, total: int) -> Reason:
    """The deduction by a family's cap."""
    sentence = f"Signals of the family {family.value} count for at most {most} points ({total} in all)."
    return Reason(id=reason_id, signal=f"cap_{family.value}", weight=most - total, hard=False, sentence=sentence)


def limit_reason(prefix: str, total: int) -> Reason | None:
    """The reason that brings the points within 0 and 100; None when they already are. ``prefix`` is as TRS."""
    if total > CEILING:
        sentence = f"Points above {CEILING} are cut ({total} in all)."
        return Reason(id=f"{prefix}-CAP-99", signal="ceiling", weight=CEILING - total, hard=False, sentence=sentence)
    if total < 0:
        sentence = "Points below 0 are raised to 0."
        return Reason(id=f"{prefix}-CAP-00", signal="floor", weight=-total, hard=False, sentence=sentence)
    return None


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
