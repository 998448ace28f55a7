"""The newest state of every transfer of a program: one row of numbers a transfer, never removed.

Unit    instants in microseconds, amounts in cents; -1 in an index means none; strings are numbers of a ``StringTable``
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from clearhold.features.core.in_memory import shared
from clearhold.features.core.instants import DAY_US, HOUR_US, HOURS_24
from clearhold.features.windows.id_index import IdIndex, key_of
from clearhold.features.windows.narrow_table import NarrowTable, Numbers

NO_INSTANT: Final = -(2**63)
UNMEASURED: Final = -1
UNSCORED: Final = -1
UNPRICED: Final = -1
_HOURS_KEPT: Final = 32  # more than a day of them
# Columns of the table. Instants and offsets are distances from each other, so that they take few bytes.
CENTS: Final = 0
AT: Final = 1
KIND: Final = 2
COUNTERPARTY: Final = 3
ROW: Final = 4  # in ``Places``; the table has the score here
_AT_A_GLANCE: Final = 5  # the columns so far
ACTOR: Final = 5
RAW_OFFSET: Final = 6  # of the entry that delivered the newest snapshot
_IN_PLACES: Final = 7  # the columns so far
_PURCHASE: Final = 20
_WIDTH: Final = 21
WRITES_KEPT: Final = 64
Places = Numbers  # several transfers by column: ``CENTS`` to ``RAW_OFFSET``
NO_PLACES: Final[Places] = np.zeros((_IN_PLACES, 0), np.int64)
_NO_DAY: Final = 0
_NO_DAY_AT_ALL: Final = -1  # an instant within a day, stored beside the table
Kind = tuple[int, int, int, int, int, int, int, bool]
"""Status, country, SEC code, currency, card reason, class, ACH type, and whether it moved, each with few values."""
_FIELDS: Final = ("status", "country", "sec_code", "currency", "card_reason", "class_id", "ach_type", "moved")
_KINDS: Final = np.dtype([(field, np.int64) for field in _FIELDS])


class TransferRecord(msgspec.Struct, frozen=True, gc=False):
    """The newest state of one transfer."""

    cents: int  # in US dollars; UNPRICED when not known (``priced``)
    at: int  # its own time: the bank's creation time, clamped to append time
    updated_at: int  # orders snapshots, with event_at
    event_at: int
    scored_at: int
    scored_offset: int
    raw_offset: int  # of the entry that delivered the newest snapshot
    effective_at: int  # NO_INSTANT when no snapshot states it
    actor: int
    counterparty: int
    account: int
    score_n: int
    baseline_n: int  # the program baseline at first sight; UNMEASURED below its floor
    baseline_median: int  # histogram buckets
    baseline_p95: int
    status: int
    country: int
    sec_code: int
    currency: int
    card_reason: int
    class_id: int  # rail and direction
    ach_type: int
    score: int  # UNSCORED below the floor
    confidence_permille: int
    moved: bool  # counts toward sums, baselines and first times
    amount: int  # in the transfer's own currency
    card: int  # in the program's table of cards, -1 when the bank names none
    purchase: int  # in the program's table of purchases, 0 when the bank states nothing of one


class TransferBrief(msgspec.Struct, frozen=True, gc=False):
    """The fields of a record that describe the kind of transfer, read in less time."""

    cents: int
    at: int
    counterparty: int
    status: int
    country: int
    sec_code: int
    card_reason: int
    class_id: int
    ach_type: int
    score: int
    moved: bool


def priced(cents: int) -> int | None:
    """US cents from a record: None when unknown."""
    return None if cents == UNPRICED else cents


class ReturnState(NamedTuple):
    """``at`` is when the return was delivered, not before the transfer's own time."""

    code: str | None
    returned_at: int | None
    at: int
    undone: bool

    @property
    def counts(self) -> bool:
        """True for a return with a code that is not dishonoured."""
        return self.code is not None and not self.undone


def return_of(dumped: Any) -> ReturnState:
    code, *others = dumped
    return ReturnState(shared(code), *others)


class MovedColumns(NamedTuple):
    """Transfers by column: US cents, own time, actor, rail and direction."""

    cents: "np.ndarray[Any, Any]"
    at: "np.ndarray[Any, Any]"
    actor: "np.ndarray[Any, Any]"
    class_id: "np.ndarray[Any, Any]"


def _day_of(effective_at: int, at: int) -> int:
    """An effective day by its distance from the transfer's own: 1, 3, 5 for that day and later ones, 2, 4 for earlier.

    >>> [_day_of(day * DAY_US, 5 * DAY_US + 7) for day in (5, 6, 4)], _day_of(NO_INSTANT, 7), _day_of(8, 7)
    ([1, 3, 2], 0, -1)
    """
    if effective_at == NO_INSTANT:
        return _NO_DAY
    day, rest = divmod(effective_at, DAY_US)
    if rest:
        return _NO_DAY_AT_ALL
    distance = day - at // DAY_US
    return 2 * distance + 1 if distance >= 0 else -2 * distance


def _effective_at(day: int, at: int) -> int:
    """The inverse of ``_day_of``."""
    return NO_INSTANT if day == _NO_DAY else (at // DAY_US + (day // 2 if day & 1 else -day // 2)) * DAY_US


class TransferTable:
    """Records by row, and the row of a transfer id."""

    __slots__ = (
        *("_hours", "_instants", "_kind_columns", "_kind_numbers", "_kinds", "_records", "_rows", "_unknown"),
        *("newest_writes", "writes"),
    )

    def __init__(self) -> None:
        self._records = NarrowTable(_WIDTH, head=_AT_A_GLANCE)
        self._kinds: list[Kind] = []
        self._kind_numbers: dict[Kind, int] = {}
        self._kind_columns = np.zeros(0, _KINDS)  # ``_kinds``, where it is as long
        self._instants: dict[int, int] = {}  # by row, effective instants other than a day's beginning
        self._rows = IdIndex()
        self._hours: list[tuple[int, int]] = []  # the newest hours in which transfers landed, and the first row of each
        self._unknown: tuple[str, bytes] | None = None  # the id that ``row_of`` did not find, with its key
        self.writes, self.newest_writes = 0, deque[int](maxlen=WRITES_KEPT)  # of known rows: how many, and which

    def __len__(self) -> int:
        return len(self._records)

    def row_of(self, transfer_id: str) -> int | None:
        key = key_of(transfer_id)
        row = self._rows.get(key)
        self._unknown = (transfer_id, key) if row is None else None
        return row

    def add(self, transfer_id: str, record: TransferRecord) -> int:
        row, hour = len(self), record.scored_at // HOUR_US  # it is scored as it lands
        if not self._hours or hour > self._hours[-1][0]:
            self._hours.append((hour, row))
            del self._hours[:-_HOURS_KEPT]
        self._records.add(self._numbers_of(row, record))
        if self._unknown is not None and self._unknown[0] == transfer_id:
            self._rows.enter(self._unknown[1], row)
            self._unknown = None
        else:
            self.rename(row, transfer_id)
        return row

    def rename(self, row: int, transfer_id: str) -> None:
        """Give a transfer an id; the one that it had is free for another transfer."""
        self._unknown = None
        self._rows.put(key_of(transfer_id), row)

    def read(self, row: int) -> TransferRecord:
        cents, at, kind, counterparty, score, actor, raw_offset, *rest = self._records.read(row)
        updated_after, event_after, scored_after, scored_before, day, *of_score, confidence, more, card, purchase = rest
        *words, moved = self._kinds[kind]
        updated_at = at + updated_after
        effective_at = self._instants[row] if day == _NO_DAY_AT_ALL else _effective_at(day, at)
        instants = (updated_at, updated_at + event_after, at + scored_after)
        offsets = (raw_offset - scored_before, raw_offset)
        ends = (score, confidence, moved, cents + more, card, purchase)
        sides = (effective_at, actor, counterparty)
        fields: tuple[Any, ...] = (cents, at, *instants, *offsets, *sides, *of_score, *words, *ends)
        return TransferRecord(*fields)

    def glance(self, row: int) -> TransferBrief:
        cents, at, kind, counterparty, score = self._records.head(row)
        status, country, sec_code, _, card_reason, class_id, ach_type, moved = self._kinds[kind]
        return TransferBrief(
            cents, at, counterparty, status, country, sec_code, card_reason, class_id, ach_type, score, moved
        )

    def place(self, row: int) -> list[int]:
        place = self._records.lead(row, _IN_PLACES)
        place[ROW] = row
        return place

    def places(self, rows: Numbers) -> Places:
        places = self._records.gather(rows, _IN_PLACES)
        places[ROW] = rows
        return places

    def kind(self, places: Places, field: str) -> Numbers:
        """A field of the kinds of several transfers."""
        if len(self._kind_columns) != len(self._kinds):
            self._kind_columns = np.array(self._kinds, _KINDS)
        column: Numbers = self._kind_columns[field][places[KIND]]
        return column

    def cents(self, row: int) -> int | None:
        return priced(self._records.number(row, CENTS))

    def at(self, row: int) -> int:
        return self._records.number(row, AT)

    def purchase(self, row: int) -> int:
        return self._records.number(row, _PURCHASE)

    def moved_in_a_day(self, now: int) -> MovedColumns:
        """The transfers of 24 hours that moved money, read in blocks of landings: none is later than its landing."""
        place = bisect_left(self._hours, ((now - HOURS_24) // HOUR_US, -1))
        first = self._hours[place][1] if place < len(self._hours) else len(self)
        class_ids, have_moved = np.array([kind[5] for kind in self._kinds]), np.array([kind[7] for kind in self._kinds])
        parts: list[tuple[Numbers, ...]] = [(np.zeros(0, np.int64),) * len(MovedColumns._fields)]
        for _, (cents, at, kinds, actors) in self._records.from_row(first, (CENTS, AT, KIND, ACTOR)):
            rows = np.flatnonzero(have_moved[kinds] & (at > now - HOURS_24) & (at <= now))
            parts.append((cents[rows], at[rows], actors[rows], class_ids[kinds[rows]]))
        return MovedColumns(*map(np.concatenate, zip(*parts, strict=True)))

    def rows_after(self, instant: int) -> list[int]:
        """The rows of the transfers whose own time is later than an instant."""
        blocks = self._records.from_row(0, (AT,))
        return [first + int(place) for first, (at,) in blocks for place in np.flatnonzero(at > instant)]

    def raw_offsets(self, rows: Sequence[int]) -> tuple[int, ...]:
        return tuple(self._records.number(row, RAW_OFFSET) for row in rows)

    def sides(self, row: int) -> tuple[int, int]:
        """Actor and counterparty of the newest state."""
        return self._records.number(row, ACTOR), self._records.number(row, COUNTERPARTY)

    def write(self, row: int, record: TransferRecord) -> None:
        self._records.write(row, self._numbers_of(row, record))
        self.writes += 1
        self.newest_writes.append(row)

    def _numbers_of(self, row: int, record: TransferRecord) -> tuple[int, ...]:
        """The record as a row of numbers; other values are stored beside."""
        cents, at, raw_offset = record.cents, record.at, record.raw_offset
        day = _day_of(record.effective_at, at)
        if day == _NO_DAY_AT_ALL:
            self._instants[row] = record.effective_at
        elif row in self._instants:
            del self._instants[row]
        return (
            cents,
            at,
            self._kind_of(record),
            record.counterparty,
            record.score,
            record.actor,
            raw_offset,
            record.updated_at - at,
            record.event_at - record.updated_at,
            record.scored_at - at,
            raw_offset - record.scored_offset,
            day,
            record.account,
            record.score_n,
            record.baseline_n,
            record.baseline_median,
            record.baseline_p95,
            record.confidence_permille,
            record.amount - cents,
            record.card,
            record.purchase,
        )

    def _kind_of(self, record: TransferRecord) -> int:
        kind: Kind = (
            record.status,
            record.country,
            record.sec_code,
            record.currency,
            record.card_reason,
            record.class_id,
            record.ach_type,
            record.moved,
        )
        number = self._kind_numbers.get(kind)
        if number is None:
            number = self._kind_numbers[kind] = len(self._kinds)
            self._kinds.append(kind)
        return number

    def dump(self) -> Iterator[tuple[str, Any]]:
        """In parts that ``load`` restores, none of them large but the index of ids."""
        yield from (("block", block) for block in self._records.dump())
        yield "beside", (self._kinds, self._instants, self._hours)
        yield "rows", self._rows.dump()

    def load(self, dumped: Any) -> None:
        """Restore one part."""
        part, content = dumped
        if part == "block":
            self._records.load(content)
        elif part == "rows":
            self._rows.load(content)
        else:
            kinds, self._instants, hours = content
            self._kinds = [(*kind[:7], bool(kind[7])) for kind in kinds]
            self._kind_numbers = {kind: number for number, kind in enumerate(self._kinds)}
            self._hours = [(hour, row) for hour, row in hours]
