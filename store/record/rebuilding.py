"""The chains during a rebuild of DuckDB: a fact in a chain's file gets exactly its place in the file.

The log has the facts, the files their order. A fact after the end of its file, which a crash can leave, is linked
there. The files are only read here; ``ChainWriter.open`` completes them after a successful rebuild.

Errors  ``StartupError``, naming file and seq, for a file without a valid chain, or that contradicts the log
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from clearhold.features.core.canonical import link_hash
from clearhold.features.core.rows.record import ChainFactRow
from clearhold.store.errors import StartupError
from clearhold.store.record.chain import EMPTY, ChainKey, ChainWriter, Head, link_of
from clearhold.store.record.chain_file import ChainFile, ChainLine, chain_files
from clearhold.store.record.rows import RecordChainRow

_CHANGED: Final = "One of the two was changed, or the log was recorded by another version."

FactKey = tuple[str, str, int, int, str]
"""Tenant id, chain, shard, offset and id of a fact."""


class _Place(NamedTuple):
    seq: int
    prev_hash: str | None
    hash: str


class RebuildingChains(ChainWriter):
    """Takes facts shard by shard, in whatever order the shards are replayed."""

    def open(self) -> None:
        """Read every file whole, checking each link."""
        self._heads: dict[ChainKey, Head] = {}
        self._places: dict[FactKey, _Place] = {}
        self._file_sizes: dict[ChainKey, int] = {}
        for file in chain_files(self._folder):
            file.cut_torn_line()
            head = EMPTY
            for _, line in file.lines():
                head = self._take(file, line, head)
            self._heads[file.tenant_id, file.chain] = head
            self._file_sizes[file.tenant_id, file.chain] = head.size

    def rows_of(self, facts: Sequence[ChainFactRow]) -> list[RecordChainRow]:
        heads = dict(self._heads)
        rows = []
        for fact in facts:
            key = (fact.tenant_id, fact.chain)
            place = self._places.get(_key_of(fact))
            if place is None:
                row = link_of(fact, heads.get(key, EMPTY))
                heads[key] = Head(row.seq + 1, row.hash)
            else:
                row = link_of(fact, Head(place.seq, place.prev_hash))
                if row.hash != place.hash:
                    path = ChainFile(self._folder, *key).path
                    raise StartupError(f"{path} differs from the log at seq {place.seq}. {_CHANGED}")
            rows.append(row)
        return rows

    def settle(self, rows: Sequence[RecordChainRow]) -> None:
        for row in rows:
            key = (row.tenant_id, row.chain)
            if row.seq >= self._file_sizes.get(key, 0):
                self._heads[key] = Head(row.seq + 1, row.hash)
            else:
                del self._places[_key_of(row)]

    def facts_of(self, is_lost: Callable[[int, int], bool]) -> list[ChainFactRow]:
        """The facts of links whose log entries are lost; by shard and offset."""
        return [
            ChainFactRow(
                tenant_id=file.tenant_id,
                program_id=line.program_id,
                chain=line.chain,
                id=line.id,
                shard=line.shard,
                offset=line.offset,
                body=bytes(line.body).decode(),
                created_at=line.created_at_us,
            )
            for file in chain_files(self._folder)
            for _, line in file.lines()
            if is_lost(line.shard, line.offset) and _line_key(file, line) in self._places
        ]

    def close(self) -> None:
        """After the replay of all entries: every link of the files must have been placed."""
        for (tenant_id, chain, *_), place in self._places.items():
            path = ChainFile(self._folder, tenant_id, chain).path
            raise StartupError(f"{path} holds seq {place.seq}, to which no entry of the log leads. {_CHANGED}")

    def _take(self, file: ChainFile, line: ChainLine, head: Head) -> Head:
        hash_ = link_hash(head.hash, bytes(line.body))
        if (line.chain, line.seq, line.prev_hash, line.hash) != (file.chain, head.size, head.hash, hash_):
            raise StartupError(f"{file.path} is damaged: it breaks at seq {head.size}.")
        place = _Place(line.seq, line.prev_hash, line.hash)
        self._places[_line_key(file, line)] = place
        return Head(head.size + 1, hash_)


def _line_key(file: ChainFile, line: ChainLine) -> FactKey:
    return file.tenant_id, file.chain, line.shard, line.offset, line.id


def _key_of(fact: ChainFactRow | RecordChainRow) -> FactKey:
    return fact.tenant_id, fact.chain, fact.shard, fact.offset, fact.id
