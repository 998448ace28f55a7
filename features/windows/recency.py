"""The newest instant of each of a busy node's other sides: distinct parties of a window without reading its edges.

An index is built from the edges of one window when first needed, and updated as edges enter. Sides outside the window
are dropped when they are as many as those inside, so an index is never much larger than its window.
"""

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from typing import Final

_LEAST_PRUNED: Final = 64


class Recency:
    """Other sides by their newest instant after ``since``.

    >>> recency = Recency([(10, 7), (20, 9), (30, 7)], since=0)
    >>> recency.count(5), recency.count(20), recency.newest(9)
    (2, 1, 20)
    >>> recency.add(40, 9)
    >>> recency.count(20), recency.count(30)
    (2, 1)
    """

    __slots__ = ("_instants", "_newest", "since")

    def __init__(self, edges: Iterable[tuple[int, int]], *, since: int) -> None:
        self._newest = {other: at for at, other in edges}  # oldest first, so the newest stays
        self._instants = array("q", sorted(self._newest.values()))
        self.since = since

    def count(self, after: int) -> int:
        """The sides with an edge after ``after``, which is not before ``since``."""
        return len(self._instants) - bisect_right(self._instants, after)

    def newest(self, other: int) -> int | None:
        """The newest instant of a side; one before ``since`` may be forgotten."""
        return self._newest.get(other)

    def add(self, at: int, other: int) -> None:
        if at <= self.since:
            return
        instants, before = self._instants, self._newest.get(other)
        if before is not None and before > self.since:
            if at <= before:
                return
            del instants[bisect_left(instants, before)]
        self._newest[other] = at
        if not instants or at >= instants[-1]:
            instants.append(at)
        else:
            insort(instants, at)

    def prune(self, since: int) -> None:
        """Forget the sides at or before ``since``, when that is worth the work."""
        gone = bisect_right(self._instants, since)
        if gone > _LEAST_PRUNED and 2 * gone > len(self._instants):
            del self._instants[:gone]
            self._newest = {other: at for other, at in self._newest.items() if at > since}
            self.since = since
