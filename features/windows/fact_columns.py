"""Facts with amounts as two columns, instants and running sums of the amounts; few facts as one string of bytes.

Most parties have a handful of transfers. Two arrays take 224 bytes for one or two of them, such a string 49 to 65.

The sums of an array take four bytes each, until one of them passes $42.9 million.

Unit   instants in microseconds, amounts in cents; running sums wrap at 2^64
Limit  a string has at most ``MOST_FEW`` facts; longer columns are arrays
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import MutableSequence, Sequence
from struct import Struct
from typing import Final

import numpy as np

MOST_FEW: Final = 4
NO_FACTS: Final = b""
WRAP: Final = 2**64 - 1
_SHORT_TAIL: Final = 64
_NARROW: Final = "I"
_WIDE: Final = "Q"
_MOST_NARROW: Final = 2**32 - 1
_FACT_BYTES: Final = 16  # an instant and a sum
_COUNTS: Final = range(MOST_FEW + 1)
_PACK: Final = [Struct(f"={n}q{n}Q").pack for n in _COUNTS]  # all instants, then all sums: two arrays one by one
INSTANTS: Final = {n * _FACT_BYTES: Struct(f"={n}q").unpack_from for n in _COUNTS}  # by the string's length
_SUMS: Final = {n * _FACT_BYTES: Struct(f"={8 * n}x{n}Q").unpack_from for n in _COUNTS}

Stored = tuple["array[int] | None", "array[int] | bytes"]
"""Two arrays, or None and the string of both."""


def stored(times: Sequence[int], sums: Sequence[int]) -> Stored:
    """Two columns in the form for their length.

    >>> stored([10, 20], [500, 1_200])[0], columns_of(stored([10, 20], [500, 1_200])[1])
    (None, ((10, 20), (500, 1200)))
    """
    if len(times) <= MOST_FEW:
        return None, _PACK[len(times)](*times, *sums)
    return array("q", times), array(_NARROW if max(sums) <= _MOST_NARROW else _WIDE, sums)


def from_bytes(times: bytes, sums: bytes) -> Stored:
    if len(times) + len(sums) <= MOST_FEW * _FACT_BYTES:
        return None, times + sums
    totals = np.frombuffer(sums, np.uint64)
    if totals.max() <= _MOST_NARROW:
        return array("q", times), array(_NARROW, totals.astype(np.uint32).tobytes())
    return array("q", times), array(_WIDE, sums)


def to_bytes(times: "array[int] | None", sums: "array[int] | bytes") -> tuple[bytes, bytes]:
    """The bytes of two arrays with eight bytes a number, in either form."""
    if times is None and isinstance(sums, bytes):
        middle = len(sums) // 2
        return sums[:middle], sums[middle:]
    return bytes(times or b""), np.asarray(sums, np.uint64).tobytes()


def columns_of(few: "bytes | array[int]") -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The two columns of a string."""
    size = len(few)
    return INSTANTS[size](few), _SUMS[size](few)


def with_fact(few: "bytes | array[int]", at: int, cents: int) -> tuple[int, "array[int] | None", "array[int] | bytes"]:
    """A string with one more fact: its index, and both columns in the form for their length.

    >>> with_fact(NO_FACTS, 10, 500)[0], columns_of(with_fact(NO_FACTS, 10, 500)[2])
    (0, ((10,), (500,)))
    """
    times, sums = columns_of(few)
    n = len(times)
    if n < MOST_FEW and (not n or at > times[-1]):
        total = (sums[-1] + cents if n else cents) & WRAP
        return n, None, _PACK[n + 1](*times, at, *sums, total)
    all_times, all_sums = list(times), list(sums)
    index = enter(all_times, all_sums, at, cents)
    return (index, *stored(all_times, all_sums))


def with_room(sums: "array[int]", cents: int) -> "array[int]":
    """The running sums, or the same in eight bytes each where one more amount does not fit.

    >>> with_room(array("I", [500]), 700).typecode, with_room(array("I", [500]), 2**32).typecode
    ('I', 'Q')
    """
    if (sums[-1] if sums else 0) + cents > _MOST_NARROW and sums.typecode == _NARROW:
        return array(_WIDE, sums)
    return sums


def amount_at(sums: Sequence[int], index: int) -> int:
    """The amount behind a running sum."""
    return (sums[index] - (sums[index - 1] if index else 0)) & WRAP


def enter(times: MutableSequence[int], sums: MutableSequence[int], at: int, cents: int) -> int:
    """Insert a fact after all older ones, and of one instant after all smaller or equal ones; returns its index."""
    index = len(times)
    if index and (at < times[-1] or (at == times[-1] and cents < amount_at(sums, index - 1))):
        first, last = bisect_left(times, at), bisect_right(times, at)
        index = bisect_right(range(last), cents, first, last, key=lambda place: amount_at(sums, place))
    times.insert(index, at)
    sums.insert(index, ((sums[index - 1] if index else 0) + cents) & WRAP)
    if index + 1 < len(sums):
        _shift(sums, index + 1, cents)
    return index


def leave(times: MutableSequence[int], sums: MutableSequence[int], index: int, cents: int) -> None:
    """Take out the fact at an index, which is one of ``cents``."""
    del times[index]
    del sums[index]
    _shift(sums, index, -cents)


def _shift(sums: MutableSequence[int], index: int, cents: int) -> None:
    """Move the running sums from ``index`` on."""
    if len(sums) - index <= _SHORT_TAIL:
        for position in range(index, len(sums)):
            sums[position] = (sums[position] + cents) & WRAP
    else:
        totals = np.asarray(sums)  # of the array itself
        totals[index:] += np.uint64(cents & WRAP)
