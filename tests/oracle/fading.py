"""An actor's points at an instant, computed from the scores and times of its transfers only.

An entity's highest transfer counts, each halved every 14 days, by the UTC day; what a person explained does not. Its
observations are its transfers of 90 days. A counterparty is new for 7 days and young for 30.
"""

from fractions import Fraction
from typing import Final, NamedTuple

from clearhold.features.core.instants import DAY_US

HALF_LIFE_DAYS: Final = 14
WINDOW_US: Final = 90 * DAY_US
ENTITY_FLOOR: Final = 5
COUNTERPARTY_FLOOR: Final = 3
CREDIBILITY: Final = 20
REVIEW: Final = 30
HOLD: Final = 70


class Scored(NamedTuple):
    """A transfer with its own time and score, and whether a person cleared it."""

    id: str
    own: int
    score: int | None
    explained: bool = False


class Answer(NamedTuple):
    """``least`` and ``most`` are the points rounded down and to the nearest."""

    least: int
    most: int
    n: int
    confidence: float | None


def faded(score: int, days: int) -> float:
    return float(score * 0.5 ** (days / HALF_LIFE_DAYS))


def entity_at(transfers: list[Scored], at: int) -> Answer:
    known = [each for each in transfers if each.own <= at]
    scores = [
        (each.score, at // DAY_US - each.own // DAY_US)
        for each in known
        if each.score is not None and not each.explained
    ]
    points = max((faded(score, days) for score, days in scores), default=0.0)
    n = sum(1 for each in known if each.own > at - WINDOW_US)
    return Answer(int(points), int(points + 0.5), n, confidence_of(n) if n >= ENTITY_FLOOR else None)


def confidence_of(n: int) -> float:
    """Half up, to two places."""
    return float(int(Fraction(n, n + CREDIBILITY) * 100 + Fraction(1, 2))) / 100


def band_of(score: int | None) -> str:
    if score is None:
        return "unscored"
    return "hold" if score >= HOLD else "review" if score >= REVIEW else "clear"


def newness(transfers: list[Scored], at: int) -> str | None:
    """The reason for a new counterparty, by the days since its first transfer."""
    days = (at - min(each.own for each in transfers)) // DAY_US
    return "CRS-CPY-01" if days < 7 else "CRS-CPY-02" if days < 30 else None
