"""The reporting thresholds under which a program's windows count amounts, and their starts.

A new threshold is counted from seven days before, the longest window that is counted under it; a threshold no longer in
force is counted on, because a transfer of its time may still be measured or corrected. So the thresholds that count a
transfer depend on its amount and its own time alone, and it leaves the same windows that it entered.
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
        """The thresholds that count a transfer of that amount and time."""
        zones = self._lines.zones(cents)
        if at > self._latest:
            return zones
        return tuple(line for line in zones if at > self._after[line])

    def add(self, cents: Iterable[int], *, since: int) -> tuple[int, ...]:
        """Count under further thresholds in force since an instant; returns the new ones."""
        new = tuple(line for line in cents if line not in self._after)
        after = since if since == ALWAYS else since - DAYS_7
        self._after.update(dict.fromkeys(new, after))
        self._lines = Lines(self._after)
        self._latest = max(self._after.values())
        return new

    def after(self, line: int) -> int:
        """The instant after which a threshold counts transfers."""
        return self._after[line]

    def dump(self) -> Any:
        return list(self._after.items())

    def load(self, dumped: Any) -> None:
        self._after = dict(dumped)
        self._lines = Lines(self._after)
        self._latest = max(self._after.values(), default=ALWAYS)
