"""Texts by key or number: an index of ids, the short words of a program, and dumps in slices.

``IdIndex`` maps keys of 72 bits to small integers and keeps every key for good in about 14 bytes. Linear hashing: keys
lie in buckets by their leading bits, a bucket is one string of bytes that is searched whole, and when the keys exceed
the capacity of the buckets, the next bucket is split in two. So every insertion costs about the same, and a search
costs the same among a thousand keys and among ten million, except for the machine's caches. A bucket's keys are stored
without the leading bytes that all of them share.

Dumps are in slices, so that encoding one of them holds the interpreter, and thereby a pre-flight, only briefly.

Errors  none; keys are hashes, taken as unique: of a hundred million ids any two share 72 bits with a chance of 10^-6
Source  Litwin, "Linear hashing: a new tool for file and table addressing" (1980)
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from struct import Struct
from typing import Any, Final

KEY_BYTES: Final = 9
_KEYS_PER_BUCKET: Final = 128  # twice as many are searched for longer, half as many take a byte more each
_U32: Final = Struct("<I")  # a value; and of a key, its leading bits, the lowest first
_VALUE_BYTES: Final = 4
_BYTE_BITS: Final = 8
AT_ONCE: Final = 1_000
Slice = tuple[str, list[Any]]
"""The name of a part, and some of its items."""


def key_of(text: str) -> bytes:
    """The key of a bank id."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


class IdIndex:
    """A key that is put again gets another value. All keys have ``key_bytes``, at least eight, and are spread evenly in
    the first four of them; a value has 32 bits and no sign.

    >>> index = IdIndex()
    >>> index.put(key_of("acht_1"), 0)
    >>> index.get(key_of("acht_1")), index.get(key_of("acht_2"))
    (0, None)
    """

    __slots__ = ("_buckets", "_count", "_depth", "_key_bytes", "_mask", "_room", "_split")

    def __init__(self, key_bytes: int = KEY_BYTES) -> None:
        self._key_bytes = key_bytes
        self._buckets = [b""]
        self._count = 0
        self._room = _KEYS_PER_BUCKET  # the number of keys before the next split
        self._depth = 0  # leading bits that select the bucket
        self._mask = 0  # with that number of bits
        self._split = 0  # the buckets before it are split: one more bit selects theirs

    def __len__(self) -> int:
        return self._count

    def get(self, key: bytes) -> int | None:
        (leading,) = _U32.unpack_from(key)
        depth, place = self._depth, leading & self._mask
        if place < self._split:
            depth, place = depth + 1, leading & (self._mask << 1 | 1)
        bucket, kept = self._buckets[place], key[depth >> 3 :]
        at = bucket.rfind(kept)
        if at < 0:
            return None
        width = len(kept)
        if at % (width + _VALUE_BYTES):
            at = _whole(bucket, kept, at)
        return _U32.unpack_from(bucket, at + width)[0] if at >= 0 else None

    def add(self, text: str) -> bool:
        """Remember an id; False for one that was remembered before."""
        key = key_of(text)
        if self.get(key) is not None:
            return False
        self.enter(key, 1)
        return True

    def put(self, key: bytes, value: int) -> None:
        (leading,) = _U32.unpack_from(key)
        depth, place = self._depth, leading & self._mask
        if place < self._split:
            depth, place = depth + 1, leading & (self._mask << 1 | 1)
        bucket, kept = self._buckets[place], key[depth >> 3 :]
        at = bucket.rfind(kept)
        if at >= 0 and (at := _whole(bucket, kept, at)) >= 0:
            end = at + len(kept)
            self._buckets[place] = bucket[:end] + _U32.pack(value) + bucket[end + _VALUE_BYTES :]
        else:
            self.enter(key, value)

    def enter(self, key: bytes, value: int) -> None:
        """Put a key that is not in the index."""
        (leading,) = _U32.unpack_from(key)
        depth, place = self._depth, leading & self._mask
        if place < self._split:
            depth, place = depth + 1, leading & (self._mask << 1 | 1)
        self._buckets[place] += key[depth >> 3 :] + _U32.pack(value)
        self._count += 1
        if self._count > self._room:
            self._split_next()

    def _split_next(self) -> None:
        """Split a bucket by one more leading bit into the keys that stay and the keys of a new bucket."""
        left_out, bit = divmod(self._depth, _BYTE_BITS)
        bucket, width, bit = self._buckets[self._split], self._key_bytes - left_out + _VALUE_BYTES, 1 << bit
        also_left_out = (self._depth + 1) // _BYTE_BITS - left_out
        halves: tuple[list[bytes], list[bytes]] = ([], [])
        for at in range(0, len(bucket), width):
            halves[1 if bucket[at] & bit else 0].append(bucket[at + also_left_out : at + width])
        self._buckets[self._split] = b"".join(halves[0])
        self._buckets.append(b"".join(halves[1]))
        self._see_fill()

    def _see_fill(self) -> None:
        """Derive the number of leading bits from the number of buckets."""
        self._room = _KEYS_PER_BUCKET * len(self._buckets)
        self._depth = len(self._buckets).bit_length() - 1
        self._mask = (1 << self._depth) - 1
        self._split = len(self._buckets) - (1 << self._depth)

    def dump(self) -> list[bytes]:
        return list(self._buckets)

    def load(self, dumped: list[bytes]) -> None:
        self._buckets = list(dumped)
        self._see_fill()
        self._count = sum(len(bucket) // self._record_bytes(place) for place, bucket in enumerate(self._buckets))

    def _record_bytes(self, place: int) -> int:
        depth = self._depth + (place < self._split or place > self._mask)
        return self._key_bytes - depth // _BYTE_BITS + _VALUE_BYTES


def _whole(bucket: bytes, kept: bytes, at: int) -> int:
    """The start of the key found at ``at`` or before; -1 when the match only spans two keys."""
    record_bytes = len(kept) + _VALUE_BYTES
    while at > 0 and at % record_bytes:
        at = bucket.rfind(kept, 0, at + len(kept) - 1)
    return at


class _Numbers(dict[str | None, int]):
    """The numbers of short strings: a string that is looked up for the first time gets the next one."""

    __slots__ = ("texts",)

    def __init__(self, texts: list[str | None]) -> None:
        super().__init__((text, number) for number, text in enumerate(texts))
        self.texts = texts

    def __missing__(self, text: str) -> int:
        if len(self.texts) > StringTable.LIMIT:
            return 0
        number = self[text] = len(self.texts)
        self.texts.append(text)
        return number


class StringTable:
    """Short strings by number, in the order in which they were first seen; 0 stands for None.

    A program may use at most 65,535 different strings; later ones are read as None.

    >>> words = StringTable()
    >>> words.number("ach"), words.number("wire"), words.number("ach"), words.number(None)
    (1, 2, 1, 0)
    >>> words.text(2)
    'wire'
    """

    LIMIT: Final = 65_535

    __slots__ = ("number", "texts")

    def __init__(self) -> None:
        self.load([None])

    def text(self, number: int) -> str | None:
        return self.texts[number]

    def dump(self) -> list[str | None]:
        return self.texts

    def load(self, dumped: list[str | None]) -> None:
        self.texts = dumped
        self.number = _Numbers(dumped).__getitem__  # a method of C: it is called four times an event


def sliced(items: Iterable[Any]) -> Iterator[list[Any]]:
    """``AT_ONCE`` of the items at a time; nothing for none."""
    rest = iter(items)
    while items_at_once := list(islice(rest, AT_ONCE)):
        yield items_at_once


def in_slices(part: str, items: Iterable[Any]) -> Iterator[Slice]:
    """The same, each with the name of its part."""
    return ((part, each) for each in sliced(items))
