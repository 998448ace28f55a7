"""The population stability index: how much the distribution of scores has changed.

Unit    a sum over classes; look from 0.10, act from 0.25
Classes scores by tens, 0-9 to 80-89 and 90-100, and unscored, which is the last
Source  the sum of (q - p) ln(q / p) over the shares of each class before and after; half a transfer is added to each
        class, so that an empty one has a logarithm. The figures are the industry's rule of thumb
"""

from collections.abc import Sequence
from math import log
from typing import Final

ADDED: Final = 0.5
LAST_TEN: Final = 9
UNSCORED_CLASS: Final = LAST_TEN + 1
SCORE_CLASSES: Final = UNSCORED_CLASS + 1
LOOK: Final = 0.10
ACT: Final = 0.25


def score_class(score: int | None) -> int:
    """The class of a score.

    >>> [score_class(each) for each in (0, 9, 10, 99, 100, None)]
    [0, 0, 1, 9, 9, 10]
    """
    return UNSCORED_CLASS if score is None else min(score // 10, LAST_TEN)


def stability_index(before: Sequence[int], after: Sequence[int]) -> float:
    """The index of two counts of the same classes; null when one of them is empty.

    >>> stability_index((10, 10), (20, 20))
    0.0
    >>> round(stability_index((99, 0), (0, 99)), 4)
    10.4803
    """
    expected, actual = (_shares(counts) for counts in (before, after))
    return sum((q - p) * log(q / p) for p, q in zip(expected, actual, strict=True))


def _shares(counts: Sequence[int]) -> list[float]:
    whole = sum(counts) + ADDED * len(counts)
    return [(count + ADDED) / whole for count in counts]
