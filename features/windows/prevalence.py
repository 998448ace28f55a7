"""How many of 1,000 of a program's transfers reach what a transfer reaches: the share of a graded measure.

Counted  each transfer that moved when it was first scored, on the UTC day of the transfer's time, with the values of
         that score; a later change of it counts nothing. Cards and other rails apart. A transfer without a value counts
         as one that reaches nothing
Window   the completed days of 90, and of 7: the day of the transfer is not read, so that it never counts itself and
         a question before it has the answer of its landing. The larger of the two shares, rounded up
Signals  counted in the same way: the transfers that had points by each of ``COUNTED_SIGNALS``, by the default card
Floor    200 transfers in a window; None below it in 90 days, and for days of which rows are no longer kept
Bounds   one row of counters a day and kind for 240 days, each the sum of all days up to it, so that a window is the
         difference of two rows; a late transfer is added to the rows of its day and after
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from clearhold.features.catalogue.thresholds import COMMON_FROM_PERMILLE, COUNTED_SIGNALS
from clearhold.features.core.instants import DAY_US

FLOOR: Final = 200
KEPT_DAYS: Final = 240
QUARTER_DAYS: Final = 90
WEEK_DAYS: Final = 7
_THOUSAND: Final = 1_000
_NEVER: Final = -(1 << 62)
_WRAP: Final = (1 << 32) - 1  # counters have 32 bits; their differences are right beyond that

_DAY_PERCENTS: Final = (
    *(500, 700, 1_000, 1_400, 2_000, 2_800, 4_000, 5_600, 8_000, 11_000, 16_000, 22_000, 32_000, 45_000, 64_000),
    128_000,
)
_CENTS: Final = (
    *(10_000, 15_000, 20_000, 30_000, 50_000, 75_000, 100_000, 150_000, 200_000, 300_000, 500_000, 750_000),
    *(1_000_000, 1_500_000, 2_000_000, 3_000_000, 5_000_000, 7_500_000, 10_000_000, 20_000_000, 50_000_000),
)
_COUNTS: Final = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 60)
_OVER_USUAL: Final = (100, 150, 200, 250, 300, 400, 600, 800, 1_200)

EDGES: Final = {
    "day_cents_over_usual": _DAY_PERCENTS,
    "day_count_over_usual": (200, 250, 300, 350, 400, 500, 600, 800, 1_000, 1_200, 1_600),
    "day_amount_over_usual": (150, 200, 250, 300, 400, 500, 600, 800, 1_000, 1_200, 1_600),
    "velocity_1h": _COUNTS,
    "velocity_6h": (200, 250, 300, 350, 400, 500, 600, 800, 1_000, 1_400),
    "repeated_amount": _COUNTS[1:8],
    "odd_hour_amount": (50, 75, 100, 125, 150, 200, 300, 400, 600, 800, 1_200, 1_600, 2_400),
    "quick_hops": (1, 2, 3),
    "last_receipt": (70, 80, 85, 90, 95, 97, 98, 99, 100),
    "first_day_cents": (300, *_DAY_PERCENTS),
    "first_amount": _CENTS,
    "first_payee_new_payers": _COUNTS,
    "first_payee_over_usual": _OVER_USUAL,
    "first_payer_new_payers": (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128),
    "first_payer_over_usual": _OVER_USUAL,
    "quiet_pair": (1,),
    "quiet_amount": (100, 150, 200, 300, 500, 800, 1_200, 2_000, 4_000, 8_000, 16_000),
    "first_drained": (70, 80, 85, 90, 95, 97, 98, 99, 100),
    "first_sent": (50, 80, 90, 95, 100, 110, 125, 150, 200, 300, 500, 1_000),
    "first_chain": (1, 2, 3, 4, 5),
    "first_middles": (2, 3, 4, 6, 8, 12, 16, 24),
}
"""The measures, with the values at which shares differ; the fields of their shares end in ``_permille``."""

Values = Sequence[int | None]
"""One value for each measure, in the order of ``EDGES``; the last ones may be left out where they are all None."""
Reached = Sequence[tuple[int, int]]
"""Of each measure of which a transfer reaches an edge: the columns of the lowest and of its highest edge in a row."""


class _Scale(msgspec.Struct, frozen=True, gc=False):
    """The edges of a measure and its first column in a row; the column before all measures counts all transfers."""

    edges: tuple[int, ...]
    lowest: int
    first: int


def _scales() -> Iterator[_Scale]:
    first = 1
    for edges in EDGES.values():
        yield _Scale(edges, edges[0], first)
        first += len(edges)


_SCALES: Final = tuple(_scales())
_FIRST_SIGNAL: Final = 1 + sum(map(len, EDGES.values()))
_COLUMN_OF: Final = {signal: _FIRST_SIGNAL + place for place, signal in enumerate(COUNTED_SIGNALS)}
_NO_VALUES: Final = (None,) * len(_SCALES)
_NONE_COUNTED: Final = array("I", [0]) * (_FIRST_SIGNAL + len(COUNTED_SIGNALS))


_KEPT_READ: Final = 16
_Window = tuple["array[int]", "array[int]", int]
"""The last row, the row before the first, and the number of transfers between them."""


class ShareReading(msgspec.Struct, frozen=True, gc=False):
    """The share of each measure, the least of them, the common signals, and what to count of the transfer."""

    permille: list[int | None]
    rarest: int | None
    common: str | None
    reached: Reached


def counted(signals: Iterable[str]) -> Reached:
    """What to count of a transfer that has points by these signals."""
    columns = [_COLUMN_OF[signal] for signal in signals if signal in _COLUMN_OF]
    return list(zip(columns, columns, strict=True))


class Prevalence:
    """Counters of one program.

    >>> prevalence = Prevalence()
    >>> for transfer in range(300):
    ...     share = prevalence.share(transfer, [600 if transfer < 6 else 100], is_card=False)
    ...     prevalence.add(transfer, share.reached, is_card=False)
    >>> prevalence.share(DAY_US, [520], is_card=False).rarest  # 6 of 300 reach 500, as this one
    20
    >>> prevalence.share(DAY_US - 1, [520], is_card=False).rarest  # their day is not completed
    """

    __slots__ = ("_kinds", "_newest", "_read", "_read_upto")

    def __init__(self) -> None:
        self._kinds = (_Days(), _Days())  # cards apart
        self._newest = _NEVER
        self._read: dict[tuple[int, bool], _Past] = {}  # by day and kind, until a row before the day changes
        self._read_upto = _NEVER

    def add(self, at: int, reached: Reached, *, is_card: bool) -> None:
        """Count a transfer that was just scored for the first time, with what its share says that it reached."""
        day = at // DAY_US
        if day > self._newest:
            self._newest = day
            for days in self._kinds:
                days.forget(day - KEPT_DAYS)
            self._read.clear()
        elif day <= self._newest - KEPT_DAYS:
            return
        elif day < self._read_upto:
            self._read.clear()
            self._read_upto = _NEVER
        for row in self._kinds[is_card].rows_from(day):
            row[0] = row[0] + 1 & _WRAP
            for first, highest in reached:
                for column in range(first, highest + 1):
                    row[column] = row[column] + 1 & _WRAP

    def share(self, at: int, values: Values, *, is_card: bool) -> ShareReading:
        """Of each value: of 1,000 transfers, how many reach the highest edge that it reaches; all 1,000 below them."""
        day = at // DAY_US
        past = self._read.get((day, is_card)) or self._past(day, is_card=is_card)
        of_all, reached = past.of_all, list[tuple[int, int]]()
        permille = [
            None if value is None else of_all if value < scale.lowest else past.share_from(scale, value, reached)
            for value, scale in zip(values, _SCALES, strict=False)
        ]
        rarest = min([past.shares[column] for _, column in reached]) if reached and past.windows else of_all
        permille += _NO_VALUES[len(permille) :]
        return ShareReading(permille, rarest, past.common, reached)

    def is_known(self, at: int, *, is_card: bool) -> bool:
        """Whether enough transfers are counted for shares of that day."""
        day = at // DAY_US
        past = self._read.get((day, is_card)) or self._past(day, is_card=is_card)
        return bool(past.windows)

    def _past(self, day: int, *, is_card: bool) -> "_Past":
        """All that is read of the days before one, kept for the next transfer of the day."""
        if len(self._read) == _KEPT_READ:
            self._read.clear()
        past = self._read[day, is_card] = _Past(self._windows(day, is_card=is_card))
        self._read_upto = max(self._read_upto, day)
        return past

    def _windows(self, day: int, *, is_card: bool) -> list[_Window]:
        """The windows with enough transfers before a day."""
        if day - QUARTER_DAYS <= self._newest - KEPT_DAYS:
            return []
        days = self._kinds[is_card]
        end, start = days.upto(day - 1), days.upto(day - 1 - QUARTER_DAYS)
        n = end[0] - start[0] & _WRAP
        if n < FLOOR:
            return []
        windows = [(end, start, n)]
        start = days.upto(day - 1 - WEEK_DAYS)
        n = end[0] - start[0] & _WRAP
        if n >= FLOOR:
            windows.append((end, start, n))
        return windows

    def dump(self) -> tuple[Any, ...]:
        return (self._newest, [(days.first, b"".join(days.rows)) for days in self._kinds])

    def load(self, dumped: Any) -> None:
        self._newest, kinds = dumped
        self._read.clear()
        size = len(_NONE_COUNTED) * _NONE_COUNTED.itemsize
        for days, (first, rows) in zip(self._kinds, kinds, strict=True):
            days.first = first
            days.rows = [array("I", rows[start : start + size]) for start in range(0, len(rows), size)]


class _Past:
    """The windows with enough transfers before a day, the common signals in them, and their shares as asked for."""

    __slots__ = ("common", "of_all", "shares", "windows")

    def __init__(self, windows: list[_Window]) -> None:
        self.windows = windows
        self.of_all: int | None = _THOUSAND if windows else None
        self.common: str | None = " ".join(_common(windows)) if windows else None
        self.shares: dict[int, int] = {}  # by column

    def share_from(self, scale: _Scale, value: int, reached: list[tuple[int, int]]) -> int | None:
        """The share of the highest edge that a value reaches, which is noted; None without a window."""
        column = scale.first + bisect_right(scale.edges, value) - 1
        reached.append((scale.first, column))
        share = self.shares.get(column)
        if share is None and self.windows:
            share = self.shares[column] = max(
                -(-_THOUSAND * (end[column] - start[column] & _WRAP) // n) for end, start, n in self.windows
            )
        return share


def _common(windows: list[_Window]) -> list[str]:
    """The signals that too many have, in one of the windows."""
    common: set[str] = set()
    for end, start, n in windows:
        least = (COMMON_FROM_PERMILLE - 1) * n // _THOUSAND + 1  # the share is rounded up
        counts = zip(COUNTED_SIGNALS, end[_FIRST_SIGNAL:], start[_FIRST_SIGNAL:], strict=True)
        common.update([signal for signal, last, before in counts if last - before & _WRAP >= least])
    return [signal for signal in COUNTED_SIGNALS if signal in common]


class _Days:
    """The counters of all transfers of one kind up to the end of each day, from the day ``first`` on."""

    __slots__ = ("first", "rows")

    def __init__(self) -> None:
        self.first = 0
        self.rows: list[array[int]] = []

    def upto(self, day: int) -> "array[int]":
        rows = self.rows
        place = day - self.first
        if place < 0 or not rows:
            return _NONE_COUNTED
        return rows[place] if place < len(rows) else rows[-1]

    def rows_from(self, day: int) -> "list[array[int]]":
        """The rows that count a transfer of that day, made where they are missing."""
        rows = self.rows
        if rows and day - self.first == len(rows) - 1:
            return rows[-1:]
        if not rows:
            self.first = day
        if day < self.first:
            rows[:0] = [_NONE_COUNTED[:] for _ in range(self.first - day)]
            self.first = day
        for _ in range(day - self.first + 1 - len(rows)):
            rows.append(rows[-1][:] if rows else _NONE_COUNTED[:])
        return rows[day - self.first :]

    def forget(self, before: int) -> None:
        """Drop the rows of the days before one, of which only the sums are needed."""
        old = min(max(0, before - self.first), len(self.rows))
        del self.rows[:old]
        self.first += old
