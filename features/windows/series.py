"""Time-ordered facts that answer "how many in (t - w, t]" for any t; ``amount_series.py`` adds how much.

A window is two binary searches and a subtraction of running sums, so it is exact for a transfer that arrives in order,
for one that arrives late and for a pre-flight, and its cost does not grow with the history. A late fact is inserted in
its place. A fact that changes later (a rejection, another amount) is changed in place and leaves a revision: a window
that ends before the change became known is still measured with the facts known then.

Facts with amounts are two columns, instants and running sums of the amounts; few facts are one string of bytes. Most
parties have a handful of transfers: two arrays take 224 bytes for one or two of them, such a string 49 to 65. The sums
of an array take four bytes each, until one of them passes $42.9 million.

Unit   instants in microseconds, amounts in cents; running sums wrap at 2^64
Limit  a string has at most ``MOST_FEW`` facts; longer columns are arrays
"""

from abc import abstractmethod
from array import array
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterator, MutableSequence, Sequence
from heapq import merge
from struct import Struct
from typing import Any, Final

import msgspec
import numpy as np

from clearhold.features.core.in_memory import InMemory

MOST_FEW: Final = 4
NO_FACTS: Final = b""
WRAP: Final = 2**64 - 1
_SHORT_TAIL: Final = 64
_NARROW: Final = "I"
_WIDE: Final = "Q"
_MOST_NARROW: Final = 2**32 - 1
_FACT_BYTES: Final = 16  # an instant and a sum
_COUNTS: Final = range(MOST_FEW + 1)
_PACK: Final = [Struct(f"={n}q{n}Q").pack for n in _COUNTS]  # all instants, then all sums: two arrays one by one
INSTANTS: Final = {n * _FACT_BYTES: Struct(f"={n}q").unpack_from for n in _COUNTS}  # by the string's length
_SUMS: Final = {n * _FACT_BYTES: Struct(f"={8 * n}x{n}Q").unpack_from for n in _COUNTS}

Stored = tuple["array[int] | None", "array[int] | bytes"]
"""Two arrays, or None and the string of both."""
ALWAYS: Final = -(2**63)
Revision = tuple[int, int, int, int]  # known at, instant of the fact, change of count, change of cents


def stored(times: Sequence[int], sums: Sequence[int]) -> Stored:
    """Two columns in the form for their length.

    >>> stored([10, 20], [500, 1_200])[0], columns_of(stored([10, 20], [500, 1_200])[1])
    (None, ((10, 20), (500, 1200)))
    """
    if len(times) <= MOST_FEW:
        return None, _PACK[len(times)](*times, *sums)
    return array("q", times), array(_NARROW if max(sums) <= _MOST_NARROW else _WIDE, sums)


def from_bytes(times: bytes, sums: bytes) -> Stored:
    if len(times) + len(sums) <= MOST_FEW * _FACT_BYTES:
        return None, times + sums
    totals = np.frombuffer(sums, np.uint64)
    if totals.max() <= _MOST_NARROW:
        return array("q", times), array(_NARROW, totals.astype(np.uint32).tobytes())
    return array("q", times), array(_WIDE, sums)


def to_bytes(times: "array[int] | None", sums: "array[int] | bytes") -> tuple[bytes, bytes]:
    """The bytes of two arrays with eight bytes a number, in either form."""
    if times is None and isinstance(sums, bytes):
        middle = len(sums) // 2
        return sums[:middle], sums[middle:]
    return bytes(times or b""), np.asarray(sums, np.uint64).tobytes()


def columns_of(few: "bytes | array[int]") -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The two columns of a string."""
    size = len(few)
    return INSTANTS[size](few), _SUMS[size](few)


def with_fact(few: "bytes | array[int]", at: int, cents: int) -> tuple[int, "array[int] | None", "array[int] | bytes"]:
    """A string with one more fact: its index, and both columns in the form for their length.

    >>> with_fact(NO_FACTS, 10, 500)[0], columns_of(with_fact(NO_FACTS, 10, 500)[2])
    (0, ((10,), (500,)))
    """
    times, sums = columns_of(few)
    n = len(times)
    if n < MOST_FEW and (not n or at > times[-1]):
        total = (sums[-1] + cents if n else cents) & WRAP
        return n, None, _PACK[n + 1](*times, at, *sums, total)
    all_times, all_sums = list(times), list(sums)
    index = enter(all_times, all_sums, at, cents)
    return (index, *stored(all_times, all_sums))


def with_room(sums: "array[int]", cents: int) -> "array[int]":
    """The running sums, or the same in eight bytes each where one more amount does not fit.

    >>> with_room(array("I", [500]), 700).typecode, with_room(array("I", [500]), 2**32).typecode
    ('I', 'Q')
    """
    if (sums[-1] if sums else 0) + cents > _MOST_NARROW and sums.typecode == _NARROW:
        return array(_WIDE, sums)
    return sums


def amount_at(sums: Sequence[int], index: int) -> int:
    """The amount behind a running sum."""
    return (sums[index] - (sums[index - 1] if index else 0)) & WRAP


def enter(times: MutableSequence[int], sums: MutableSequence[int], at: int, cents: int) -> int:
    """Insert a fact after all older ones, and of one instant after all smaller or equal ones; returns its index."""
    index = len(times)
    if index and (at < times[-1] or (at == times[-1] and cents < amount_at(sums, index - 1))):
        first, last = bisect_left(times, at), bisect_right(times, at)
        index = bisect_right(range(last), cents, first, last, key=lambda place: amount_at(sums, place))
    times.insert(index, at)
    sums.insert(index, ((sums[index - 1] if index else 0) + cents) & WRAP)
    if index + 1 < len(sums):
        _shift(sums, index + 1, cents)
    return index


def leave(times: MutableSequence[int], sums: MutableSequence[int], index: int, cents: int) -> None:
    """Take out the fact at an index, which is one of ``cents``."""
    del times[index]
    del sums[index]
    _shift(sums, index, -cents)


def _shift(sums: MutableSequence[int], index: int, cents: int) -> None:
    """Move the running sums from ``index`` on."""
    if len(sums) - index <= _SHORT_TAIL:
        for position in range(index, len(sums)):
            sums[position] = (sums[position] + cents) & WRAP
    else:
        totals = np.asarray(sums)  # of the array itself
        totals[index:] += np.uint64(cents & WRAP)


class Series(InMemory):
    """The common part of all series: windows over ``times``, and the revisions that became known later."""

    _revisions: list[Revision] | None = None
    revised_at: int = ALWAYS

    @abstractmethod
    def instants(self) -> Sequence[int]:
        """The instants of all facts as known now, in order."""

    def count(self, after: int, upto: int) -> int:
        """Facts in (after, upto], as known at ``upto``."""
        times = self.instants()
        if not times:
            return self._unrevised(after, upto)[0] if self.revised_at > upto else 0
        last = len(times) if times[-1] <= upto else bisect_right(times, upto)
        n = last - (bisect_right(times, after, 0, last) if after != ALWAYS else 0)
        return n + self._unrevised(after, upto)[0] if self.revised_at > upto else n

    def is_known_after(self, at: int) -> bool:
        """Whether a fact is later than ``at``, or a change became known later."""
        if self.revised_at > at:
            return True
        times = self.instants()
        return len(times) > 0 and times[-1] > at

    def count_now(self, after: int, upto: int) -> int:
        """Facts in (after, upto] as known now, whatever became known after ``upto``."""
        times = self.instants()
        return bisect_right(times, upto) - bisect_right(times, after)

    def count_between(self, after: int, upto: int, *, as_of: int) -> int:
        """Facts in (after, upto], as known at ``as_of``, which is not before ``upto``."""
        times = self.instants()
        if self.revised_at <= as_of:
            return bisect_right(times, upto) - bisect_right(times, after)
        return self.count(after, as_of) - self.count(upto, as_of)

    def previous(self, upto: int, *, skip: int) -> int | None:
        """The instant of the newest fact at or before ``upto``, as known then, after skipping ``skip`` of them."""
        times = self.instants()
        index = bisect_right(times, upto) - 1
        if self.revised_at > upto:
            return self._nth((times[i] for i in range(index, -1, -1)), upto, skip, newest=True)
        return times[index - skip] if index >= skip else None

    def first(self, upto: int) -> int | None:
        """The instant of the oldest fact at or before ``upto``, as known then."""
        times = self.instants()
        if self.revised_at > upto:
            oldest = self._nth(iter(times), upto, 0, newest=False)
        else:
            oldest = times[0] if times else None
        return oldest if oldest is not None and oldest <= upto else None

    def revise(self, known_at: int, at: int, count: int, cents: int) -> None:
        if self._revisions is None:
            self._revisions = []
        insort(self._revisions, (known_at, at, count, cents))
        self.revised_at = max(self.revised_at, known_at)

    def _revised_after(self, upto: int) -> Iterator[Revision]:
        """The revisions that became known after ``upto``, newest first: few, however long the history."""
        for revision in reversed(self._revisions or ()):
            if revision[0] <= upto:
                return
            yield revision

    def _unrevised(self, after: int, upto: int) -> tuple[int, int]:
        """The addition to a measure that ends at ``upto`` that undoes the changes known only later."""
        count = cents = 0
        for _, at, count_change, cents_change in self._revised_after(upto):
            if after < at <= upto:
                count -= count_change
                cents -= cents_change
        return count, cents

    def _nth(self, times: Iterator[int], upto: int, skip: int, *, newest: bool) -> int | None:
        """Walk over the facts known at ``upto``, from one end, and skip ``skip`` of them."""
        later = Counter[int]()
        for _, at, count, _ in self._revised_after(upto):
            if at <= upto:
                later[at] += count
        missing = (at for at, count in later.items() for _ in range(-count))
        for at in merge(times, sorted(missing, reverse=newest), reverse=newest):
            if later[at] > 0:
                later[at] -= 1  # it became known only later
            elif skip:
                skip -= 1
            else:
                return at
        return None

    def _absorb_revisions(self, other: "Series") -> None:
        revisions = other._revisions  # noqa: SLF001 - its own kind
        if revisions:
            self._revisions = list(merge(self._revisions or (), revisions))
            self.revised_at = max(self.revised_at, other.revised_at)

    def _load_revisions(self, revisions: Any, revised_at: int) -> None:
        if revisions:
            self._revisions = [tuple(revision) for revision in revisions]
        self.revised_at = revised_at


def count_of(series: Series | None, after: int, upto: int) -> int:
    """Facts in (after, upto], as known at ``upto``; none of a series that has not begun."""
    return 0 if series is None else series.count(after, upto)


class EventTimes(Series):
    """Instants of facts that are only counted.

    A window that ends before a late fact became known is measured without it:

    >>> times = EventTimes()
    >>> for at in (10, 20, 30):
    ...     times.add(at)
    >>> times.count(10, 30)
    2
    >>> times.add(15, known_at=40)
    >>> times.count(10, 30), times.count(10, 40)
    (2, 3)
    """

    times: "array[int]" = msgspec.field(default_factory=lambda: array("q"))

    def instants(self) -> "array[int]":
        return self.times

    def add(self, at: int, *, known_at: int | None = None) -> None:
        """Insert a fact; ``known_at`` is given when it became known later than its own instant."""
        times = self.times
        if not times or at >= times[-1]:
            times.append(at)
        else:
            insort(times, at)
        if known_at is not None:
            self.revise(known_at, at, 1, 0)

    def remove(self, at: int, *, known_at: int) -> None:
        """Remove one fact of that instant, from ``known_at`` on."""
        index = bisect_left(self.times, at)
        if index == len(self.times) or self.times[index] != at:
            return
        del self.times[index]
        self.revise(known_at, at, -1, 0)

    def absorb(self, other: "EventTimes") -> None:
        """Take over every fact of another series, with its revisions."""
        self.times = array("q", merge(self.times, other.times))
        self._absorb_revisions(other)

    def dump(self) -> tuple[Any, ...]:
        return (self.times.tobytes(), self._revisions, self.revised_at)

    def load(self, dumped: Any) -> None:
        self.times.frombytes(dumped[0])
        self._load_revisions(dumped[1], dumped[2])


class Near(msgspec.Struct, frozen=True, gc=False):
    """Edges of one node in a window, oldest first, as three columns."""

    times: "array[int]"
    rows: "array[int]"
    others: "array[int]"

    def distinct(self, after: int, also: int | None = None) -> int:
        """The number of different nodes of the edges after ``after``; ``also`` counts as one of them."""
        others = set(self.others[bisect_right(self.times, after) :])
        if also is not None:
            others.add(also)
        return len(others)


NONE_NEAR: Final = Near(array("q"), array("i"), array("i"))
