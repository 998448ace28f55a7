"""Extends the hash chains: facts become links in the transaction of the rows they are about, then in a file.

fact ─▶ linked to the head of its tenant's chain ─▶ DuckDB, with the log offset ─▶ the chain's file, fsynced ─▶ answered

There is one writer, so chains do not fork. The heads move only when both places hold the links; a file that a crash
left behind is completed from DuckDB. A log with replicas, and a rebuild, have writers in further modules.

Errors  ``StartupError`` when a file and the database or the log differ, or a file has no valid chain, with the file and
        the first seq
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
import structlog

from clearhold.features.core.canonical import Chain, link_hash
from clearhold.features.core.log_entry import ChainFactRow
from clearhold.store.errors import StartupError
from clearhold.store.record.chain_file import ChainFile, RecordChainRow, chain_files, cut_torn_line, line_of
from clearhold.store.tables import row_builder, select_list

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

COMPARED_AT_START_BYTES: Final = 64 << 20
PAGE_LINKS: Final = 5_000
BARE_PAGE_LINKS: Final = 20_000

ChainKey = tuple[str, str]
"""Tenant id and chain."""
BareLink = tuple[int, str, str | None, str]
"""Seq, body, prev_hash and hash."""
FactKey = tuple[str, str, int, int, str]
"""Tenant id, chain, shard, offset and id of a fact."""

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
            complete_files(self._folder, cursor, heads)
        self._heads = heads

    def leave(self) -> None:
        """Wait for nothing any more, from any thread: the service stops."""

    def links_upto(self) -> int:
        """Read the log of links to its end; returns the entry up to which this node needs none, 0 without such a log.
        For any thread, as is ``trim_links``.
        """
        return 0

    def trim_links(self, upto: int) -> None:
        """Drop the entries of the log of links up to this one, which no member needs; for the owner of the log."""

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


class Holes:
    """Of each chain that is not whole, the seq of its first missing link; for any thread."""

    def __init__(self) -> None:
        self._first: dict[ChainKey, int] = {}

    def note(self, key: ChainKey, first: int | None) -> None:
        """``first`` None: the chain is whole."""
        if first is None:
            self._first.pop(key, None)
        else:
            self._first[key] = first

    def replace(self, first: Mapping[ChainKey, int]) -> None:
        """Note all chains at once."""
        self._first = dict(first)

    def whole_size(self, key: ChainKey, size: int) -> int:
        """The number of links before the first hole, of a chain whose last link has seq ``size`` - 1."""
        return min(size, self._first.get(key, size))


WHOLE: Final = Holes()
"""For chains that are always whole, as those of one node are."""


def fact_key(fact: ChainFactRow | RecordChainRow) -> FactKey:
    return fact.tenant_id, fact.chain, fact.shard, fact.offset, fact.id


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


def complete_files(folder: Path, cursor: duckdb.DuckDBPyConnection, heads: Mapping[ChainKey, Head]) -> None:
    """Compare each file with the database up to these ends, and append the links that it lacks."""
    files = {(file.tenant_id, file.chain): file for file in chain_files(folder)}
    for key in sorted(heads.keys() | files.keys()):
        _complete(files.get(key) or ChainFile(folder, *key), cursor, heads.get(key, EMPTY))


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
