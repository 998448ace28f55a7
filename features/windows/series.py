"""Time-ordered facts that answer "how many, and how much, in (t - w, t]" for any t.

A window is two binary searches and a subtraction of running sums, so it is exact for a transfer that arrives in
order, for one that arrives late and for a pre-flight, and its cost does not grow with the history. A late fact is
inserted where it belongs. A fact that changes later (a rejection, another amount) is changed in place and leaves a
revision behind: a window that ends before the change became known is still measured with what was known then.

Unit    instants in microseconds, amounts in cents; running sums wrap at 2^64, so a window's sum is exact below that
"""

from array import array
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterator
from heapq import merge
from itertools import accumulate, pairwise
from operator import sub
from typing import Any, Final

import msgspec
import numpy as np

from features.core.in_memory import InMemory

ALWAYS: Final = -(2**63)
_WRAP: Final = 2**64 - 1
_SHORT_TAIL: Final = 64

Revision = tuple[int, int, int, int]  # known at, instant of the fact, change of count, change of cents


def _no_instants() -> "array[int]":
    return array("q")


class EventTimes(InMemory):
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

    times: "array[int]" = msgspec.field(default_factory=_no_instants)
    _revisions: list[Revision] | None = None
    revised_at: int = ALWAYS

    def add(self, at: int, *, known_at: int | None = None) -> int:
        """Insert a fact; ``known_at`` is given when it became known only later than its own instant."""
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
        """Take over every fact of another series, with what became known of it later."""
        self.times = array("q", merge(self.times, other.times))
        self._absorb_revisions(other)

    def _absorb_revisions(self, other: "EventTimes") -> None:
        revisions = other._revisions  # noqa: SLF001 - its own kind
        if revisions:
            self._revisions = list(merge(self._revisions or (), revisions))
            self.revised_at = max(self.revised_at, other.revised_at)

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
        return bisect_right(self.times, upto) - bisect_right(self.times, after)

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
        """The instant of the newest fact at or before ``upto``, as known then, passing over ``skip`` of them."""
        index = bisect_right(self.times, upto) - 1
        if self.revised_at > upto:
            return self._nth((self.times[i] for i in range(index, -1, -1)), upto, skip, newest=True)
        return self.times[index - skip] if index >= skip else None

    def first(self, upto: int) -> int | None:
        """The instant of the oldest fact at or before ``upto``, as known then."""
        if self.revised_at > upto:
            oldest = self._nth(iter(self.times), upto, 0, newest=False)
        else:
            oldest = self.times[0] if self.times else None
        return oldest if oldest is not None and oldest <= upto else None

    def _insert(self, at: int) -> int:
        times = self.times
        if not times or at >= times[-1]:
            times.append(at)
            return len(times) - 1
        index = bisect_right(times, at)
        times.insert(index, at)
        return index

    def revise(self, known_at: int, at: int, count: int, cents: int) -> None:
        if self._revisions is None:
            self._revisions = []
        insort(self._revisions, (known_at, at, count, cents))
        self.revised_at = max(self.revised_at, known_at)

    def _revised_after(self, upto: int) -> Iterator[Revision]:
        """The revisions that became known after ``upto``, newest first: few, however many there ever were."""
        for revision in reversed(self._revisions or ()):
            if revision[0] <= upto:
                return
            yield revision

    def _unrevised(self, after: int, upto: int) -> tuple[int, int]:
        """What to add to a measure that ends at ``upto`` to undo the changes that became known after it."""
        count = cents = 0
        for _, at, count_change, cents_change in self._revised_after(upto):
            if after < at <= upto:
                count -= count_change
                cents -= cents_change
        return count, cents

    def _nth(self, times: Iterator[int], upto: int, skip: int, *, newest: bool) -> int | None:
        """Walk over the facts as they were known at ``upto``, from one end, and pass over ``skip`` of them."""
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

    def dump(self) -> tuple[Any, ...]:
        return (self.times.tobytes(), self._revisions, self.revised_at)

    def load(self, dumped: Any) -> None:
        self.times.frombytes(dumped[0])
        if dumped[1]:
            self._revisions = [tuple(revision) for revision in dumped[1]]
        self.revised_at = dumped[2]


def _no_sums() -> "array[int]":
    return array("Q")


class AmountSeries(EventTimes):
    """Instants with amounts, counted and summed. Of one instant the smaller come first, however they arrived.

    >>> amounts = AmountSeries()
    >>> for at, cents in ((10, 500), (20, 700), (30, 100)):
    ...     _ = amounts.add_amount(at, cents)
    >>> amounts.measure(10, 30)
    (2, 800)
    >>> amounts.newest(0, 30, most=2, but=None)
    [700, 100]
    """

    _sums: "array[int]" = msgspec.field(default_factory=_no_sums)

    def add_amount(self, at: int, cents: int, *, known_at: int | None = None) -> int:
        index = self._place_of(at, cents)
        self.times.insert(index, at)
        sums = self._sums
        before = sums[index - 1] if index else 0
        sums.insert(index, (before + cents) & _WRAP)
        if index + 1 < len(sums):
            self._shift(index + 1, cents)
        if known_at is not None:
            self.revise(known_at, at, 1, cents)
        return index

    def remove_amount(self, at: int, cents: int, *, known_at: int) -> int | None:
        """Remove one fact of that instant and amount; its index, or None when there is none."""
        index = self.find(at, cents)
        if index is None:
            return None
        self.remove_at(index, cents)
        self.revise(known_at, at, -1, -cents)
        return index

    def remove_at(self, index: int, cents: int) -> None:
        del self.times[index]
        del self._sums[index]
        if index < len(self._sums):
            self._shift(index, -cents)

    def absorb(self, other: EventTimes) -> None:
        """The same for instants with amounts."""
        assert isinstance(other, AmountSeries)
        facts = list(merge(self.all_facts(), other.all_facts()))
        self.times = array("q", [at for at, _ in facts])
        self._sums = array("Q", (total & _WRAP for total in accumulate(cents for _, cents in facts)))
        self._absorb_revisions(other)

    def all_facts(self) -> Iterator[tuple[int, int]]:
        """Instant and cents of every fact as known now."""
        return ((at, self.amount(index)) for index, at in enumerate(self.times))

    def find(self, at: int, cents: int) -> int | None:
        index = bisect_left(self.times, at)
        while index < len(self.times) and self.times[index] == at:
            if self.amount(index) == cents:
                return index
            index += 1
        return None

    def amount(self, index: int) -> int:
        return (self._sums[index] - (self._sums[index - 1] if index else 0)) & _WRAP

    def measure(self, after: int, upto: int) -> tuple[int, int]:
        """Count and cents of the facts in (after, upto], as known at ``upto``."""
        times, sums = self.times, self._sums
        last = len(times)
        if last and times[-1] > upto:
            last = bisect_right(times, upto)
        first = bisect_right(times, after, 0, last) if after != ALWAYS else 0
        count = last - first
        cents = sums[last - 1] if last else 0
        if first:
            cents = (cents - sums[first - 1]) & _WRAP
        if self.revised_at > upto:
            count_change, cents_change = self._unrevised(after, upto)
            return count + count_change, (cents + cents_change) & _WRAP
        return count, cents

    def measure_now(self, after: int, upto: int) -> tuple[int, int]:
        """Count and cents of the facts in (after, upto] as known now, whatever became known after ``upto``."""
        first, last = bisect_right(self.times, after), bisect_right(self.times, upto)
        sums = self._sums
        before = sums[first - 1] if first else 0
        return last - first, (sums[last - 1] - before) & _WRAP if last > first else 0

    def cents_since(self, after: int, upto: int) -> int:
        """The cents of ``measure``, in half its time where nothing is later than ``upto``."""
        times, sums = self.times, self._sums
        if not times or times[-1] > upto or self.revised_at > upto:
            return self.measure(after, upto)[1]
        first = bisect_right(times, after)
        return (sums[-1] - sums[first - 1]) & _WRAP if first else sums[-1]

    def newest(self, after: int, upto: int, *, most: int, but: tuple[int, int] | None) -> list[int]:
        """The newest amounts in (after, upto], as known at ``upto`` and without one fact ``but`` (instant, cents)."""
        times, sums = self.times, self._sums
        last = len(times) if not times or times[-1] <= upto else bisect_right(times, upto)
        first = bisect_right(times, after, 0, last)
        if self.revised_at > upto:
            facts = self.newest_facts(after, upto, most=most + (but is not None))
            if but in facts:
                facts.remove(but)
            return [cents for _, cents in facts[-most:]]
        first = max(first, last - most - (but is not None))
        if first >= last:
            return []
        window = sums[first:last]
        before = sums[first - 1] if first else 0
        amounts = [(window[0] - before) & _WRAP, *map(sub, window[1:], window)]
        if min(amounts) < 0:  # the running sum wrapped
            amounts = [amount & _WRAP for amount in amounts]
        if but is not None:
            for index in range(len(amounts) - 1, -1, -1):
                if amounts[index] == but[1] and times[first + index] == but[0]:
                    del amounts[index]
                    break
        return amounts[-most:]

    def facts(self, after: int, upto: int) -> list[tuple[int, int]]:
        """Instants and amounts in (after, upto], as known at ``upto``, in order."""
        first, last = bisect_right(self.times, after), bisect_right(self.times, upto)
        facts = [(self.times[index], self.amount(index)) for index in range(first, last)]
        if self.revised_at <= upto:
            return facts
        counted = Counter(facts)
        for _, at, count, cents in self._revised_after(upto):
            if after < at <= upto:
                counted[at, cents * count] -= count
        return sorted((+counted).elements())

    def busiest(self, span_us: int, spans: int, upto: int) -> tuple[int, int]:
        """The highest count and the highest sum of the spans that end 1, 2 ... ``spans`` spans before ``upto``.

        >>> amounts = AmountSeries()
        >>> for at, cents in ((10, 500), (15, 700), (20, 900), (30, 5_000)):
        ...     _ = amounts.add_amount(at, cents)
        >>> amounts.busiest(10, 2, 30)
        (2, 1600)
        """
        if self.revised_at > upto:
            upto_span = [self.measure(upto - (place + 1) * span_us, upto) for place in range(spans + 1)]
            parts = [(more[0] - less[0], more[1] - less[1]) for less, more in pairwise(upto_span)]
            return max(count for count, _ in parts), max(cents for _, cents in parts)
        times, sums, oldest = self.times, self._sums, upto - (spans + 1) * span_us
        last, most_count, most_cents = bisect_right(times, upto - span_us), 0, 0
        while last and times[last - 1] > oldest:
            place = (upto - times[last - 1]) // span_us
            first = bisect_right(times, upto - (place + 1) * span_us, 0, last)
            cents = (sums[last - 1] - (sums[first - 1] if first else 0)) & _WRAP
            most_count, most_cents, last = max(most_count, last - first), max(most_cents, cents), first
        return most_count, most_cents

    def newest_facts(self, after: int, upto: int, *, most: int) -> list[tuple[int, int]]:
        """The newest facts (instant, cents) in (after, upto], as known at ``upto``, oldest first."""
        times = self.times
        first, last = bisect_right(times, after), bisect_right(times, upto)
        if self.revised_at <= upto:
            return [(times[index], self.amount(index)) for index in range(max(first, last - most), last)]
        facts = Counter((times[index], self.amount(index)) for index in range(first, last))
        for _, at, count, cents in self._revised_after(upto):
            if after < at <= upto:
                facts[at, cents * count] -= count
        return sorted((+facts).elements())[-most:]

    def newest_instants(self, after: int, upto: int, *, most: int) -> "array[int]":
        """The instants of the newest facts in (after, upto], as known at ``upto``, oldest first."""
        if self.revised_at > upto:
            return array("q", [at for at, _ in self.newest_facts(after, upto, most=most)])
        times = self.times
        last = len(times) if not times or times[-1] <= upto else bisect_right(times, upto)
        return times[max(bisect_right(times, after, 0, last), last - most) : last]

    def _place_of(self, at: int, cents: int) -> int:
        """Where a fact belongs: behind all that are older, or as old and not larger."""
        times = self.times
        last = len(times)
        if not times or at > times[-1] or (at == times[-1] and cents >= self.amount(last - 1)):
            return last
        first, last = bisect_left(times, at), bisect_right(times, at)
        return bisect_right(range(last), cents, first, last, key=self.amount)

    def _shift(self, index: int, cents: int) -> None:
        """Move the running sums from ``index`` on."""
        sums = self._sums
        if len(sums) - index <= _SHORT_TAIL:
            for position in range(index, len(sums)):
                sums[position] = (sums[position] + cents) & _WRAP
        else:
            np.frombuffer(sums, dtype=np.uint64)[index:] += np.uint64(cents & _WRAP)

    def dump(self) -> tuple[Any, ...]:
        return (self.times.tobytes(), self._revisions, self.revised_at, self._sums.tobytes())

    def load(self, dumped: Any) -> None:
        EventTimes.load(self, dumped)
        self._sums.frombytes(dumped[3])
