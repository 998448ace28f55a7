"""Choices that follow from a seed: the same seed draws the same values, in every process and on every platform."""

from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

Item = TypeVar("Item")


class Draw:
    """Draws one value after the other."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def between(self, low: int, high: int) -> int:
        """A value from ``low`` to ``high``, both included."""
        self._count += 1
        digest = sha256(f"{self._seed}/{self._count}".encode()).digest()
        return low + int.from_bytes(digest[:8], "big") % (high - low + 1)

    def one_of(self, items: Sequence[Item]) -> Item:
        return items[self.between(0, len(items) - 1)]
