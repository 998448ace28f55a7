"""Rows of whole numbers that take only the bytes that their numbers need.

The newest rows are in a block with eight bytes a number. When the block is full, each column becomes distances from its
smallest number, in as few bytes as the largest distance needs. A later change that does not fit widens its column, in
that block alone.

Unit    numbers of 64 bits with a sign; 1, 2, 4 or 8 bytes a number, and about three bytes a row for its block
Cost    reading a row is one unpacking and an addition a number; a full block is measured once
"""

import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import add, sub
from typing import Any, Final

import numpy as np
import numpy.typing as npt

BLOCK_BITS: Final = 9
_PLACE: Final = 2**BLOCK_BITS - 1
_WIDEST: Final = "q"
_WRAP: Final = 2**64 - 1
_ABOVE: Final = {"B": 2**8, "H": 2**16, "I": 2**32, "Q": 2**64}  # the largest distance of each type
_LAYOUTS_CACHED: Final = 4_096
_MANY: Final = 16  # rows of a block: from here on reading them together takes less time
_WHOLE: Final = slice(None)

Numbers = npt.NDArray[np.int64]
Unpack = Callable[[bytearray, int], tuple[Any, ...]]
DumpedBlock = tuple[bytes, str, bytes]
"""The base of each column, the types of all columns, and the rows."""


@lru_cache(_LAYOUTS_CACHED)
def _reader(codes: str, offset: int = 0) -> Unpack:
    """A reader of some columns of a row, ``offset`` bytes after its start."""
    return struct.Struct(f"<{offset}x{codes}").unpack_from


class _Layout:
    """The layout of a block's rows in bytes."""

    __slots__ = ("codes", "columns", "head", "pack", "pack_into", "size", "unpack_from")

    def __init__(self, codes: str, head: int) -> None:
        row = struct.Struct(f"<{codes}")
        self.codes, self.size = codes, row.size
        self.pack, self.pack_into, self.unpack_from = row.pack, row.pack_into, row.unpack_from
        self.head = _reader(codes[:head])
        offsets = [struct.calcsize(f"<{codes[:place]}") for place in range(len(codes))]
        self.columns = tuple(_reader(code, offset) for code, offset in zip(codes, offsets, strict=True))


_layout: Final = lru_cache(_LAYOUTS_CACHED)(_Layout)


class NarrowTable:
    """Rows numbered as they are added, with a fixed number of columns; the head's columns are read together.

    >>> table = NarrowTable(2, head=1)
    >>> for number in range(600):
    ...     _ = table.add((number, 10**15 + number))
    >>> table.read(7), table.head(7), table.number(599, 1)
    ([7, 1000000000000007], [7], 1000000000000599)
    >>> table.write(7, (-5, 2**62))
    >>> table.read(7), table.number(8, 1)
    ([-5, 4611686018427387904], 1000000000000008)
    >>> table.gather(np.array([599, 8]), 2).tolist()
    [[599, 8], [1000000000000599, 1000000000000008]]
    """

    __slots__ = ("_bases", "_blocks", "_count", "_head", "_layouts", "_open")

    def __init__(self, width: int, *, head: int) -> None:
        self._head = head
        self._open = _layout(_WIDEST * width, head)  # of the block that is not full
        self._count = 0
        self._bases: list[array[int]] = []  # by block and column
        self._layouts: list[_Layout] = []
        self._blocks: list[bytearray] = []

    def __len__(self) -> int:
        return self._count

    def add(self, numbers: Sequence[int]) -> int:
        """Store a row, and return its number."""
        row = self._count
        if not row & _PLACE:
            if row:
                self._narrow(len(self._blocks) - 1)
            self._bases.append(array(_WIDEST, [0]) * len(self._open.codes))
            self._layouts.append(self._open)
            self._blocks.append(bytearray())
        self._blocks[-1] += self._open.pack(*numbers)
        self._count = row + 1
        return row

    def read(self, row: int) -> list[int]:
        block = row >> BLOCK_BITS
        layout = self._layouts[block]
        numbers = layout.unpack_from(self._blocks[block], (row & _PLACE) * layout.size)
        return list(map(add, self._bases[block], numbers))

    def head(self, row: int) -> list[int]:
        """The numbers of a row's first columns."""
        block = row >> BLOCK_BITS
        layout = self._layouts[block]
        return list(map(add, self._bases[block], layout.head(self._blocks[block], (row & _PLACE) * layout.size)))

    def lead(self, row: int, width: int) -> list[int]:
        """The numbers of a row's first ``width`` columns."""
        block = row >> BLOCK_BITS
        layout = self._layouts[block]
        distances = _reader(layout.codes[:width])(self._blocks[block], (row & _PLACE) * layout.size)
        return list(map(add, self._bases[block], distances))

    def number(self, row: int, column: int) -> int:
        """One number of a row."""
        block = row >> BLOCK_BITS
        layout = self._layouts[block]
        distance: int = layout.columns[column](self._blocks[block], (row & _PLACE) * layout.size)[0]
        return self._bases[block][column] + distance

    def gather(self, rows: Numbers, width: int) -> Numbers:
        """The first ``width`` columns of several rows; rows of one block that follow each other are read together."""
        count = len(rows)
        blocks = rows >> BLOCK_BITS
        ends = np.flatnonzero(blocks[1:] != blocks[:-1]) + 1 if count >= _MANY else ()
        if count < _MANY * (len(ends) + 1):
            return self._gather_each(rows.tolist(), width)
        gathered = np.empty((width, count), np.int64)
        for first, last in pairwise((0, *ends, count)):
            block, places = int(blocks[first]), rows[first:last] & _PLACE
            for column in range(width):
                gathered[column, first:last] = self._numbers(block, column, places)
        return gathered

    def _gather_each(self, rows: list[int], width: int) -> Numbers:
        gathered = array(_WIDEST)
        for row in rows:
            gathered.extend(self.lead(row, width))
        return np.frombuffer(gathered, np.int64).reshape(-1, width).T

    def write(self, row: int, numbers: Sequence[int]) -> None:
        """Replace a row."""
        block = row >> BLOCK_BITS
        layout = self._layouts[block]
        try:
            distances = map(sub, numbers, self._bases[block])
            layout.pack_into(self._blocks[block], (row & _PLACE) * layout.size, *distances)
        except struct.error:
            if layout is self._open:  # 64 bits are too few
                raise
            self._widen(block, row & _PLACE, numbers)

    def from_row(self, row: int, columns: Sequence[int]) -> Iterator[tuple[int, list[Numbers]]]:
        """Some columns of the rows from one on, block by block: the first row of each, and its numbers."""
        for block in range(row >> BLOCK_BITS, len(self._blocks)):
            first = max(row, block << BLOCK_BITS)
            yield first, [self._numbers(block, column, slice(first & _PLACE, None)) for column in columns]

    def _numbers(self, block: int, column: int, places: Numbers | slice = _WHOLE) -> Numbers:
        """A column of a block, or of some of its places, copied."""
        distances = np.frombuffer(self._blocks[block], _dtype(self._layouts[block].codes))[f"f{column}"][places]
        return (distances.astype(np.uint64) + np.uint64(self._bases[block][column] & _WRAP)).view(np.int64)

    def _narrow(self, block: int) -> None:
        self._store(block, {column: self._numbers(block, column) for column in range(len(self._open.codes))})

    def _widen(self, block: int, place: int, numbers: Sequence[int]) -> None:
        """Replace a row with a number that does not fit into the block."""
        codes, changed = self._layouts[block].codes, dict[int, Numbers]()
        for column, (code, base, number) in enumerate(zip(codes, self._bases[block], numbers, strict=True)):
            if not 0 <= number - base < _ABOVE[code]:
                changed[column] = self._numbers(block, column)
                changed[column][place] = number
        self._store(block, changed)
        layout, bases = self._layouts[block], self._bases[block]
        layout.pack_into(self._blocks[block], place * layout.size, *map(sub, numbers, bases))

    def _store(self, block: int, changed: dict[int, Numbers]) -> None:
        """Replace some columns of a block, in as many bytes as they need."""
        former = np.frombuffer(self._blocks[block], _dtype(self._layouts[block].codes))
        codes, bases = list(self._layouts[block].codes), self._bases[block]
        for column, numbers in changed.items():
            bases[column] = int(numbers.min())
            most = int(numbers.max()) - bases[column]
            codes[column] = next(code for code, above in _ABOVE.items() if most < above)
        self._layouts[block] = _layout("".join(codes), self._head)
        rows = np.empty(len(former), _dtype(self._layouts[block].codes))
        for column in range(len(codes)):
            if column in changed:
                rows[f"f{column}"] = changed[column].view(np.uint64) - np.uint64(bases[column] & _WRAP)
            else:
                rows[f"f{column}"] = former[f"f{column}"]
        self._blocks[block] = bytearray(rows.tobytes())

    def dump(self) -> Iterator[DumpedBlock]:
        for bases, layout, block in zip(self._bases, self._layouts, self._blocks, strict=True):
            yield bases.tobytes(), layout.codes, bytes(block)

    def load(self, dumped: Any) -> None:
        """Restore one block."""
        bases, codes, rows = dumped
        self._bases.append(array(_WIDEST, bases))
        self._layouts.append(_layout(codes, self._head))
        self._blocks.append(bytearray(rows))
        self._count += len(rows) // self._layouts[-1].size


@lru_cache(_LAYOUTS_CACHED)
def _dtype(codes: str) -> "np.dtype[Any]":
    """The rows of a block as numpy reads them."""
    return np.dtype([(f"f{column}", np.dtype(code).str) for column, code in enumerate(codes)])
