"""Searches in the columns of a node's edges, in time that hardly grows with them: no edge is visited in Python.

The columns are the instants, and the rows and the other sides by turns, as ``edges.py`` keeps them.

Window  the caller's
Errors  none
"""

from array import array
from bisect import bisect_left, bisect_right
from typing import Final

import numpy as np

from clearhold.features.windows.series import ALWAYS

ROW: Final = 0
OTHER: Final = 1
_NEAREST: Final = 64
_WIDER: Final = 16


def place_of(times: "array[int]", ends: "array[int]", at: int, row: int) -> int:
    """The index of the first edge that is not before that instant and row.

    >>> place_of(array("q", [10, 20, 20]), array("i", [0, 7, 1, 9, 4, 7]), 20, 3)
    2
    """
    first = bisect_left(times, at)
    last = bisect_right(times, at, first)
    return bisect_left(range(last), row, first, last, key=lambda place: ends[2 * place])


def newest_place(ends: "array[int]", side: int, value: int, first: int, last: int) -> int | None:
    """The index of the newest edge in [first, last) with that row or other side.

    >>> newest_place(array("i", [0, 7, 1, 9, 4, 7]), OTHER, 7, 0, 3)
    2
    """
    column, size = np.frombuffer(ends, np.int32)[side::2], _NEAREST
    while last > first:
        start = max(first, last - size)
        matches = np.flatnonzero(column[start:last] == value)
        if len(matches):
            return start + int(matches[-1])
        last, size = start, size * _WIDER
    return None


def oldest_place(ends: "array[int]", side: int, value: int, first: int, last: int) -> int | None:
    """The index of the oldest such edge."""
    column, size = np.frombuffer(ends, np.int32)[side::2], _NEAREST
    while first < last:
        stop = min(last, first + size)
        matches = np.flatnonzero(column[first:stop] == value)
        if len(matches):
            return first + int(matches[0])
        first, size = stop, size * _WIDER
    return None


class Previous:
    """For each edge after ``since`` the instant of the one before it with the same other side.

    The edges whose instant here is before a window are the first of their other side in it: their number is that of
    the distinct other sides.

    >>> times, ends = array("q", [10, 20, 30]), array("i", [0, 7, 1, 9, 4, 7])
    >>> previous = Previous(times, ends, since=0)
    >>> previous.count(times, 0, 30), previous.count(times, 10, 30), previous.count(times, 10, 20)
    (2, 2, 1)
    """

    __slots__ = ("_instants", "since")

    def __init__(self, times: "array[int]", ends: "array[int]", *, since: int) -> None:
        first = bisect_right(times, since)
        instants, others = np.frombuffer(times, np.int64)[first:], np.frombuffer(ends, np.int32)[1::2][first:]
        by_other = np.argsort(others, kind="stable")
        newer, older = by_other[1:], by_other[:-1]
        is_same = others[newer] == others[older]
        previous = np.full(len(others), ALWAYS)
        previous[newer[is_same]] = instants[older[is_same]]
        self._instants = array("q", previous.tobytes())
        self.since = since

    def count(self, times: "array[int]", after: int, upto: int) -> int:
        """The distinct other sides in (after, upto]; ``after`` is not before ``since``."""
        offset = len(times) - len(self._instants)
        first, last = bisect_right(times, after) - offset, bisect_right(times, upto) - offset
        return int(np.count_nonzero(np.frombuffer(self._instants, np.int64)[first:last] <= after))

    def add(self, times: "array[int]", ends: "array[int]", index: int) -> None:
        """The edge at the index came."""
        at, other = times[index], ends[2 * index + 1]
        if at <= self.since:
            return
        offset = len(times) - len(self._instants) - 1
        before = newest_place(ends, OTHER, other, offset, index)
        self._instants.insert(index - offset, ALWAYS if before is None else times[before])
        self._point(times, ends, other, index + 1, at)

    def remove(self, times: "array[int]", ends: "array[int]", index: int, at: int, other: int) -> None:
        """An edge that was at the index went."""
        if at <= self.since:
            return
        previous = self._instants.pop(index - (len(times) - len(self._instants) + 1))
        self._point(times, ends, other, index, previous)

    def prune(self, times: "array[int]", since: int) -> None:
        """Forget the edges at or before ``since`` when they are most."""
        gone = bisect_right(times, since) - (len(times) - len(self._instants))
        if 2 * gone > len(self._instants):
            del self._instants[:gone]
            self.since = since

    def _point(self, times: "array[int]", ends: "array[int]", other: int, first: int, at: int) -> None:
        """The next edge with that other side has the one at that instant before it."""
        after = oldest_place(ends, OTHER, other, first, len(times))
        if after is not None:
            self._instants[after - (len(times) - len(self._instants))] = at
