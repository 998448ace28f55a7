"""A node's edges in a window as known at an earlier instant: those known now, put right for the changes since.

The changes are few, so the cost does not grow with the edges: one that was entered later is left out, one that was
removed later is back. The distinct other sides of a busy window are counted in one pass over its column.

Window  the caller's
Errors  none
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import Final

import numpy as np

from clearhold.features.windows.edge_places import OTHER, ROW, newest_place, oldest_place, place_of

_NOT_COUNTED: Final = -1
_FEW: Final = 64

Note = tuple[int, int, int, int, int]  # known at, instant, row, other side, +1 or -1
Edge = tuple[int, int, int]  # instant, row, other side


class EdgesThen:
    """The edges in (after, upto] as known ``then``, without the transfer ``but``; ``notes`` are by the time known.

    >>> notes = [(50, 20, 1, 9, 1), (60, 15, 4, 8, -1)]
    >>> edges = EdgesThen(array("q", [10, 20]), array("i", [0, 7, 1, 9]), notes, after=0, upto=30, but=-1, then=30)
    >>> edges.newest(2), edges.distinct((15, 30), None)
    ([(10, 0, 7), (15, 4, 8)], [0, 2])
    """

    __slots__ = ("_ends", "_first", "_last", "_times", "_upto", "entered", "removed")

    def __init__(
        self,
        times: "array[int]",
        ends: "array[int]",
        notes: list[Note] | None,
        *,
        after: int,
        upto: int,
        but: int,
        then: int,
    ) -> None:
        self._times, self._ends, self._upto = times, ends, upto
        self._last = bisect_right(times, upto)
        self._first = bisect_right(times, after, 0, self._last)
        changes = Counter[Edge]()
        for known_at, at, row, other, change in reversed(notes or ()):
            if known_at <= then:
                break
            if after < at <= upto and row != but:
                changes[at, row, other] += change
        self.entered = {edge for edge, change in changes.items() if change > 0}
        self.removed = {edge for edge, change in changes.items() if change < 0}
        own = newest_place(ends, ROW, but, self._first, self._last) if but >= 0 else None
        if own is not None:
            self.entered.add((times[own], but, ends[2 * own + 1]))

    def newest(self, most: int) -> list[Edge]:
        """The newest edges, oldest first."""
        first, last = max(self._first, self._last - most - len(self.entered)), self._last
        ends = self._ends[2 * first : 2 * last]
        edges = list(zip(self._times[first:last], ends[::2], ends[1::2], strict=True))
        if self.entered or self.removed:
            edges = sorted({*edges} - self.entered | self.removed)
        return edges[-most:]

    def distinct(self, spans: tuple[int, ...], also: int | None) -> list[int]:
        """The number of different nodes after ``upto`` minus each span, shortest span first, with ``also``."""
        upto, first, last = self._upto, self._first, self._last
        if last - first <= _FEW:
            few = self.newest(_FEW + len(self.removed))
            more = () if also is None else (also,)
            return [len({*more, *(other for at, _, other in few if at > upto - span)}) for span in spans]
        others = np.frombuffer(self._ends, np.int32)[1::2][first:last].copy()
        for at, row, _ in self.entered:
            others[place_of(self._times, self._ends, at, row) - first] = _NOT_COUNTED
        back = [(at, other) for at, _, other in self.removed] + ([] if also is None else [(upto, also)])
        greatest = max(int(others.max()), max((other for _, other in back), default=0))
        is_party = np.zeros(greatest + 3, bool)  # the last two are those of ``STRANGER`` and ``_NOT_COUNTED``
        counts, stop = [], last
        for span in spans:
            start = bisect_right(self._times, upto - span, first, last)
            is_party[others[start - first : stop - first]] = True
            is_party[[other for at, other in back if at > upto - span]] = True
            is_party[_NOT_COUNTED] = False
            counts.append(int(np.count_nonzero(is_party)))
            stop = start
        return counts

    def firsts(self, others: set[int], now: dict[int, int]) -> dict[int, int]:
        """The first instants of the edges to those nodes; ``now`` has the firsts known now, in any window."""
        firsts = {other: at for other, at in now.items() if at <= self._upto}
        for other in others & {other for _, _, other in self.entered | self.removed}:
            place = oldest_place(
                self._ends, OTHER, other, bisect_left(self._times, firsts.pop(other, self._upto)), self._last
            )
            while place is not None and (self._times[place], self._ends[2 * place], other) in self.entered:
                place = oldest_place(self._ends, OTHER, other, place + 1, self._last)
            instants = [at for at, _, removed in self.removed if removed == other]
            if place is not None:
                instants.append(self._times[place])
            if instants:
                firsts[other] = min(instants)
        return firsts
