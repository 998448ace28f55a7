"""The parties that a commit has rows of: candidates for a first fetch.

The committer's thread offers, the event loop takes, and neither waits for the other. What does not fit is counted and
left to the sweep.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from features.core.directory import DirectoryKind, PartyKey, kind_of_counterparty
from features.core.rows.parties import AccountRow, CounterpartyRow, DirectoryRow, EntityRow
from store.duck.writer import Rows

MAX_CANDIDATES: Final = 10_000


class FirstSeen:
    """``has_key`` says whether a tenant has a key to the bank's API."""

    def __init__(self, *, has_key: Callable[[str], bool]) -> None:
        self._has_key = has_key
        self._candidates: deque[PartyKey] = deque()
        self.overflowed = 0

    def __len__(self) -> int:
        return len(self._candidates)

    def offer(self, rows: Rows) -> None:
        """Take the parties of a commit, without those whose fetch it records."""
        fetched = {
            (row.tenant_id, row.program_id, row.kind, row.id)
            for row in rows.get(DirectoryRow, ())
            if isinstance(row, DirectoryRow)
        }
        for key in dict.fromkeys(_parties_in(rows)):
            if not self._has_key(key.tenant_id) or key in fetched:
                continue
            if len(self._candidates) >= MAX_CANDIDATES:
                self.overflowed += 1
            else:
                self._candidates.append(key)

    def take(self, limit: int) -> list[PartyKey]:
        """The oldest candidates, each once."""
        count = min(limit, len(self._candidates))
        return list(dict.fromkeys(self._candidates.popleft() for _ in range(count)))


def _parties_in(rows: Rows) -> Iterator[PartyKey]:
    for kind in (AccountRow, EntityRow, CounterpartyRow):
        for row in rows.get(kind, ()):
            match row:
                case AccountRow():
                    yield PartyKey(row.tenant_id, row.program_id, DirectoryKind.ACCOUNT, row.id)
                case EntityRow():
                    yield PartyKey(row.tenant_id, row.program_id, DirectoryKind.ENTITY, row.id)
                case CounterpartyRow():
                    yield PartyKey(row.tenant_id, row.program_id, kind_of_counterparty(row.id), row.id)
                case _:
                    pass
