"""Counters of imports of agents since the start, and the progress of running ones. Changed by the event loop alone.

Unit    seconds
"""

from collections import Counter
from typing import Final

from clearhold.flows.running.counts import Distribution

IMPORT_SECONDS_BOUNDS: Final = (1, 5, 15, 60, 300, 900, 3_600)


class ImportCounts:
    def __init__(self) -> None:
        self.running = 0
        self.imports: Counter[str] = Counter()  # by their last stage
        self.read: Counter[str] = Counter()  # items by kind
        self.appended: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()  # while reading, by reason
        self.seconds = Distribution(IMPORT_SECONDS_BOUNDS)
