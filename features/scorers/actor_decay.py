"""How the score of a transfer fades from its actor's: it halves every 14 days, in whole UTC days and in integers alone.

A score has a life: the time until one point of it is left, 14 days times its binary logarithm. So the strongest of
several scores is the one that fades last, today and on every later day, and that one is all that need be kept.

Unit    hundredths of a day, in which the lives of the scores 1 to 100 all differ and a halving is exact
"""

from bisect import bisect_right
from typing import Final

HALF_LIFE_DAYS: Final = 14
DAY: Final = 100
_HALF_LIFE: Final = HALF_LIFE_DAYS * DAY

# s ** (2 h) has 2 h log2(s) bits; half of that, rounded, is h log2(s). Entry 0 is the life of one point.
LIVES: Final[tuple[int, ...]] = tuple((score ** (2 * _HALF_LIFE)).bit_length() // 2 for score in range(1, 101))


def decayed(points: int, days: int) -> int:
    """What is left of 0-100 points after so many days, cut to whole points."""
    return bisect_right(LIVES, LIVES[points - 1] - days * DAY) if points else 0


def fades_at(points: int, day: int) -> int:
    """When one point of a score of that day is left; the later, the stronger. Points are 1-100."""
    return day * DAY + LIVES[points - 1]


def day_of(fades: int, points: int) -> int:
    """The day of a score that fades then: ``fades_at`` turned round."""
    return (fades - LIVES[points - 1]) // DAY
