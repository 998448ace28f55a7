"""How far a reader of the feed is, and the ids of events that say so.

A tenant's programs are in several shards of the log, and only the events of one shard are in the order of the log. So a
position has a place for each shard: the offset of an entry, and how many of the tenant's events from that entry were
read. It is the text of an event's id, so that the id alone, sent back, continues after the event without a hole and
without a repeat, in whatever order the shards were committed, also by another process.

    1772463845123-44040192.AQCEw....Zk3_b2Qx    entry ``ms-seq`` as in Redis, the position in base64url, the log

Position  for each shard, in order, four varints: shard, milliseconds and sequence of the offset, events read of the
          entry; 0 of them stands for all. A shard that is not there has no place: all its events are unread
Log       the mark of the log whose offsets these are. A restored backup is a separate log: it goes on with other
          entries, whose offsets soon are above those of the original
Errors    ``ValueError`` for a text that is no position
"""

import re
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Self

from clearhold.features.live.reading import EVENT_ID, LONGEST_ID
from clearhold.store.redis_log.reader import SEQ_BITS, SEQ_LIMIT

ALL_READ: Final = 1 << 30
"""More than the events of any entry."""

NO_ENTRY: Final = "0-0"
LAST_OFFSET: Final = (1 << 63) - 1

_ID: Final = re.compile(EVENT_ID)
_LAST_MS: Final = LAST_OFFSET >> SEQ_BITS
_VARINT_BYTES: Final = 9
_MORE: Final = 0x80


class ShardPlace(NamedTuple):
    """After the first ``read`` events of the tenant from the entry at ``offset``."""

    offset: int
    read: int


BEGINNING: Final = ShardPlace(0, ALL_READ)


class Position:
    """A place for each shard of the log with the mark ``log``; an empty mark is of no log."""

    __slots__ = ("_packed", "_places", "log")

    def __init__(self, places: Mapping[int, ShardPlace], log: str = "") -> None:
        self.log = log
        self._places = dict(sorted(places.items()))
        self._packed = {shard: _packed(shard, place) for shard, place in self._places.items()}

    @property
    def places(self) -> Mapping[int, ShardPlace]:
        return self._places

    def copy(self) -> "Position":
        copied = Position({}, self.log)
        copied._places, copied._packed = self._places.copy(), self._packed.copy()
        return copied

    def of(self, shard: int) -> ShardPlace:
        return self._places.get(shard, BEGINNING)

    def has_read(self, shard: int, place: ShardPlace) -> bool:
        return place <= self.of(shard)

    def move(self, shard: int, place: ShardPlace) -> None:
        is_new = shard not in self._places
        self._places[shard], self._packed[shard] = place, _packed(shard, place)
        if is_new:
            self._places = dict(sorted(self._places.items()))
            self._packed = dict(sorted(self._packed.items()))

    def advance(self, other: "Position") -> None:
        """Read everything that another position has read."""
        for shard, place in other.places.items():
            if not self.has_read(shard, place):
                self.move(shard, place)

    def id_after(self, entry: str = NO_ENTRY) -> str:
        """The id of an event from this entry, read last."""
        coded = urlsafe_b64encode(b"".join(self._packed.values())).rstrip(b"=").decode()
        return f"{entry}.{coded}.{self.log}" if self.log else f"{entry}.{coded}"

    @classmethod
    def read_id(cls, text: str, shards: int) -> Self:
        """The position in an id; ``shards`` is the number of shards of the log."""
        if len(text) > LONGEST_ID or _ID.fullmatch(text) is None:
            raise ValueError("An id has the form of an entry and a position.")
        _, coded, *log = text.split(".")
        packed = b64decode(coded + "=" * (-len(coded) % 4), altchars=b"-_", validate=True)
        numbers = _numbers(packed)
        places: dict[int, ShardPlace] = {}
        last = -1
        for shard in numbers:
            ms, seq, read = (_next(numbers) for _ in range(3))
            if not last < shard < shards or ms > _LAST_MS or seq >= SEQ_LIMIT or read > ALL_READ:
                raise ValueError("A place of the position does not exist.")
            places[shard] = ShardPlace(ms << SEQ_BITS | seq, read or ALL_READ)
            last = shard
        return cls(places, *log)


def _packed(shard: int, place: ShardPlace) -> bytes:
    read = 0 if place.read == ALL_READ else place.read
    numbers = (shard, place.offset >> SEQ_BITS, place.offset & (SEQ_LIMIT - 1), read)
    return b"".join(map(_varint, numbers))


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number >= _MORE:
        parts.append(number & (_MORE - 1) | _MORE)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _numbers(packed: bytes) -> Iterator[int]:
    number = bits = 0
    for part in packed:
        if bits >= 7 * _VARINT_BYTES:
            raise ValueError("A number of the position is too long.")
        number |= (part & (_MORE - 1)) << bits
        bits += 7
        if part < _MORE:
            yield number
            number = bits = 0
    if bits:
        raise ValueError("The position ends within a number.")


def _next(numbers: Iterator[int]) -> int:
    for number in numbers:
        return number
    raise ValueError("The position ends within a place.")
