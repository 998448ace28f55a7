"""How many commits of this process have written each table, of all its databases together.

All rows are written by commits of ``BatchWriter`` and deleted by ``CommittedRows``, and no other process writes the
file. Signed checkpoints alone are inserted beside them, and their reads are never kept.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

_COMMITS: Final = Counter[str]()


def wrote(tables: Iterable[str]) -> None:
    """A commit or a deletion wrote these tables. Called when it has ended, also by an error."""
    for table in tables:
        _COMMITS[table] += 1


def commits_of(tables: Iterable[str]) -> tuple[int, ...]:
    """The numbers of commits that wrote each of these tables."""
    return tuple(_COMMITS[table] for table in tables)
