"""A share with its number of observations, and the interval that holds the true share with 95 %.

Source  E. B. Wilson, Journal of the American Statistical Association 22 (1927); R. G. Newcombe, Statistics in
        Medicine 17 (1998), method 3
"""

from math import sqrt
from typing import Annotated, Final

import msgspec

from clearhold.features.core.words import about

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


_DECIMALS: Final = 6


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A share of ``n`` observations, and the interval of Wilson that holds the true one with 95 %."""

    value: Annotated[float | None, about("The share; null without an observation.")]
    n: Annotated[int, about("How many observations.")]
    low: Annotated[float | None, about("The lower end of the 95 % interval (Wilson); null without an observation.")]
    high: Annotated[float | None, about("The upper end of the 95 % interval (Wilson); null without an observation.")]


def measured(part: int, n: int) -> Measured:
    """The share that ``part`` is of ``n``; null without an observation."""
    interval = wilson_interval(part, n)
    if interval is None:
        return Measured(value=None, n=0, low=None, high=None)
    low, high = interval
    return Measured(value=rounded(part / n), n=n, low=rounded(low), high=rounded(high))


def rounded(value: float) -> float:
    """Rounded to the decimals that are shown."""
    return round(value, _DECIMALS)
