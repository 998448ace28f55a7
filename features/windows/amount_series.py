"""Instants with amounts: their number, and their sum, in a window.

Unit    instants in microseconds, amounts in cents; running sums wrap at 2^64, so a window's sum is exact below that
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import accumulate, pairwise
from operator import sub
from typing import Any

from clearhold.features.windows.series import (
    ALWAYS,
    INSTANTS,
    NO_FACTS,
    WRAP,
    Series,
    amount_at,
    columns_of,
    enter,
    from_bytes,
    leave,
    stored,
    to_bytes,
    with_fact,
    with_room,
)


class AmountSeries(Series):
    """Instants with amounts, counted and summed. Amounts of one instant are sorted, in any order of arrival.

    >>> amounts = AmountSeries()
    >>> for at, cents in ((10, 500), (20, 700), (30, 100)):
    ...     _ = amounts.add_amount(at, cents)
    >>> amounts.measure(10, 30)
    (2, 800)
    >>> amounts.newest(0, 30, most=2, but=None)
    [700, 100]
    """

    _times: "array[int] | None" = None  # None while the facts are few: then both columns are in the bytes below
    _sums: "array[int] | bytes" = NO_FACTS

    def instants(self) -> Sequence[int]:
        times = self._times
        return INSTANTS[len(self._sums)](self._sums) if times is None else times

    def begins_after(self, since: int, upto: int) -> bool:
        """Whether no fact is as old as ``since``, as known at ``upto``, which is not before it.

        >>> amounts = AmountSeries()
        >>> _ = amounts.add_amount(10, 500)
        >>> amounts.begins_after(9, 20), amounts.begins_after(10, 20)
        (True, False)
        """
        if self.revised_at > upto:
            first = self.first(upto)
            return first is None or first > since
        times: Sequence[int] | None = self._times
        if times is None:
            times = INSTANTS[len(self._sums)](self._sums)
        return not times or times[0] > since

    def add_amount(self, at: int, cents: int, *, known_at: int | None = None) -> int:
        times, sums = self._times, self._sums
        if times is None or isinstance(sums, bytes):
            index, self._times, self._sums = with_fact(sums, at, cents)
        else:
            self._sums = sums = with_room(sums, cents)
            index = enter(times, sums, at, cents)
        if known_at is not None:
            self.revise(known_at, at, 1, cents)
        return index

    def remove_amount(self, at: int, cents: int, *, known_at: int) -> int | None:
        """Remove one fact of that instant and amount; its index, or None without such a fact."""
        index = self.find(at, cents)
        if index is None:
            return None
        self.remove_at(index, cents)
        self.revise(known_at, at, -1, -cents)
        return index

    def remove_at(self, index: int, cents: int) -> None:
        times, sums = self._times, self._sums
        if times is None or isinstance(sums, bytes):
            few_times, few_sums = map(list, columns_of(sums))
            leave(few_times, few_sums, index, cents)
            self._times, self._sums = stored(few_times, few_sums)
        else:
            leave(times, sums, index, cents)

    def absorb(self, other: "AmountSeries") -> None:
        """The same for instants with amounts."""
        facts = list(merge(self.all_facts(), other.all_facts()))
        sums = [total & WRAP for total in accumulate(cents for _, cents in facts)]
        self._times, self._sums = stored([at for at, _ in facts], sums)
        self._absorb_revisions(other)

    def all_facts(self) -> Iterator[tuple[int, int]]:
        """Instant and cents of every fact as known now."""
        times, sums = self._columns()
        return ((at, amount_at(sums, index)) for index, at in enumerate(times))

    def find(self, at: int, cents: int) -> int | None:
        times, sums = self._columns()
        first = bisect_left(times, at)
        last = bisect_right(times, at, first)
        index = bisect_left(range(last), cents, first, last, key=lambda place: amount_at(sums, place))
        return index if index < last and amount_at(sums, index) == cents else None

    def amount(self, index: int) -> int:
        return amount_at(self._columns()[1], index)

    def measure(self, after: int, upto: int) -> tuple[int, int]:
        """Count and cents of the facts in (after, upto], as known at ``upto``."""
        times: Sequence[int] | None = self._times
        sums: Sequence[int] = self._sums
        if times is None:
            times, sums = columns_of(self._sums)
        last = len(times)
        if last and times[-1] > upto:
            last = bisect_right(times, upto)
        first = bisect_right(times, after, 0, last) if after != ALWAYS else 0
        count = last - first
        cents = sums[last - 1] if last else 0
        if first:
            cents = (cents - sums[first - 1]) & WRAP
        if self.revised_at > upto:
            count_change, cents_change = self._unrevised(after, upto)
            return count + count_change, (cents + cents_change) & WRAP
        return count, cents

    def measure_each(self, afters: Sequence[int], upto: int) -> list[tuple[int, int]]:
        """The same for several windows with one end."""
        if self.revised_at > upto:
            return [self.measure(after, upto) for after in afters]
        times, sums = self._columns()
        last = len(times)
        if last and times[-1] > upto:
            last = bisect_right(times, upto)
        if not last:
            return [(0, 0)] * len(afters)
        total, measures = sums[last - 1], []
        for after in afters:
            first = bisect_right(times, after, 0, last)
            measures.append((last - first, (total - sums[first - 1]) & WRAP if first else total))
        return measures

    def measure_now(self, after: int, upto: int) -> tuple[int, int]:
        """Count and cents of the facts in (after, upto] as known now, whatever became known after ``upto``."""
        times, sums = self._columns()
        first, last = bisect_right(times, after), bisect_right(times, upto)
        before = sums[first - 1] if first else 0
        return last - first, (sums[last - 1] - before) & WRAP if last > first else 0

    def newest(self, after: int, upto: int, *, most: int, but: tuple[int, int] | None) -> list[int]:
        """The newest amounts in (after, upto], as known at ``upto`` and without one fact ``but`` (instant, cents)."""
        times, sums = self._columns()
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
        amounts = [(window[0] - before) & WRAP, *map(sub, window[1:], window)]
        if min(amounts) < 0:  # the running sum wrapped
            amounts = [amount & WRAP for amount in amounts]
        if but is not None:
            for index in range(len(amounts) - 1, -1, -1):
                if amounts[index] == but[1] and times[first + index] == but[0]:
                    del amounts[index]
                    break
        return amounts[-most:]

    def facts(self, after: int, upto: int) -> list[tuple[int, int]]:
        """Instants and amounts in (after, upto], as known at ``upto``, in order."""
        times, sums = self._columns()
        first, last = bisect_right(times, after), bisect_right(times, upto)
        facts = [(times[index], amount_at(sums, index)) for index in range(first, last)]
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
        times, sums = self._columns()
        oldest = upto - (spans + 1) * span_us
        last, most_count, most_cents = bisect_right(times, upto - span_us), 0, 0
        while last and times[last - 1] > oldest:
            place = (upto - times[last - 1]) // span_us
            first = bisect_right(times, upto - (place + 1) * span_us, 0, last)
            cents = (sums[last - 1] - (sums[first - 1] if first else 0)) & WRAP
            most_count, most_cents, last = max(most_count, last - first), max(most_cents, cents), first
        return most_count, most_cents

    def newest_facts(self, after: int, upto: int, *, most: int) -> list[tuple[int, int]]:
        """The newest facts (instant, cents) in (after, upto], as known at ``upto``, oldest first."""
        times, sums = self._columns()
        first, last = bisect_right(times, after), bisect_right(times, upto)
        if self.revised_at <= upto:
            return [(times[index], amount_at(sums, index)) for index in range(max(first, last - most), last)]
        changes = Counter[tuple[int, int]]()
        for _, at, count, cents in self._revised_after(upto):
            if after < at <= upto:
                changes[at, cents * count] += count
        first = max(first, last - most - (+changes).total())  # the later known ones are left out again
        facts = Counter((times[index], amount_at(sums, index)) for index in range(first, last))
        facts.subtract(changes)
        return sorted((+facts).elements())[-most:]

    def newest_instants(self, after: int, upto: int, *, most: int) -> "array[int]":
        """The instants of the newest facts in (after, upto], as known at ``upto``, oldest first."""
        if self.revised_at > upto:
            return array("q", [at for at, _ in self.newest_facts(after, upto, most=most)])
        times = self.instants()
        last = len(times) if not times or times[-1] <= upto else bisect_right(times, upto)
        newest = times[max(bisect_right(times, after, 0, last), last - most) : last]
        return newest if isinstance(newest, array) else array("q", newest)

    def _columns(self) -> tuple[Sequence[int], Sequence[int]]:
        """Instants and running sums."""
        times, sums = self._times, self._sums
        return columns_of(sums) if times is None else (times, sums)

    def dump(self) -> tuple[Any, ...]:
        times, sums = to_bytes(self._times, self._sums)
        return (times, self._revisions, self.revised_at, sums)

    def load(self, dumped: Any) -> None:
        times, revisions, revised_at, sums = dumped
        self._times, self._sums = from_bytes(times, sums)
        self._load_revisions(revisions, revised_at)
