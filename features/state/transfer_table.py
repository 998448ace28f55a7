"""What a program remembers of each of its transfers, one packed record a transfer, for good.

Unit    instants in microseconds, amounts in cents; -1 in an index means none; words are numbers from ``StringTable``
"""

import struct
from typing import Any, Final, NamedTuple

from features.windows.id_index import IdIndex, key_of
from features.windows.series_kinds import SeriesKind

NO_INSTANT: Final = -(2**63)


class TransferRecord(NamedTuple):
    """The newest state of one transfer."""

    cents: int
    at: int  # its own time: the bank's creation time, clamped to when the log first held it
    updated_at: int  # orders snapshots, with event_at
    event_at: int
    scored_at: int
    scored_offset: int
    raw_offset: int  # of the entry that delivered the newest snapshot
    effective_at: int  # NO_INSTANT when no snapshot said it
    actor: int
    counterparty: int
    account: int
    score_n: int
    baseline_n: int  # the program baseline at first sight; -1 is unmeasured
    baseline_median: int  # histogram buckets
    baseline_p95: int
    status: int
    country: int
    sec_code: int
    currency: int
    card_reason: int
    class_id: int  # rail and direction
    ach_type: int
    score: int  # -1 is unscored
    confidence_permille: int
    moved: bool  # counts toward sums, baselines and first times


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
    """What a transfer puts into the windows from ``known_at`` on; kept of transfers that changed after first sight."""

    known_at: int
    cents: int
    actor: int
    counterparty: int
    ach_type: int
    moved: bool
    card: int  # whose attempts it is one of
    attempts: tuple[SeriesKind, ...]
    returned: ReturnState | None


def counted_of(dumped: Any) -> Counted:
    """One of a dump."""
    *held, attempts, state = dumped
    kinds = tuple(SeriesKind(word) for word in attempts)
    return Counted._make((*held, kinds, None if state is None else ReturnState(*state)))


_RECORD: Final = struct.Struct("<8q5i2H5H2BbH?")
_CENTS: Final = struct.Struct("<q")
_RAW_OFFSET: Final = struct.Struct("<q")
_RAW_OFFSET_AT: Final = struct.calcsize("<6q")
_SIDES: Final = struct.Struct("<2i")
_SIDES_AT: Final = struct.calcsize("<8q")


class TransferTable:
    """Records by row, and the row of a transfer id."""

    __slots__ = ("_asked", "_records", "_rows")

    def __init__(self) -> None:
        self._records = bytearray()
        self._rows = IdIndex()
        self._asked = ("", key_of(""))

    def __len__(self) -> int:
        return len(self._records) // _RECORD.size

    def row_of(self, transfer_id: str) -> int | None:
        self._asked = (transfer_id, key_of(transfer_id))
        return self._rows.get(self._asked[1])

    def add(self, transfer_id: str, record: TransferRecord) -> int:
        row = len(self)
        self._records += _RECORD.pack(*record)
        asked_id, key = self._asked  # of ``row_of``, which comes before
        self._rows.put(key if asked_id == transfer_id else key_of(transfer_id), row)
        return row

    def read(self, row: int) -> TransferRecord:
        return TransferRecord._make(_RECORD.unpack_from(self._records, row * _RECORD.size))

    def cents(self, row: int) -> int:
        found: int = _CENTS.unpack_from(self._records, row * _RECORD.size)[0]
        return found

    def raw_offset(self, row: int) -> int:
        """The log offset that delivered the newest snapshot."""
        found: int = _RAW_OFFSET.unpack_from(self._records, row * _RECORD.size + _RAW_OFFSET_AT)[0]
        return found

    def sides(self, row: int) -> tuple[int, int]:
        """Actor and counterparty of the newest state."""
        actor, counterparty = _SIDES.unpack_from(self._records, row * _RECORD.size + _SIDES_AT)
        return actor, counterparty

    def write(self, row: int, record: TransferRecord) -> None:
        _RECORD.pack_into(self._records, row * _RECORD.size, *record)

    def dump(self) -> tuple[Any, ...]:
        return (bytes(self._records), self._rows.dump())

    def load(self, dumped: Any) -> None:
        self._records = bytearray(dumped[0])
        self._rows.load(dumped[1])


class StringTable:
    """Short strings by number, in the order in which they were first seen; 0 is none.

    A program may bring at most 65,535 different words; later ones are read as none.
    """

    LIMIT: Final = 65_535

    __slots__ = ("_numbers", "_words")

    def __init__(self) -> None:
        self._words: list[str | None] = [None]
        self._numbers: dict[str | None, int] = {None: 0}

    def number(self, word: str | None) -> int:
        found = self._numbers.get(word)
        if found is None:
            if len(self._words) > self.LIMIT:
                return 0
            found = self._numbers[word] = len(self._words)
            self._words.append(word)
        return found

    def word(self, number: int) -> str | None:
        return self._words[number]

    def dump(self) -> list[str | None]:
        return self._words

    def load(self, dumped: list[str | None]) -> None:
        self._words = dumped
        self._numbers = {word: number for number, word in enumerate(dumped)}
