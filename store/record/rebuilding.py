"""The chains of a database that is rebuilt: each fact gets the place that it had.

The log has the facts, the chains' files their order, and the log of links that of later ones: a fact that a file or the
log of links has gets exactly its place there. A fact of neither, which a crash can leave, is linked after the end, and
stated in the log of links where there is one. The files are only read; the next ``open`` of a writer completes them.

Errors  ``StartupError`` for a file with an invalid link, or that differs from the log; ``LinkError`` likewise
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import duckdb

from clearhold.features.core.canonical import link_hash
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.store.errors import StartupError
from clearhold.store.record.chain import EMPTY, ChainKey, ChainWriter, FactKey, Head, fact_key, link_of
from clearhold.store.record.chain_file import ChainFile, ChainLine, RecordChainRow, chain_files, cut_torn_line
from clearhold.store.record.link_log import LinkLog
from clearhold.store.record.places import LinkError, PlacedLink

_LINKS_AT_ONCE: Final = 5_000
_CHANGED: Final = "One of the two was changed, or the log was recorded by another version."


class _Place(NamedTuple):
    seq: int
    prev_hash: str | None
    hash: str


class RebuildingChains(ChainWriter):
    """Takes facts shard by shard, in whatever order the shards are replayed."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path, link_log: LinkLog | None = None) -> None:
        """``link_log`` is there for a log with replicas, which this process owns."""
        super().__init__(connection, folder)
        self._link_log = link_log

    def open(self) -> None:
        """Read every file whole, checking each link."""
        self._heads: dict[ChainKey, Head] = {}
        self._places: dict[FactKey, _Place] = {}
        self._file_sizes: dict[ChainKey, int] = {}
        for file in chain_files(self._folder):
            cut_torn_line(file.path)
            head = EMPTY
            for _, line in file.lines():
                head = self._take(file, line, head)
            self._heads[file.tenant_id, file.chain] = head
            self._file_sizes[file.tenant_id, file.chain] = head.size
        if self._link_log is not None:
            self._agree(self._link_log)

    def rows_of(self, facts: Sequence[ChainFactRow]) -> list[RecordChainRow]:
        if self._link_log is not None:
            known = {fact_key(fact) for fact in facts} & self._places.keys()
            later = self._link_log.rows_of([fact for fact in facts if fact_key(fact) not in known])
            rows = {fact_key(row): row for row in (*later, *self._linked(f for f in facts if fact_key(f) in known))}
            return [rows[fact_key(fact)] for fact in facts]
        return self._linked(facts)

    def _linked(self, facts: Iterable[ChainFactRow]) -> list[RecordChainRow]:
        heads = dict(self._heads)
        rows = []
        for fact in facts:
            key = (fact.tenant_id, fact.chain)
            place = self._places.get(fact_key(fact))
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
                if self._link_log is not None:
                    self._link_log.settle([fact_key(row)])
                self._heads[key] = Head(row.seq + 1, row.hash)
            else:
                del self._places[fact_key(row)]

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
        """After the replay of all entries: every link of the files and of the log of links must have been placed.

        A process that does not own the log reads links meanwhile whose entries come after its replay.
        """
        for (tenant_id, chain, *_), place in self._places.items():
            path = ChainFile(self._folder, tenant_id, chain).path
            raise StartupError(f"{path} holds seq {place.seq}, to which no entry of the log leads. {_CHANGED}")
        if self._link_log is None or not self._link_log.is_owner:
            return
        for (tenant_id, chain, *_), link in self._link_log.waiting():
            raise LinkError(
                f"The log of links has seq {link.seq} of the chain {chain} of tenant {tenant_id}, to which no entry of "
                f"the log leads. {_CHANGED}"
            )

    def _agree(self, link_log: LinkLog) -> None:
        """Compare the files with the log of links, and state there the links that it lacks."""
        link_log.open(self._heads)
        for key, base in link_log.base.items():
            if self._file_sizes.get(key, 0) < base.size:
                path = ChainFile(self._folder, *key).path
                raise LinkError(
                    f"{path} ends before seq {base.size - 1}, behind which the log of links begins, so the order of "
                    "later links is not known here. Put the file back, or join again from a node that has it."
                )
        for (tenant_id, chain, *_), place in self._places.items():
            base = link_log.base.get((tenant_id, chain), EMPTY)
            if place.seq == base.size - 1 and place.hash != base.hash:
                self._refuse((tenant_id, chain), place.seq)
        in_files: list[FactKey] = []
        for fact, stated in link_log.waiting():
            key = (fact[0], fact[1])
            if stated.seq < self._file_sizes.get(key, 0):
                own = self._places.get(fact)
                if own is None or (own.seq, own.hash) != (stated.seq, stated.hash):
                    self._refuse(key, stated.seq)
                in_files.append(fact)
        link_log.settle(in_files)
        for file in chain_files(self._folder):
            known = link_log.heads.get((file.tenant_id, file.chain), EMPTY).size
            lines = (line for _, line in file.lines() if line.seq >= known)
            while links := [_placed(file, line) for line in islice(lines, _LINKS_AT_ONCE)]:
                link_log.append(links)
                link_log.settle(_line_key_of(link) for link in links)

    def _refuse(self, key: ChainKey, seq: int) -> NoReturn:
        raise LinkError(f"{ChainFile(self._folder, *key).path} differs from the log of links at seq {seq}. {_CHANGED}")

    def _take(self, file: ChainFile, line: ChainLine, head: Head) -> Head:
        hash_ = link_hash(head.hash, bytes(line.body))
        if (line.chain, line.seq, line.prev_hash, line.hash) != (file.chain, head.size, head.hash, hash_):
            raise StartupError(f"{file.path} is damaged: it breaks at seq {head.size}.")
        place = _Place(line.seq, line.prev_hash, line.hash)
        self._places[_line_key(file, line)] = place
        return Head(head.size + 1, hash_)


def _placed(file: ChainFile, line: ChainLine) -> PlacedLink:
    return PlacedLink(file.tenant_id, file.chain, line.seq, line.shard, line.offset, line.id, line.hash)


def _line_key_of(link: PlacedLink) -> FactKey:
    return link.tenant_id, link.chain, link.shard, link.offset, link.id


def _line_key(file: ChainFile, line: ChainLine) -> FactKey:
    return file.tenant_id, file.chain, line.shard, line.offset, line.id
