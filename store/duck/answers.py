"""Answers of statements in memory, each until a commit writes a table that the statement reads.

An answer depends on the statement, its parameters and the committed rows of the tables that it names. A workspace asks
30 times, most of a statement's time is its plan, and the tables of alerts and decisions are written at the pace of
people; so most answers are still right when the next person asks.

Unit    sizes in bytes of values, without the overhead of objects
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from threading import Lock
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import duckdb

from clearhold.store.duck.database import TABLES
from clearhold.store.duck.written import EVERY, commits_of

MOST_BYTES: Final = 32 << 20
MOST_OF_ONE: Final = 256 << 10
_BESIDE_TEXT: Final = 64  # of a value that is no text
_TABLE: Final = re.compile(rf"\b({'|'.join(name for name, _ in TABLES)})(?:_latest)?\b")

_Rows = list[Any]


class _Answer(NamedTuple):
    commits: tuple[int, ...]
    rows: _Rows
    size: int


@lru_cache(maxsize=1_000)
def tables_in(sql: str) -> tuple[str, ...]:
    """The tables that a statement names."""
    return tuple(sorted(set(_TABLE.findall(sql))))


class Answers:
    """Thread-safe. The least used leave first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._lock = most_bytes, Lock()
        self._answers: OrderedDict[tuple[Any, ...], _Answer] = OrderedDict()
        self.size = 0

    def read(
        self,
        sql: str,
        values: Sequence[Any] | Mapping[str, Any],
        run_statement: Callable[[], _Rows],
        *,
        most: int | None = None,
        programs: Sequence[str] | None = EVERY,
    ) -> _Rows:
        """The rows that ``run_statement`` gives, read once until a table of the statement is written; of at most
        ``most`` rows, where it fetches no more, they are another answer. ``programs`` are those whose rows count.
        """
        tables = tables_in(sql)
        commits = commits_of(tables, programs)  # before the rows are read, so that a commit meanwhile counts
        key = (sql, most, _plain(programs), *map(_plain, values.items() if isinstance(values, Mapping) else values))
        with self._lock:
            known = self._answers.get(key)
            if known is not None and known.commits == commits:
                self._answers.move_to_end(key)
                return [*known.rows]
        rows = run_statement()
        size = sum(map(_size, key)) + sum(map(_size, rows))
        if tables and size <= MOST_OF_ONE:
            self._keep(key, _Answer(commits, [*rows], size))
        return rows

    def _keep(self, key: tuple[Any, ...], answer: _Answer) -> None:
        with self._lock:
            former = self._answers.pop(key, None)
            self._answers[key] = answer
            self.size += answer.size - (0 if former is None else former.size)
            while self.size > self._most:
                _, oldest = self._answers.popitem(last=False)
                self.size -= oldest.size


def _plain(value: Any) -> Any:
    """A parameter as a part of a key."""
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _size(value: Any) -> int:
    if isinstance(value, str):
        return _BESIDE_TEXT + len(value)
    if isinstance(value, tuple | list):
        return _BESIDE_TEXT + sum(map(_size, value))
    return _BESIDE_TEXT


_OF_DATABASE: Final = WeakKeyDictionary[duckdb.DuckDBPyConnection, Answers]()
_MAKING: Final = Lock()


def answers_of(database: duckdb.DuckDBPyConnection) -> Answers:
    """Those of this connection, while it lives."""
    with _MAKING:
        present = _OF_DATABASE.get(database)
        if present is None:
            present = _OF_DATABASE[database] = Answers()
        return present
