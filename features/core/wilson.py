"""The interval of Wilson: the range of the true share, given some observations.

Source  E. B. Wilson, Journal of the American Statistical Association 22 (1927); R. G. Newcombe, Statistics in
        Medicine 17 (1998), method 3
"""

from math import sqrt
from typing import Final

Z_95: Final = 1.959963984540054
"""The normal deviate that 95 % lie within, on either side of the mean."""


def wilson_interval(part: int, n: int) -> tuple[float, float] | None:
    """The two-sided 95 % interval of ``part`` in ``n``; None without an observation.

    >>> low, high = wilson_interval(81, 263) or (0, 0)
    >>> round(low, 4), round(high, 4)
    (0.2553, 0.3662)
    """
    if not n:
        return None
    share, square = part / n, Z_95 * Z_95
    middle = share + square / (2 * n)
    half = Z_95 * sqrt((share * (1 - share) + square / (4 * n)) / n)
    low, high = (middle - half) / (1 + square / n), (middle + half) / (1 + square / n)
    return (0.0 if not part else max(0.0, low)), (1.0 if part == n else min(1.0, high))
