"""The transfers that each counted rule matched before: a rule that logs, or one in testing.

A rule is known by its digest, so that a changed text is counted from zero. The matches of a rule are forgotten when it
is no longer in force in that mode: it can then only return with a new start.

Unit    rows of the table of transfers
Cost    four bytes for a transfer that matches at landing, with the highest row so far, as most do; some sixty bytes
        for one that first matches at a change
"""

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator
from typing import Any, Final

from clearhold.features.core.rules import RuleMode
from clearhold.features.windows.id_index import in_slices

_ROWS_AT_ONCE: Final = 16_384


class RuleMatches:
    """Rows that matched at landing are sorted; rows that first matched at a change are beside them."""

    __slots__ = ("_later", "_rows")

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        self._later: dict[str, set[int]] = {}

    def add(self, mode: RuleMode, sha256: str, row: int) -> bool:
        """Remember a match; False when the rule matched the transfer in this mode before."""
        key = _key(mode, sha256)
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

    def keep(self, mode: RuleMode, hashes: Collection[str]) -> None:
        """Forget the matches in a mode of all rules except these, which are in force now."""
        kept = {_key(mode, sha256) for sha256 in hashes}
        for key in [key for key in self._rows if key.startswith(f"{mode}:") and key not in kept]:
            del self._rows[key]
            self._later.pop(key, None)

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


def _key(mode: RuleMode, sha256: str) -> str:
    return f"{mode}:{sha256}"
