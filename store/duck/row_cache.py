"""Rows in memory by their key: the newest used of them, for rows that never change."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Row = TypeVar("Row")


class RowCache(Generic[Key, Row]):
    """Thread-safe. A key names one version of a row, so a row in memory is never out of date."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._rows: OrderedDict[Key, Row] = OrderedDict()

    def read(self, keys: Sequence[Key], missing: Callable[[list[Key]], dict[Key, Row]]) -> list[Row]:
        """The rows of these keys, in their order; ``missing`` reads the others, without the lock."""
        with self._lock:
            rows = {key: self._rows[key] for key in keys if key in self._rows}
            for key in rows:
                self._rows.move_to_end(key)
        wanted = [key for key in dict.fromkeys(keys) if key not in rows]
        if wanted:
            further = missing(wanted)
            rows |= further
            with self._lock:
                self._rows |= further
                while len(self._rows) > self._most:
                    self._rows.popitem(last=False)
        return [rows[key] for key in keys]
