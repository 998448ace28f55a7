"""Rows of whole numbers that take no more bytes than their numbers need.

The newest rows stand in a block whose numbers have eight bytes each. When the block is full, each of its columns
becomes distances from its smallest number, in as few bytes as the largest distance needs. A number that is changed
later and does not fit makes its column wider, in that block alone.

Unit    numbers of 64 bits with a sign; 1, 2, 4 or 8 bytes a number, and about seven bytes a row for the columns' ends
Cost    reading is two lookups and an addition a number; a full block is measured once
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

BLOCK_BITS: Final = 9
BLOCK_ROWS: Final = 2**BLOCK_BITS
_PLACE: Final = BLOCK_ROWS - 1
_WIDEST: Final = "q"
_WRAP: Final = 2**64 - 1
_CODES: Final = ((2**8, "B"), (2**16, "H"), (2**32, "I"), (2**64, "Q"))

Numbers = npt.NDArray[np.int64]
DumpedBlock = tuple[list[int], list[str], list[bytes]]
"""Of each column its base, its type and its numbers."""


class NarrowTable:
    """Rows that are numbered as they are added, with a fixed number of columns.

    >>> table = NarrowTable(2)
    >>> for number in range(600):
    ...     _ = table.add((number, 10**15 + number))
    >>> table.read(7), table.number(599, 1)
    ([7, 1000000000000007], 1000000000000599)
    >>> table.write(7, (-5, 2**62))
    >>> table.read(7), table.number(8, 1)
    ([-5, 4611686018427387904], 1000000000000008)
    """

    __slots__ = ("_bases", "_columns", "_count", "_width")

    def __init__(self, width: int) -> None:
        self._width = width
        self._count = 0
        self._bases: list[list[int]] = []  # by block and column
        self._columns: list[list[array[int]]] = []

    def __len__(self) -> int:
        return self._count

    def add(self, numbers: Sequence[int]) -> int:
        """Store a row, and return its number."""
        row = self._count
        if not row & _PLACE:
            if row:
                self._narrow(len(self._columns) - 1)
            self._bases.append([0] * self._width)
            self._columns.append([array(_WIDEST) for _ in range(self._width)])
        for column, number in zip(self._columns[-1], numbers, strict=True):
            column.append(number)
        self._count = row + 1
        return row

    def read(self, row: int) -> list[int]:
        block, place = row >> BLOCK_BITS, row & _PLACE
        return [base + column[place] for base, column in zip(self._bases[block], self._columns[block], strict=True)]

    def number(self, row: int, column: int) -> int:
        """One number of a row."""
        block = row >> BLOCK_BITS
        return self._bases[block][column] + self._columns[block][column][row & _PLACE]

    def write(self, row: int, numbers: Sequence[int]) -> None:
        """Replace a row."""
        block, place = row >> BLOCK_BITS, row & _PLACE
        bases, columns = self._bases[block], self._columns[block]
        for index, number in enumerate(numbers):
            try:
                columns[index][place] = number - bases[index]
            except OverflowError:
                self._widen(block, index, place, number)

    def from_row(self, row: int, columns: Sequence[int]) -> Iterator[tuple[int, list[Numbers]]]:
        """Some columns of the rows from one on, block by block: the first row of each, and its numbers."""
        for block in range(row >> BLOCK_BITS, len(self._columns)):
            first = max(row, block << BLOCK_BITS)
            yield first, [self._numbers(block, column)[first & _PLACE :] for column in columns]

    def _numbers(self, block: int, column: int) -> Numbers:
        """A column of a block, copied."""
        stored, base = self._columns[block][column], self._bases[block][column]
        distances = np.frombuffer(stored, np.dtype(stored.typecode)).astype(np.uint64)
        return (distances + np.uint64(base & _WRAP)).view(np.int64)

    def _narrow(self, block: int) -> None:
        for column in range(self._width):
            self._store(block, column, self._numbers(block, column))

    def _widen(self, block: int, column: int, place: int, number: int) -> None:
        """Change a number to one that the column of the block cannot take."""
        numbers = self._numbers(block, column)
        numbers[place] = number
        self._store(block, column, numbers)

    def _store(self, block: int, column: int, numbers: Numbers) -> None:
        base = int(numbers.min())
        most = int(numbers.max()) - base
        code = next(code for above, code in _CODES if most < above)
        distances = numbers.view(np.uint64) - np.uint64(base & _WRAP)
        self._bases[block][column] = base
        self._columns[block][column] = array(code, distances.astype(np.dtype(code)).tobytes())

    def dump(self) -> Iterator[DumpedBlock]:
        """The blocks, one by one."""
        for bases, columns in zip(self._bases, self._columns, strict=True):
            yield bases, [each.typecode for each in columns], [each.tobytes() for each in columns]

    def load(self, dumped: Any) -> None:
        """Restore one block."""
        bases, codes, columns = dumped
        self._bases.append(bases)
        self._columns.append([array(code, column) for code, column in zip(codes, columns, strict=True)])
        self._count += len(self._columns[-1][0])
