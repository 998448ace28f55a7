"""Time-ordered facts that answer "how many in (t - w, t]" for any t; ``amount_series.py`` adds how much.

A window is two binary searches and a subtraction of running sums, so it is exact for a transfer that arrives in order,
for one that arrives late and for a pre-flight, and its cost does not grow with the history. A late fact is inserted in
its place. A fact that changes later (a rejection, another amount) is changed in place and leaves a revision: a window
that ends before the change became known is still measured with the facts known then.

Unit    instants in microseconds
"""

from abc import abstractmethod
from array import array
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Any, Final

import msgspec

from clearhold.features.core.in_memory import InMemory

ALWAYS: Final = -(2**63)

Revision = tuple[int, int, int, int]  # known at, instant of the fact, change of count, change of cents


class Series(InMemory):
    """The common part of all series: windows over ``times``, and the revisions that became known later."""

    _revisions: list[Revision] | None = None
    revised_at: int = ALWAYS

    @property
    @abstractmethod
    def times(self) -> Sequence[int]:
        """The instants of all facts as known now, in order."""

    def count(self, after: int, upto: int) -> int:
        """Facts in (after, upto], as known at ``upto``."""
        times = self.times
        if not times:
            return self._unrevised(after, upto)[0] if self.revised_at > upto else 0
        last = len(times) if times[-1] <= upto else bisect_right(times, upto)
        n = last - (bisect_right(times, after, 0, last) if after != ALWAYS else 0)
        return n + self._unrevised(after, upto)[0] if self.revised_at > upto else n

    def count_now(self, after: int, upto: int) -> int:
        """Facts in (after, upto] as known now, whatever became known after ``upto``."""
        times = self.times
        return bisect_right(times, upto) - bisect_right(times, after)

    def count_between(self, after: int, upto: int, *, as_of: int) -> int:
        """Facts in (after, upto], as known at ``as_of``, which is not before ``upto``."""
        times = self.times
        if self.revised_at <= as_of:
            return bisect_right(times, upto) - bisect_right(times, after)
        return self.count(after, as_of) - self.count(upto, as_of)

    def count_upto(self, upto: int) -> int:
        """Facts up to ``upto``, as known then."""
        return self.count(ALWAYS, upto)

    def previous(self, upto: int, *, skip: int) -> int | None:
        """The instant of the newest fact at or before ``upto``, as known then, after skipping ``skip`` of them."""
        times = self.times
        index = bisect_right(times, upto) - 1
        if self.revised_at > upto:
            return self._nth((times[i] for i in range(index, -1, -1)), upto, skip, newest=True)
        return times[index - skip] if index >= skip else None

    def first(self, upto: int) -> int | None:
        """The instant of the oldest fact at or before ``upto``, as known then."""
        times = self.times
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


class EventTimes(Series):
    """Instants of facts that are only counted.

    A window that ends before a late fact became known is measured without it:

    >>> times = EventTimes()
    >>> for at in (10, 20, 30):
    ...     _ = times.add(at)
    >>> times.count(10, 30)
    2
    >>> _ = times.add(15, known_at=40)
    >>> times.count(10, 30), times.count(10, 40)
    (2, 3)
    """

    times: "array[int]" = msgspec.field(default_factory=lambda: array("q"))

    def add(self, at: int, *, known_at: int | None = None) -> int:
        """Insert a fact; ``known_at`` is given when it became known later than its own instant."""
        index = self._insert(at)
        if known_at is not None:
            self.revise(known_at, at, 1, 0)
        return index

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

    def _insert(self, at: int) -> int:
        times = self.times
        if not times or at >= times[-1]:
            times.append(at)
            return len(times) - 1
        index = bisect_right(times, at)
        times.insert(index, at)
        return index

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
