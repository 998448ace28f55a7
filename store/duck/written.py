"""How many commits of this process have written each table, and each program's rows of it, of all its databases
together.

All rows are written by commits of ``BatchWriter``, and no other process writes the file.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

EVERY: Final = None
"""Rows of all programs, or of none."""

_COMMITS: Final = Counter[tuple[str, str | None]]()
_OF_EVERY: Final = Counter[str]()


def wrote(tables: Mapping[str, Iterable[str] | None]) -> None:
    """A commit wrote rows of these programs, by table. Called when it has ended, also by an error."""
    for table, programs in tables.items():
        _COMMITS[table, None] += 1
        if programs is EVERY:
            _OF_EVERY[table] += 1
        else:
            for program_id in programs:
                _COMMITS[table, program_id] += 1


def commits_of(tables: Sequence[str], programs: Sequence[str] | None = EVERY) -> tuple[int, ...]:
    """The numbers of commits that wrote rows of these programs, for each of the tables."""
    if programs is EVERY:
        return tuple(_COMMITS[table, None] for table in tables)
    return tuple(_OF_EVERY[table] + sum(_COMMITS[table, each] for each in programs) for table in tables)
