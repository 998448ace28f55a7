"""Counters of the directory since the start, changed by the event loop alone.

Unit    seconds
"""

from collections import Counter
from typing import Final

from clearhold.flows.running.counts import Distribution

FETCH_SECONDS_BOUNDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class DirectoryCounts:
    def __init__(self) -> None:
        self.fetches: Counter[tuple[str, str]] = Counter()  # by kind and result
        self.unrecorded = 0
        self.overflowed = 0
        self.seconds = Distribution(FETCH_SECONDS_BOUNDS)
        self.waiting = 0
        self.paused_tenants = 0
