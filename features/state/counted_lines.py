"""The reporting thresholds under which a program's windows count amounts, and since when each of them is counted.

A threshold that comes into force is counted from seven days before, the longest window that is counted under it; one
that is no longer in force goes on being counted, because a transfer of its time may still be measured or corrected. So
a transfer is counted under a threshold by its amount and its own time alone, and leaves what it entered.
"""

from collections.abc import Iterable
from typing import Any

from clearhold.features.catalogue.thresholds import Lines
from clearhold.features.core.instants import DAYS_7
from clearhold.features.windows.series import ALWAYS


class CountedLines:
    def __init__(self, seeded: Iterable[int]) -> None:
        self._after: dict[int, int] = dict.fromkeys(seeded, ALWAYS)
        self._lines = Lines(self._after)
        self._latest = ALWAYS

    def zones(self, cents: int, at: int) -> tuple[int, ...]:
        """The thresholds under which a transfer of that amount and time is counted."""
        zones = self._lines.zones(cents)
        if at > self._latest:
            return zones
        return tuple(line for line in zones if at > self._after[line])

    def add(self, cents: Iterable[int], *, since: int) -> tuple[int, ...]:
        """Count under further thresholds that are in force since an instant; those that were not counted before."""
        new = tuple(line for line in cents if line not in self._after)
        after = since if since == ALWAYS else since - DAYS_7
        self._after.update(dict.fromkeys(new, after))
        self._lines = Lines(self._after)
        self._latest = max(self._after.values())
        return new

    def after(self, line: int) -> int:
        """The instant after which transfers are counted under a threshold."""
        return self._after[line]

    def dump(self) -> Any:
        return list(self._after.items())

    def load(self, dumped: Any) -> None:
        self._after = dict(dumped)
        self._lines = Lines(self._after)
        self._latest = max(self._after.values(), default=ALWAYS)
