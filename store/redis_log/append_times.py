"""Estimates the time of an append to the log from the last ones.

Unit    seconds, of the event loop's clock
Source  RFC 6298: a smoothed mean and four mean deviations. The estimate halves with each second without an append, so
        that one slow moment does not count for long
"""

import math
from typing import Final

AT_LEAST_S: Final = 0.001
HALVED_EVERY_S: Final = 1.0

_MEAN_GAIN: Final = 1 / 8
_DEVIATION_GAIN: Final = 1 / 4
_DEVIATIONS: Final = 4


class AppendTimes:
    """For one event loop."""

    def __init__(self) -> None:
        self._mean, self._deviation, self._noted_at = 0.0, 0.0, 0.0

    def note(self, took_s: float, *, now: float) -> None:
        """Note an append that ended now, confirmed or not."""
        error = took_s - self._mean
        self._deviation += _DEVIATION_GAIN * (abs(error) - self._deviation)
        self._mean += _MEAN_GAIN * error
        self._noted_at = now

    def expected_s(self, *, now: float) -> float:
        """The time to allow for an append that begins now."""
        quiet_s = max(0.0, now - self._noted_at)
        kept = math.exp2(-quiet_s / HALVED_EVERY_S)
        return max(AT_LEAST_S, kept * (self._mean + _DEVIATIONS * self._deviation))
