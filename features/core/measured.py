"""A share with its number of observations, and the interval that holds the true share with 95 %."""

from typing import Annotated, Final

import msgspec

from clearhold.features.core.wilson import wilson_interval
from clearhold.features.core.words import about

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
