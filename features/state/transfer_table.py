"""The newest state of every transfer of a program: one packed record a transfer, never removed.

Unit    instants in microseconds, amounts in cents; -1 in an index means none; strings are numbers of a ``StringTable``
"""

import struct
from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from features.core.instants import DAY_US, HOUR_US, HOURS_24
from features.windows.id_index import IdIndex, key_of
from features.windows.series_kinds import SeriesKind

NO_INSTANT: Final = -(2**63)
UNMEASURED: Final = -1
UNSCORED: Final = -1
UNPRICED: Final = -1
_HOURS_KEPT: Final = 32  # more than a day of them
_BLOCK: Final = 65_536  # records that are looked at together


class TransferRecord(NamedTuple):
    """The newest state of one transfer."""

    cents: int  # in US dollars; UNPRICED when not known (``priced``)
    at: int  # its own time: the bank's creation time, clamped to append time (ruling 1)
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


_AMOUNT: Final = TransferRecord._fields.index("amount")
_POSITIONS: Final = TransferRecord._fields.index("updated_at")  # the first of its further instants and its offsets
_PARTIES: Final = TransferRecord._fields.index("actor")  # the field behind them


class Glance(NamedTuple):
    """The fields of a record that tell what kind of a transfer it is of, read in a third of the time."""

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
    """US cents as a record keeps them: None when they are not known."""
    return None if cents == UNPRICED else cents


class ReturnState(NamedTuple):
    """``at`` is when the return was delivered, not before the transfer's own time."""

    code: str | None
    returned_at: int | None
    at: int
    undone: bool

    @property
    def counts(self) -> bool:
        """True for a return with a code that still stands."""
        return self.code is not None and not self.undone


class Counted(NamedTuple):
    """What a transfer contributes to the windows from ``known_at`` on; kept for transfers that changed later."""

    known_at: int
    cents: int | None
    actor: int
    counterparty: int
    ach_type: int
    moved: bool
    card: int  # the card that the attempt is counted for
    attempts: tuple[SeriesKind, ...]
    returned: ReturnState | None


def counted_of(dumped: Any) -> Counted:
    """Load one from a dump."""
    *fields, attempts, state = dumped
    kinds = tuple(SeriesKind(kind) for kind in attempts)
    return Counted._make((*fields, kinds, None if state is None else ReturnState(*state)))


_RECORD: Final = struct.Struct("<2q31s5i2H5H2BbH?i")  # without the amount, which is nearly always that in US cents
_GLANCE: Final = struct.Struct("<2q35xi16x3H2xH2Bb2x?")
_CENTS: Final = struct.Struct("<q")
_AT: Final = struct.Struct("<8xq")
_COLUMNS: Final = np.dtype(
    {
        "names": ["cents", "at", "actor", "class_id", "moved"],
        "formats": ["<i8", "<i8", "<i4", "u1", "?"],
        "offsets": [0, 8, 47, 81, 86],
        "itemsize": _RECORD.size,
    }
)
_SIDES: Final = struct.Struct("<2i")
_SIDES_AT: Final = struct.calcsize("<2q31s")
_POSITIONS_AT: Final = struct.calcsize("<2q")
_INSTANT_BYTES: Final = 6  # microseconds from the transfer's own time: four years before it and after it
_OFFSET_BYTES: Final = 5  # 10^12 entries of a shard
_DAY_BYTES: Final = 3
_NO_DAY: Final = -(2**23)


class MovedColumns(NamedTuple):
    """Transfers by column: US cents, own time, actor, rail and direction."""

    cents: "np.ndarray[Any, Any]"
    at: "np.ndarray[Any, Any]"
    actor: "np.ndarray[Any, Any]"
    class_id: "np.ndarray[Any, Any]"


_NOTHING_MOVED: Final = MovedColumns(*(np.zeros(0, dtype=_COLUMNS[name]) for name in MovedColumns._fields))


def _packed(record: TransferRecord) -> bytes:
    """The instants and offsets of a record. OverflowError for a record that has one out of reach."""
    at, effective_at = record.at, record.effective_at
    day, rest = (_NO_DAY, 0) if effective_at == NO_INSTANT else divmod(effective_at, DAY_US)
    if rest:
        raise OverflowError
    return b"".join(
        (
            record.raw_offset.to_bytes(_OFFSET_BYTES, "little"),
            (record.updated_at - at).to_bytes(_INSTANT_BYTES, "little", signed=True),
            (record.event_at - at).to_bytes(_INSTANT_BYTES, "little", signed=True),
            (record.scored_at - at).to_bytes(_INSTANT_BYTES, "little", signed=True),
            record.scored_offset.to_bytes(_OFFSET_BYTES, "little"),
            day.to_bytes(_DAY_BYTES, "little", signed=True),
        )
    )


def _unpacked(packed: bytes, at: int) -> tuple[int, ...]:
    """What ``_packed`` packed, in the order of a record."""
    read = int.from_bytes
    day = read(packed[28:], "little", signed=True)
    return (
        at + read(packed[5:11], "little", signed=True),
        at + read(packed[11:17], "little", signed=True),
        at + read(packed[17:23], "little", signed=True),
        read(packed[23:28], "little"),
        read(packed[:5], "little"),
        NO_INSTANT if day == _NO_DAY else day * DAY_US,
    )


TRANSFERS_DUMPED: Final = tuple[memoryview, dict[int, int], list[Any], Any, list[Any]]
"""What ``TransferTable.dump`` returns, with the records where they lie in what is decoded."""


class TransferTable:
    """Records by row, and the row of a transfer id."""

    __slots__ = ("_amounts", "_far", "_hours", "_last_lookup", "_records", "_rows")

    def __init__(self) -> None:
        self._records = bytearray()
        self._amounts: dict[int, int] = {}  # by row, where the amount is not the one in US cents
        self._far: dict[int, tuple[int, ...]] = {}  # by row, the instants and offsets of which one is out of reach
        self._rows = IdIndex()
        self._hours: list[tuple[int, int]] = []  # the newest hours in which transfers landed, and the first row of each
        self._last_lookup = ("", key_of(""))

    def __len__(self) -> int:
        return len(self._records) // _RECORD.size

    def row_of(self, transfer_id: str) -> int | None:
        self._last_lookup = (transfer_id, key_of(transfer_id))
        return self._rows.get(self._last_lookup[1])

    def add(self, transfer_id: str, record: TransferRecord) -> int:
        row, hour = len(self), record.scored_at // HOUR_US  # it is scored as it lands
        if not self._hours or hour > self._hours[-1][0]:
            self._hours.append((hour, row))
            del self._hours[:-_HOURS_KEPT]
        self._records += bytes(_RECORD.size)
        self.write(row, record)
        looked_up_id, key = self._last_lookup  # ``row_of`` was called before, so the key is hashed once
        self._rows.put(key if looked_up_id == transfer_id else key_of(transfer_id), row)
        return row

    def read(self, row: int) -> TransferRecord:
        cents, at, packed, *fields, card = _RECORD.unpack_from(self._records, row * _RECORD.size)
        positions = self._far.get(row) or _unpacked(packed, at)
        return TransferRecord._make((cents, at, *positions, *fields, self._amounts.get(row, cents), card))

    def glance(self, row: int) -> Glance:
        return Glance._make(_GLANCE.unpack_from(self._records, row * _RECORD.size))

    def cents(self, row: int) -> int | None:
        """The US cents of a transfer, None when they are not known."""
        return priced(_CENTS.unpack_from(self._records, row * _RECORD.size)[0])

    def at(self, row: int) -> int:
        """A transfer's own time."""
        at: int = _AT.unpack_from(self._records, row * _RECORD.size)[0]
        return at

    def moved_in_a_day(self, now: int) -> MovedColumns:
        """The transfers of the 24 hours up to now that moved money.

        No transfer is later than its landing, so they are among those that landed since; those are read in blocks.
        """
        place = bisect_left(self._hours, ((now - HOURS_24) // HOUR_US, -1))
        first = self._hours[place][1] if place < len(self._hours) else len(self)
        size, parts = _RECORD.size, [_NOTHING_MOVED]
        for start in range(first, len(self), _BLOCK):
            block = np.frombuffer(bytes(self._records[start * size : (start + _BLOCK) * size]), dtype=_COLUMNS)
            at = block["at"]
            rows = np.flatnonzero(block["moved"] & (at > now - HOURS_24) & (at <= now))
            parts.append(MovedColumns(*(block[name][rows] for name in MovedColumns._fields)))
        return MovedColumns(*map(np.concatenate, zip(*parts, strict=True)))

    def rows_after(self, instant: int) -> list[int]:
        """The rows of the transfers whose own time is later than an instant."""
        columns = np.frombuffer(self._records, dtype=_COLUMNS)
        rows: list[int] = np.flatnonzero(columns["at"] > instant).tolist()
        return rows

    def raw_offset(self, row: int) -> int:
        """The log offset that delivered the newest snapshot."""
        return self.raw_offsets((row,))[0]

    def raw_offsets(self, rows: Iterable[int]) -> list[int]:
        """The same of several transfers."""
        records, offsets = self._records, []
        for row in rows:
            first = row * _RECORD.size + _POSITIONS_AT
            far = self._far.get(row)
            offsets.append(int.from_bytes(records[first : first + _OFFSET_BYTES], "little") if far is None else far[4])
        return offsets

    def sides(self, row: int) -> tuple[int, int]:
        """Actor and counterparty of the newest state."""
        actor, counterparty = _SIDES.unpack_from(self._records, row * _RECORD.size + _SIDES_AT)
        return actor, counterparty

    def actors(self, rows: Iterable[int]) -> list[int]:
        """The actors of the newest states of several transfers."""
        unpack, records, size = _SIDES.unpack_from, self._records, _RECORD.size
        return [unpack(records, row * size + _SIDES_AT)[0] for row in rows]

    def write(self, row: int, record: TransferRecord) -> None:
        try:
            packed = _packed(record)
            self._far.pop(row, None)
        except OverflowError:
            packed = b""
            self._far[row] = record[_POSITIONS:_PARTIES]
        fields = record[_PARTIES:_AMOUNT]
        _RECORD.pack_into(self._records, row * _RECORD.size, record.cents, record.at, packed, *fields, record.card)
        if record.amount != record.cents:
            self._amounts[row] = record.amount
        elif row in self._amounts:
            del self._amounts[row]

    def dump(self) -> tuple[Any, ...]:
        return (self._records, self._amounts, list(self._far.items()), self._rows.dump(), self._hours)

    def load(self, dumped: Any) -> None:
        self._records = bytearray(dumped[0])
        self._amounts = dumped[1]
        self._far = {row: tuple(positions) for row, positions in dumped[2]}
        self._rows.load(dumped[3])
        self._hours = [(hour, row) for hour, row in dumped[4]]


class StringTable:
    """Short strings by number, in the order in which they were first seen; 0 is none.

    A program may use at most 65,535 different strings; later ones are read as none.
    """

    LIMIT: Final = 65_535

    __slots__ = ("_numbers", "texts")

    def __init__(self) -> None:
        self.texts: list[str | None] = [None]
        self._numbers: dict[str | None, int] = {None: 0}

    def number(self, text: str | None) -> int:
        number = self._numbers.get(text)
        if number is None:
            if len(self.texts) > self.LIMIT:
                return 0
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number

    def text(self, number: int) -> str | None:
        return self.texts[number]

    def dump(self) -> list[str | None]:
        return self.texts

    def load(self, dumped: list[str | None]) -> None:
        self.texts = dumped
        self._numbers = {text: number for number, text in enumerate(dumped)}
