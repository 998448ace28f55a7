"""The decay of a transfer's score in its actor's score: it halves every 14 days, in whole UTC days and integers alone.

A score has a life: the time until one point remains, 14 days times its binary logarithm. The strongest of several
scores is the one with the latest end of life, today and on every later day, so only that one is stored.

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
    """The rest of 0-100 points after ``days`` days, cut to whole points."""
    return bisect_right(LIVES, LIVES[points - 1] - days * DAY) if points else 0


def fades_at(points: int, day: int) -> int:
    """When one point of a score of that day remains; the later, the stronger. Points are 1-100."""
    return day * DAY + LIVES[points - 1]


def day_of(fades: int, points: int) -> int:
    """The day of a score from its end of life: the inverse of ``fades_at``."""
    return (fades - LIVES[points - 1]) // DAY
