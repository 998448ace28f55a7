"""Extends the hash chains: facts become links in the transaction of the rows they are about, then in a file.

fact ─▶ linked to the head of its tenant's chain ─▶ DuckDB, with the log offset ─▶ the chain's file, fsynced ─▶ answered

There is one writer, so chains do not fork. The heads move only when both places hold the links; a file that a crash
left behind is completed from DuckDB. During a rebuild of DuckDB a fact in a chain's file gets exactly its place in the
file: the log has the facts, the files their order. A fact after the end of its file, which a crash can leave, is linked
there. The files are then only read; ``ChainWriter.open`` completes them after a successful rebuild.

Errors  ``StartupError`` when a file and the database or the log differ, or a file has no valid chain, with the file and
        the first seq
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
import structlog

from clearhold.features.core.canonical import Chain, link_hash
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.store.errors import StartupError
from clearhold.store.record.chain_file import ChainFile, ChainLine, RecordChainRow, chain_files, cut_torn_line, line_of
from clearhold.store.tables import row_builder, select_list

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

COMPARED_AT_START_BYTES: Final = 64 << 20
PAGE_LINKS: Final = 5_000
BARE_PAGE_LINKS: Final = 20_000

ChainKey = tuple[str, str]
"""Tenant id and chain."""
BareLink = tuple[int, str, str | None, str]
"""Seq, body, prev_hash and hash."""

_LINK: Final = row_builder(RecordChainRow)
_HEADS: Final = """
    SELECT tenant_id, chain, count(*), max(seq), arg_max(hash, seq) FROM record_chain GROUP BY tenant_id, chain
"""
_LINKS: Final = f"""
    SELECT {select_list(RecordChainRow)} FROM record_chain
    WHERE tenant_id = ? AND chain = ? AND seq >= ? AND seq < ? ORDER BY seq
"""
_BARE_LINKS: Final = """
    SELECT seq, body, prev_hash, hash FROM record_chain
    WHERE tenant_id = ? AND chain = ? AND seq >= ? AND seq < ? ORDER BY seq
"""

log = structlog.get_logger()


class Head(NamedTuple):
    """The end of a chain: its number of links, and the hash of the last one."""

    size: int
    hash: str | None


EMPTY: Final = Head(0, None)


def links_of(
    cursor: duckdb.DuckDBPyConnection, key: ChainKey, first: int, end: int, *, page: int = PAGE_LINKS
) -> Iterator[list[RecordChainRow]]:
    """The stored links with ``first`` <= seq < ``end`` in the order of seq, in pages; holes are simply absent."""
    for at in range(first, end, page):
        result = cursor.execute(_LINKS, [*key, at, min(at + page, end)]).fetchall()
        yield list(map(_LINK, result))


def bare_links_of(
    cursor: duckdb.DuckDBPyConnection, key: ChainKey, first: int, end: int, *, at_once: int
) -> Iterator[list[BareLink]]:
    """As ``links_of``, with only the hashed fields of each link, and ``at_once`` links a page because creating Python
    objects holds up all other threads. A stretch of ``BARE_PAGE_LINKS`` seqs without a link is an empty list.
    """
    for at in range(first, end, BARE_PAGE_LINKS):
        result = cursor.execute(_BARE_LINKS, [*key, at, min(at + BARE_PAGE_LINKS, end)])
        links = result.fetchmany(at_once)
        yield links
        while links:
            links = result.fetchmany(at_once)
            if links:
                yield links


class ChainWriter:
    """Links facts. Used from the thread that commits; ``open`` comes first."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self._connection, self._folder = connection, folder
        self._heads: dict[ChainKey, Head] = {}

    def open(self) -> None:
        """Read the heads from the database, and complete each file from it.

        Also called after a commit whose outcome is unknown.
        """
        with self._connection.cursor() as cursor:
            heads = stored_heads(cursor)
            files = {(file.tenant_id, file.chain): file for file in chain_files(self._folder)}
            for key in sorted(heads.keys() | files.keys()):
                _complete(files.get(key) or ChainFile(self._folder, *key), cursor, heads.get(key, EMPTY))
        self._heads = heads

    def sizes(self) -> dict[str, int]:
        """The number of links of all tenants, by chain; for any thread."""
        sizes = dict.fromkeys((chain.value for chain in Chain), 0)
        for (_, chain), head in list(self._heads.items()):
            sizes[chain] += head.size
        return sizes

    def rows_of(self, facts: Sequence[ChainFactRow]) -> list[RecordChainRow]:
        """The facts as links, in the order given, after the heads, which ``settle`` moves."""
        heads: dict[ChainKey, Head] = {}
        rows: list[RecordChainRow] = []
        for fact in facts:
            key = (fact.tenant_id, fact.chain)
            head = heads.get(key) or self._heads.get(key, EMPTY)
            row = link_of(fact, head)
            heads[key] = Head(head.size + 1, row.hash)
            rows.append(row)
        return rows

    def settle(self, rows: Sequence[RecordChainRow]) -> None:
        """After the commit of the links: append them to their files, then move the heads."""
        key_of = attrgetter("tenant_id", "chain")
        for key, links in groupby(sorted(rows, key=key_of), key=key_of):
            of_chain = list(links)
            ChainFile(self._folder, *key).append(of_chain)
            self._heads[key] = Head(of_chain[-1].seq + 1, of_chain[-1].hash)


def link_of(fact: ChainFactRow, head: Head) -> RecordChainRow:
    """The fact as the link after a head."""
    return RecordChainRow(
        tenant_id=fact.tenant_id,
        chain=fact.chain,
        seq=head.size,
        id=fact.id,
        program_id=fact.program_id,
        shard=fact.shard,
        offset=fact.offset,
        body=fact.body,
        prev_hash=head.hash,
        hash=link_hash(head.hash, fact.body.encode()),
        created_at=fact.created_at,
    )


def stored_heads(cursor: duckdb.DuckDBPyConnection) -> dict[ChainKey, Head]:
    """The end of each chain in the database; StartupError for one with holes."""
    heads = {}
    for tenant_id, chain, count, last, hash_ in cursor.execute(_HEADS).fetchall():
        if count != last + 1:
            raise StartupError(
                f"The chain {chain} of tenant {tenant_id} is not whole: {count} links in the database, the last at "
                f"seq {last}. Run clearhold rebuild --data DIR, which makes it again from the log."
            )
        heads[tenant_id, chain] = Head(last + 1, hash_)
    return heads


def _complete(file: ChainFile, cursor: duckdb.DuckDBPyConnection, head: Head) -> None:
    """Compare the file with the database, and append the links that it lacks."""
    cut_torn_line(file.path)
    next_seq = compare(file, cursor, head, last_bytes=COMPARED_AT_START_BYTES)
    if next_seq < head.size:
        for page in links_of(cursor, (file.tenant_id, file.chain), next_seq, head.size):
            file.append(page)
        log.info("chain_file_completed", tenant_id=file.tenant_id, chain=file.chain, after=next_seq, upto=head.size)


def compare(file: ChainFile, cursor: duckdb.DuckDBPyConnection, head: Head, *, last_bytes: int | None = None) -> int:
    """Compare the file's lines, or only the last of them, with the database; returns the seq after the last line."""
    key = (file.tenant_id, file.chain)
    known: Iterator[RecordChainRow] | None = None
    next_seq = 0
    for raw, line in file.lines(last_bytes=last_bytes):
        if known is None:
            pages = links_of(cursor, key, line.seq, head.size)
            known, next_seq = (row for page in pages for row in page), line.seq
        row = next(known, None)
        if row is None:
            raise StartupError(
                f"{file.path} is ahead of the database: it holds seq {line.seq}, the database ends before. "
                "Run clearhold rebuild --data DIR, which makes it again from the log."
            )
        if line_of(row) != raw:
            raise StartupError(
                f"{file.path} differs from the database at seq {next_seq}. One of the two was changed: run clearhold "
                "rebuild if the file is right; set the file aside if the database is."
            )
        next_seq += 1
    return next_seq


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
            cut_torn_line(file.path)
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
