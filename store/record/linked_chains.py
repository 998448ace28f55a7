"""The chains of a node whose log has replicas: each fact gets the place that the log of links has for it.

The places of a commit may leave holes, because another node committed the same facts in another order. The rows behind
a hole are in the database at once; the chain's file, its size and its readers have the links before the hole alone.
Every hole is filled by an entry of the log that this node has not applied yet.

Errors  ``StartupError`` when the files or the log of links contradict the database; after the start the process ends
        with that sentence, because it would commit a second history of the chain
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import duckdb
import structlog

from clearhold.features.core.log_entry import ChainFactRow
from clearhold.store.record.chain import (
    EMPTY,
    ChainKey,
    ChainWriter,
    FactKey,
    Head,
    Holes,
    complete_files,
    fact_key,
    links_of,
)
from clearhold.store.record.chain_file import ChainFile, RecordChainRow, RecordCheckpointRow
from clearhold.store.record.link_log import LinkLog
from clearhold.store.record.places import FactPlace, LinkError, placed

LINKS_EXIT: Final = 4
"""The exit code of a process whose links differ from those of the log."""

_SIZES: Final = "SELECT tenant_id, chain, count(*), max(seq) FROM record_chain GROUP BY tenant_id, chain"
_FIRST_HOLE: Final = """
    SELECT min(place) FROM (
        SELECT seq, row_number() OVER (ORDER BY seq) - 1 AS place FROM record_chain WHERE tenant_id = ? AND chain = ?
    ) WHERE seq <> place
"""
_HASH: Final = "SELECT hash FROM record_chain WHERE tenant_id = ? AND chain = ? AND seq = ?"
_SEQS: Final = "SELECT seq FROM record_chain WHERE tenant_id = ? AND chain = ? AND seq >= ?"
_HASHES: Final = "SELECT seq, hash FROM record_chain WHERE tenant_id = ? AND chain = ? AND seq BETWEEN ? AND ?"

log = structlog.get_logger()


class _Stored(NamedTuple):
    """A chain in the database: the end of its whole part, and the seqs behind the first hole."""

    head: Head
    beyond: set[int]


def end_with(sentence: str) -> NoReturn:
    """End at once: an orderly end would commit what contradicts the log of links."""
    log.critical("links_differ", error=sentence)
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()
    os._exit(LINKS_EXIT)


class LinkedChains(ChainWriter):
    """For the thread that commits."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        folder: Path,
        link_log: LinkLog,
        *,
        holes: Holes,
        keep_checkpoint: Callable[[RecordCheckpointRow], None] = lambda _: None,
        end: Callable[[str], None] = end_with,
    ) -> None:
        """``holes`` is shared with the readers of chains; ``keep_checkpoint`` gets each checkpoint of any node, once
        this node has its links, and once more after a start; ``end`` gets a sentence, and should end the process.
        """
        super().__init__(connection, folder)
        self.link_log, self._holes, self._end = link_log, holes, end
        self._keep_checkpoint = keep_checkpoint
        self._beyond: dict[ChainKey, set[int]] = {}
        self._is_open = False

    def open(self) -> None:
        """Compare database, log of links and files; complete the files, and on the owner the log of links."""
        with self._ending():
            with self._connection.cursor() as cursor:
                stored = _stored(cursor)
                heads = {key: each.head for key, each in stored.items()}
                self.link_log.open(heads)
                self._agree(cursor, stored)
                complete_files(self._folder, cursor, heads)
            self._heads = heads
            self._beyond = {key: each.beyond for key, each in stored.items() if each.beyond}
            self._holes.replace({key: heads[key].size for key in self._beyond})
            self._is_open = True
            self._keep_checkpoints()

    def inspected(self) -> dict[ChainKey, Head]:
        """Compare database and log of links, and note the holes; the ends of the chains before them. Changes nothing,
        when this process does not own the log.
        """
        with self._connection.cursor() as cursor:
            stored = _stored(cursor)
            heads = {key: each.head for key, each in stored.items()}
            self.link_log.open(heads)
            self._agree(cursor, stored)
        self._holes.replace({key: each.head.size for key, each in stored.items() if each.beyond})
        return heads

    def rows_of(self, facts: Sequence[ChainFactRow]) -> list[RecordChainRow]:
        """The facts as links at their places; waits for the owner of the log to state them, unless this node is it."""
        try:
            rows = self.link_log.rows_of(facts)
        except LinkError as error:
            self._end(str(error))
            raise
        for key, links in _by_chain(rows):
            head = self._heads.get(key, EMPTY)
            if key in self._beyond or links[-1].seq != head.size + len(links) - 1:
                self._holes.note(key, head.size)  # before the commit: its readers see the rows behind the hole at once
        return rows

    def settle(self, rows: Sequence[RecordChainRow]) -> None:
        for key, links in _by_chain(rows):
            head, beyond = self._heads.get(key, EMPTY), self._beyond.get(key)
            if beyond is None and links[-1].seq == head.size + len(links) - 1:
                ChainFile(self._folder, *key).append(links)
                self._heads[key] = Head(links[-1].seq + 1, links[-1].hash)
            else:
                self._fill(key, head, (beyond or set()) | {link.seq for link in links})
        self.link_log.settle(fact_key(row) for row in rows)
        self._keep_checkpoints()

    def leave(self) -> None:
        self.link_log.leave()

    def links_upto(self) -> int:
        with self._ending():
            self.link_log.read_new()
        self._keep_checkpoints()
        return self.link_log.held_offset()

    def trim_links(self, upto: int) -> None:
        if self.link_log.is_owner:
            self.link_log.trim(upto)

    def _keep_checkpoints(self) -> None:
        for number, row in list(self.link_log.checkpoints.items()):
            if self._heads.get((row.tenant_id, row.chain), EMPTY).size >= row.size:
                self._keep_checkpoint(row)
                self.link_log.settle_checkpoint(number)

    def _fill(self, key: ChainKey, head: Head, beyond: set[int]) -> None:
        """Append to the file the links before the first hole."""
        end = head.size
        while end in beyond:
            beyond.remove(end)
            end += 1
        if end > head.size:
            with self._connection.cursor() as cursor:
                for page in links_of(cursor, key, head.size, end):
                    ChainFile(self._folder, *key).append(page)
                    head = Head(page[-1].seq + 1, page[-1].hash)
            self._heads[key] = head
        if beyond:
            self._beyond[key] = beyond
            self._holes.note(key, end)
        else:
            self._beyond.pop(key, None)
            self._holes.note(key, None)

    def _agree(self, cursor: duckdb.DuckDBPyConnection, stored: Mapping[ChainKey, _Stored]) -> None:
        for key, base in self.link_log.base.items():
            self._require_base(cursor, key, base, stored.get(key, _NOTHING).head)
        waiting: dict[ChainKey, dict[int, tuple[FactKey, FactPlace]]] = {}
        for fact, place in self.link_log.waiting():
            waiting.setdefault((fact[0], fact[1]), {})[place.seq] = fact, place
        for key, places in waiting.items():
            self._settle_stored(cursor, key, places)
        awaited: dict[ChainKey, set[int]] = {}
        for fact, place in self.link_log.waiting():
            awaited.setdefault((fact[0], fact[1]), set()).add(place.seq)
        for key, (head, beyond) in stored.items():
            end = self.link_log.heads.get(key, EMPTY).size
            missing = set(range(head.size, max(beyond, default=head.size))) - beyond
            if beyond and (not missing or missing - awaited.get(key, set())):
                raise LinkError(
                    f"The chain {key[1]} of tenant {key[0]} is not whole: seq {head.size} is neither in the database "
                    "nor in the log of links. Run clearhold rebuild --data DIR, which makes it again from the log."
                )
            if head.size > end:
                self._state(cursor, key, end, head.size)

    def _require_base(self, cursor: duckdb.DuckDBPyConnection, key: ChainKey, base: Head, own: Head) -> None:
        if own.size < base.size:
            raise LinkError(
                f"The chain {key[1]} of tenant {key[0]} has {own.size} links here, and the log of links begins behind "
                f"{base.size}: the order of those between is not known here. This node must join again."
            )
        ((hash_,),) = cursor.execute(_HASH, [*key, base.size - 1]).fetchall()
        if hash_ != base.hash:
            raise _differing(key, base.size - 1)

    def _settle_stored(
        self, cursor: duckdb.DuckDBPyConnection, key: ChainKey, places: Mapping[int, tuple[FactKey, FactPlace]]
    ) -> None:
        """Compare links that are in the database with their places, which then no longer wait."""
        settled = []
        for seq, hash_ in cursor.execute(_HASHES, [*key, min(places), max(places)]).fetchall():
            fact, place = places[seq]
            if place.hash != hash_:
                raise _differing(key, seq)
            settled.append(fact)
        self.link_log.settle(settled)

    def _state(self, cursor: duckdb.DuckDBPyConnection, key: ChainKey, first: int, end: int) -> None:
        """State links that this node committed while it had no replicas; for the owner alone."""
        if not self.link_log.is_owner:
            raise LinkError(
                f"The chain {key[1]} of tenant {key[0]} has {end} links here, and {first} in the log of links. This "
                "node committed what the log does not have: it must join again."
            )
        for page in links_of(cursor, key, first, end):
            self.link_log.append(list(map(placed, page)))
            self.link_log.settle(map(fact_key, page))
        log.info("links_stated", tenant_id=key[0], chain=key[1], after=first, upto=end)

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """End the process for a contradiction, unless it is starting."""
        try:
            yield
        except LinkError as error:
            if self._is_open:
                self._end(str(error))
            raise


_NOTHING: Final = _Stored(EMPTY, set())


def chain_writer(
    database: duckdb.DuckDBPyConnection,
    folder: Path,
    link_log: LinkLog | None,
    holes: Holes,
    keep_checkpoint: Callable[[RecordCheckpointRow], None] = lambda _: None,
) -> ChainWriter:
    """The writer of the chains in ``folder``; the rest is that of ``LinkedChains``."""
    if link_log is None:
        return ChainWriter(database, folder)
    return LinkedChains(database, folder, link_log, holes=holes, keep_checkpoint=keep_checkpoint)


def holes_in(connection: duckdb.DuckDBPyConnection) -> Holes:
    """The holes of the chains in a database."""
    holes = Holes()
    with connection.cursor() as cursor:
        holes.replace({key: each.head.size for key, each in _stored(cursor).items() if each.beyond})
    return holes


def _stored(cursor: duckdb.DuckDBPyConnection) -> dict[ChainKey, _Stored]:
    """Each chain in the database."""
    stored = {}
    for tenant_id, chain, count, last in cursor.execute(_SIZES).fetchall():
        key = (tenant_id, chain)
        end = last + 1
        if count != end:
            ((hole,),) = cursor.execute(_FIRST_HOLE, key).fetchall()
            end = last + 1 if hole is None else hole
        head = EMPTY if end == 0 else Head(end, cursor.execute(_HASH, [*key, end - 1]).fetchall()[0][0])
        beyond = {seq for (seq,) in cursor.execute(_SEQS, [*key, end]).fetchall()}
        stored[key] = _Stored(head, beyond)
    return stored


def _by_chain(rows: Sequence[RecordChainRow]) -> list[tuple[ChainKey, list[RecordChainRow]]]:
    """The links of each chain by seq."""
    ordered = sorted(rows, key=attrgetter("tenant_id", "chain", "seq"))
    return [(key, list(links)) for key, links in groupby(ordered, key=attrgetter("tenant_id", "chain"))]


def _differing(key: ChainKey, seq: int) -> LinkError:
    return LinkError(
        f"The chain {key[1]} of tenant {key[0]} differs from the log of links at seq {seq}: two nodes have separate "
        "histories. If this node's is the wrong one, it must join again."
    )
