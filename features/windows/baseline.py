"""A program's amounts of the last 90 days: how many, the median and the 95th percentile.

Per rail and direction when that class has at least 30 observations, else over all rails; None below 5.

Unit    cents; quantiles are nearest-rank over logarithmic buckets, within 0.5 %. Amounts below 256 cents have a bucket
        each; above, every power of two is cut into 128, so a bucket's middle is within 0.4 % of any amount in it
Window  (t - 90 d, t]. In order, a tail cursor takes each amount in and out once. Any other t (a late transfer, a
        pre-flight after a quiet spell) starts from the cursor's histogram and corrects it by the difference
"""

from array import array
from bisect import bisect_left, bisect_right, insort
from itertools import accumulate
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from clearhold.features.core.instants import DAY_US
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.series import ALWAYS

_EXACT_BELOW: Final = 256
_MANTISSA_BITS: Final = 8
_PER_OCTAVE_LOG2: Final = 7
_TOPS: Final = 32
WINDOW_US: Final = 90 * DAY_US
CLASS_FLOOR: Final = 30
FLOOR: Final = 5
_MEDIAN_PERCENT: Final = 50
_P95_PERCENT: Final = 95
_FEW: Final = 256
_UNPRICED: Final = 65_535  # the bucket of a transfer without a known amount in US dollars
Counts = dict[int, int]


def bucket_of(cents: int) -> int:
    """The bucket of an amount of up to 60 bits; 0 to 6,911."""
    if cents < _EXACT_BELOW:
        return cents
    shift = cents.bit_length() - _MANTISSA_BITS
    return (shift << _PER_OCTAVE_LOG2) + (cents >> shift)


def middle_of(bucket: int) -> int:
    """The representative amount of a bucket."""
    if bucket < _EXACT_BELOW:
        return bucket
    shift = (bucket >> _PER_OCTAVE_LOG2) - 1
    return ((bucket - (shift << _PER_OCTAVE_LOG2)) << shift) + (1 << (shift - 1))


def rank_of(quantile_percent: int, n: int) -> int:
    """Nearest rank, 1-based: the smallest rank that covers the share."""
    return max(1, -(-quantile_percent * n // 100))


class Histogram:
    """Three levels of counts (32 x 16 x 16), so an update touches three and a quantile reads at most 64 of them.

    >>> histogram = Histogram()
    >>> for cents in (1_000, 2_000, 90_000):
    ...     histogram.add(bucket_of(cents))
    >>> middle_of(*histogram.buckets_at((rank_of(50, histogram.n),)))  # the median, within 0.4 %
    2004
    """

    __slots__ = ("_leaves", "_middles", "_tops", "n")

    def __init__(self) -> None:
        self.n = 0
        self._tops = [0] * _TOPS
        self._middles: dict[int, list[int]] = {}
        self._leaves: dict[int, list[int]] = {}

    def add(self, bucket: int, count: int = 1) -> None:
        """Add ``count`` observations to a bucket; a negative count takes them out."""
        top, middle = bucket >> 8, bucket >> 4
        self.n += count
        self._tops[top] += count
        try:
            self._middles[top][middle & 15] += count
            self._leaves[middle][bucket & 15] += count
        except KeyError:
            self._middles.setdefault(top, [0] * 16)
            self._leaves.setdefault(middle, [0] * 16)
            self._middles[top][middle & 15] = sum(self._leaves[middle]) + count
            self._leaves[middle][bucket & 15] += count

    def buckets_at(self, ranks: tuple[int, ...]) -> list[int]:
        """The bucket that holds the observation of each rank; 1 <= rank <= n."""
        buckets, upto_tops = [], list(accumulate(self._tops))
        for rank in ranks:
            top = bisect_left(upto_tops, rank)
            left = rank - (upto_tops[top - 1] if top else 0)
            upto_middles = list(accumulate(self._middles[top]))
            position = bisect_left(upto_middles, left)
            middle = (top << 4) + position
            left -= upto_middles[position - 1] if position else 0
            buckets.append((middle << 4) + bisect_left(list(accumulate(self._leaves[middle])), left))
        return buckets


class BaselineValues(msgspec.Struct, frozen=True, gc=False):
    """All None together, below the floor."""

    n: int | None
    median_cents: int | None
    p95_cents: int | None


UNMEASURED: Final = BaselineValues(None, None, None)


class Baseline:
    """Amounts of one program in time order, with their bucket and class beside them.

    >>> baseline = Baseline()
    >>> for day in range(1, 8):
    ...     baseline.add(day * DAY_US, day * 1_000, class_id=1)
    >>> baseline.measure(7 * DAY_US, class_id=1)
    BaselineValues(n=7, median_cents=4008, p95_cents=6992)
    >>> baseline.measure(4 * DAY_US, class_id=1)  # 4 amounts are below the floor
    BaselineValues(n=None, median_cents=None, p95_cents=None)
    """

    __slots__ = ("_all", "_at", "_buckets", "_by_class", "_classes", "_first", "_memo", "_revised", "amounts")

    def __init__(self) -> None:
        self.amounts = AmountSeries()
        self._buckets = array("H")
        self._classes = array("B")
        self._all = Histogram()
        self._by_class: dict[int, Histogram] = {}
        self._first = 0  # index of the oldest amount inside the cursor's window
        self._at = ALWAYS  # the instant the cursor's window ends at
        self._revised: list[tuple[int, int, int, int, int]] = []  # known at, instant, change, bucket, class
        self._memo: tuple[tuple[int, int, int, int], BaselineValues] | None = None

    def advance(self, at: int) -> None:
        """Move the cursor's window up to ``at``; never back."""
        if at <= self._at:
            return
        self._at = at
        times, oldest = self.amounts.instants(), at - WINDOW_US
        first, last = self._first, len(times)
        while first < last and times[first] <= oldest:
            self._count(self._buckets[first], self._classes[first], -1)
            first += 1
        self._first = first

    def add(self, at: int, cents: int | None, class_id: int, *, known_at: int | None = None) -> None:
        """Enter an amount; without one (None) the transfer counts in ``amounts`` with 0 cents and in no quantile."""
        bucket = _bucket_of(cents)
        index = self.amounts.add_amount(at, cents or 0, known_at=known_at)
        self._buckets.insert(index, bucket)
        self._classes.insert(index, class_id)
        if index < self._first or at <= self._at - WINDOW_US:
            self._first += 1
        else:
            self._count(bucket, class_id, 1)
        if known_at is not None:
            insort(self._revised, (known_at, at, 1, bucket, class_id))
        self._memo = None

    def remove(self, at: int, cents: int | None, class_id: int, *, known_at: int) -> None:
        bucket, cents = _bucket_of(cents), cents or 0
        index = self._index_of(at, bucket, class_id, cents)
        if index is None:
            return
        self.amounts.remove_at(index, cents)
        self.amounts.revise(known_at, at, -1, -cents)
        del self._buckets[index]
        del self._classes[index]
        if index < self._first:
            self._first -= 1
        else:
            self._count(bucket, class_id, -1)
        insort(self._revised, (known_at, at, -1, bucket, class_id))
        self._memo = None

    def measure(self, at: int, class_id: int, *, but: int | None = None) -> BaselineValues:
        """The window that ends at ``at``, as known then; ``but`` is an amount of the class in it that is left out."""
        times = self.amounts.instants()
        first = bisect_right(times, at - WINDOW_US)
        last = len(times) if not times or times[-1] <= at else bisect_right(times, at)
        if self.amounts.revised_at <= at and but is None:
            if first == self._first and last == len(times):
                return self._read(class_id, {}, {})
            key = (first, last, len(times), class_id)
            if self._memo is None or self._memo[0] != key:
                self._memo = (key, self._read(class_id, *self._difference(first, last, class_id)))
            return self._memo[1]
        of_class, of_all = self._difference(first, last, class_id)
        if but is not None:
            bucket = bucket_of(but)
            for counts in (of_class, of_all):
                counts[bucket] = counts.get(bucket, 0) - 1
        for known_at, fact_at, change, bucket, fact_class in reversed(self._revised):
            if known_at <= at:
                break
            if at - WINDOW_US < fact_at <= at and bucket != _UNPRICED:
                of_all[bucket] = of_all.get(bucket, 0) - change
                if fact_class == class_id:
                    of_class[bucket] = of_class.get(bucket, 0) - change
        return self._read(class_id, of_class, of_all)

    def _difference(self, first: int, last: int, class_id: int) -> tuple[Counts, Counts]:
        """The change from the cursor's histograms to those of [first, last): of the class, and of all."""
        of_class: Counts = {}
        of_all: Counts = {}
        for start, stop, sign in ((self._first, first, -1), (first, self._first, 1), (last, len(self._buckets), -1)):
            if stop - start <= _FEW:
                for index in range(start, stop):
                    bucket = self._buckets[index]
                    if bucket == _UNPRICED:
                        continue
                    of_all[bucket] = of_all.get(bucket, 0) + sign
                    if self._classes[index] == class_id:
                        of_class[bucket] = of_class.get(bucket, 0) + sign
                continue
            buckets = np.frombuffer(self._buckets, np.uint16)[start:stop]
            classes = np.frombuffer(self._classes, np.uint8)[start:stop]
            _tally(of_all, buckets, sign)
            _tally(of_class, buckets[classes == class_id], sign)
        return of_class, of_all

    def _read(self, class_id: int, of_class: Counts, of_all: Counts) -> BaselineValues:
        by_class = self._by_class.get(class_id)  # None when the cursor's window had none since it was loaded
        n = (0 if by_class is None else by_class.n) + sum(of_class.values())
        if n >= CLASS_FLOOR:
            return _values(Histogram() if by_class is None else by_class, n, of_class)
        n = self._all.n + sum(of_all.values())
        return _values(self._all, n, of_all) if n >= FLOOR else UNMEASURED

    def _count(self, bucket: int, class_id: int, count: int) -> None:
        if bucket == _UNPRICED:
            return
        self._all.add(bucket, count)
        histogram = self._by_class.get(class_id)
        if histogram is None:
            histogram = self._by_class[class_id] = Histogram()
        histogram.add(bucket, count)

    def _index_of(self, at: int, bucket: int, class_id: int, cents: int) -> int | None:
        times = self.amounts.instants()
        index = bisect_right(times, at) - 1
        while index >= 0 and times[index] == at:
            if (
                self._buckets[index] == bucket
                and self._classes[index] == class_id
                and self.amounts.amount(index) == cents
            ):
                return index
            index -= 1
        return None

    def dump(self) -> tuple[Any, ...]:
        return (
            self.amounts.dump(),
            self._buckets.tobytes(),
            self._classes.tobytes(),
            self._first,
            self._at,
            self._revised,
        )

    def load(self, dumped: Any) -> None:
        amounts, buckets, classes, self._first, self._at, revised = dumped
        self.amounts.load(amounts)
        self._buckets.frombytes(buckets)
        self._classes.frombytes(classes)
        self._revised = [tuple(item) for item in revised]
        inside, of_class = (
            np.frombuffer(self._buckets, np.uint16)[self._first :],
            np.frombuffer(self._classes, np.uint8),
        )
        for class_id in np.unique(of_class[self._first :]):
            counts = np.bincount(inside[of_class[self._first :] == class_id])
            for bucket in np.flatnonzero(counts):
                self._count(int(bucket), int(class_id), int(counts[bucket]))


def _bucket_of(cents: int | None) -> int:
    return _UNPRICED if cents is None else bucket_of(cents)


def _tally(counts: Counts, buckets: npt.NDArray[np.uint16], sign: int) -> None:
    of_bucket = np.bincount(buckets[buckets != _UNPRICED])
    for bucket in np.flatnonzero(of_bucket):
        counts[int(bucket)] = counts.get(int(bucket), 0) + sign * int(of_bucket[bucket])


def _values(histogram: Histogram, n: int, difference: Counts) -> BaselineValues:
    """Read the quantiles of the histogram with a difference added and subtracted again."""
    for bucket, change in difference.items():
        histogram.add(bucket, change)
    median, p95 = histogram.buckets_at((rank_of(_MEDIAN_PERCENT, n), rank_of(_P95_PERCENT, n)))
    for bucket, change in difference.items():
        histogram.add(bucket, -change)
    return BaselineValues(n, middle_of(median), middle_of(p95))
