"""The parties in the rows of a commit: candidates for a first fetch.

The committer's thread offers, the event loop takes, and neither waits for the other. Parties beyond the limit are
counted and left to the sweep.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from clearhold.features.core.canonical import is_sandbox_id
from clearhold.features.core.entries.directory import DirectoryKind, PartyKey, kind_of_counterparty
from clearhold.features.core.rows.parties import AccountRow, CounterpartyRow, DirectoryRow, EntityRow
from clearhold.store.tables.row_tables import RowTables

MAX_CANDIDATES: Final = 10_000
_PARTY: Final = ("tenant_id", "program_id", "id")


class FirstSeen:
    """``has_key`` says whether a tenant has a key to the bank's API."""

    def __init__(self, *, has_key: Callable[[str], bool]) -> None:
        self._has_key = has_key
        self._candidates: deque[PartyKey] = deque()
        self.overflowed = 0

    def __len__(self) -> int:
        return len(self._candidates)

    def offer(self, rows: RowTables) -> None:
        """Take the parties of a commit, except those of the sandbox and those whose fetch it records."""
        fetched = set(_cells(rows, DirectoryRow, "tenant_id", "program_id", "kind", "id"))
        for key in dict.fromkeys(_parties_in(rows)):
            if not self._has_key(key.tenant_id) or key in fetched or is_sandbox_id(key.id):
                continue
            if len(self._candidates) >= MAX_CANDIDATES:
                self.overflowed += 1
            else:
                self._candidates.append(key)

    def take(self, limit: int) -> list[PartyKey]:
        """The oldest candidates, each once."""
        count = min(limit, len(self._candidates))
        return list(dict.fromkeys(self._candidates.popleft() for _ in range(count)))


def _parties_in(rows: RowTables) -> Iterator[PartyKey]:
    for row_type, kind in ((AccountRow, DirectoryKind.ACCOUNT), (EntityRow, DirectoryKind.ENTITY)):
        for tenant_id, program_id, party_id in _cells(rows, row_type, *_PARTY):
            yield PartyKey(tenant_id, program_id, kind, party_id)
    for tenant_id, program_id, party_id in _cells(rows, CounterpartyRow, *_PARTY):
        yield PartyKey(tenant_id, program_id, kind_of_counterparty(party_id), party_id)


def _cells(rows: RowTables, row_type: type[msgspec.Struct], *columns: str) -> Iterator[tuple[str, ...]]:
    table = rows.get(row_type.__name__)
    if table is not None:
        yield from zip(*(table.column(name).to_pylist() for name in columns), strict=True)
