"""The pause before the next attempt: twice as long after each failure, up to a bound.

Unit    the unit of both arguments
"""

from typing import Final, TypeVar

Pause = TypeVar("Pause", int, float)

MOST_DOUBLINGS: Final = 60


def pause_after(failures: int, first: Pause, most: Pause) -> Pause:
    """The pause after this many failures in a row, at least one.

    >>> [pause_after(failures, 0.5, 15.0) for failures in (1, 2, 3, 5, 6, 1_000)]
    [0.5, 1.0, 2.0, 8.0, 15.0, 15.0]
    """
    assert failures >= 1, "there is no pause before the first failure"
    return min(first * (1 << min(failures - 1, MOST_DOUBLINGS)), most)
