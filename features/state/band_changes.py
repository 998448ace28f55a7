"""The instants at which time alone may change the bands of a program's actors, earliest first.

A subject's instant is a lower bound: without an entry on the subject its band does not change before. So the band of
its last evaluation holds until then, and a tick looks only at the subjects whose instant has come.

Unit    instants in microseconds; 8 bytes a subject, and some 50 for one whose band time can change
Cost    an instant is put and taken in logarithmic time, however many subjects there are
"""

from array import array
from heapq import heapify, heappop, heappush
from typing import Any, Final

FOREVER: Final = 2**63 - 1
AT_ONCE: Final = 0
_INDEX_BITS: Final = 32
_INDEX: Final = (1 << _INDEX_BITS) - 1
_OUTDATED: Final = 1_024  # replaced instants that the heap may have beside one for each subject


class BandChanges:
    """By index of the subject.

    >>> changes = BandChanges()
    >>> changes.put(3, 50)
    >>> changes.put(1, 20)
    >>> changes.put(3, 70)
    >>> changes.take(60, most=5), changes.at(3), changes.at(1) == FOREVER
    ([1], 70, True)
    """

    __slots__ = ("_at", "_heap")

    def __init__(self) -> None:
        self._at = array("q")
        self._heap: list[int] = []  # instant and index in one number; one that is not in ``_at`` is outdated

    def at(self, index: int) -> int:
        """The instant of a subject; ``FOREVER`` when time alone changes nothing."""
        return self._at[index] if index < len(self._at) else FOREVER

    def put(self, index: int, at: int) -> None:
        """Replace the instant of a subject."""
        if index >= len(self._at):
            self._at.extend([FOREVER] * (index + 1 - len(self._at)))
        if at == self._at[index]:
            return
        self._at[index] = at
        if at == FOREVER:
            return
        heappush(self._heap, at << _INDEX_BITS | index)
        if len(self._heap) > 2 * len(self._at) + _OUTDATED:
            self._sort()

    def take(self, now: int, *, most: int) -> list[int]:
        """The subjects whose instant has come, at most ``most``; they have none until the next ``put``."""
        taken, heap = list[int](), self._heap
        while heap and heap[0] >> _INDEX_BITS <= now and len(taken) < most:
            number = heappop(heap)
            index = number & _INDEX
            if self._at[index] == number >> _INDEX_BITS:
                self._at[index] = FOREVER
                taken.append(index)
        return taken

    def put_all(self, count: int) -> None:
        """Look at the first ``count`` subjects again: something changed that all their scores read."""
        self._at = array("q", [AT_ONCE]) * count
        self._sort()

    def _sort(self) -> None:
        self._heap = [at << _INDEX_BITS | index for index, at in enumerate(self._at) if at != FOREVER]
        heapify(self._heap)

    def dump(self) -> bytes:
        return self._at.tobytes()

    def load(self, dumped: Any) -> None:
        self._at.frombytes(dumped)
        self._sort()
