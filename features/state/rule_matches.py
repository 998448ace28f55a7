"""Which transfers each rule of the bank matched before, by the mode in which it was in force.

Unit    rows of the table of transfers
Cost    four bytes a match: most are of a transfer that just landed, whose row is the highest so far
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Final

from features.core.rules import RuleMode
from features.windows.slices import in_slices

_ROWS_AT_ONCE: Final = 16_384


class RuleMatches:
    """The rows that matched as they landed stand in order; those that matched first when they changed, beside them."""

    __slots__ = ("_later", "_rows")

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        self._later: dict[str, set[int]] = {}

    def add(self, rule_id: str, mode: RuleMode, row: int) -> bool:
        """Remember a match; False when the rule matched the transfer in this mode before."""
        key = f"{mode}:{rule_id}"
        rows = self._rows.get(key)
        if rows is None:
            rows = self._rows[key] = array("I")
        if not rows or row > rows[-1]:
            rows.append(row)
            return True
        if rows[bisect_left(rows, row)] == row or row in self._later.get(key, ()):
            return False
        self._later.setdefault(key, set()).add(row)
        return True

    def dump(self) -> Iterator[tuple[str, Any]]:
        """In parts that ``load`` puts together again."""
        for key, rows in self._rows.items():
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                yield "rows", (key, rows[start : start + _ROWS_AT_ONCE].tobytes())
        yield from in_slices("later", ((key, row) for key, later in self._later.items() for row in sorted(later)))

    def load(self, dumped: Any) -> None:
        part, content = dumped
        if part == "rows":
            key, rows = content
            self._rows.setdefault(key, array("I")).frombytes(rows)
            return
        for key, row in content:
            self._later.setdefault(key, set()).add(row)
