"""Rebuilds the database: replays the whole log, from its segments and the tail in Redis, with the flow's own step.

segments ─▶ Redis' tail ─▶ applied shard by shard ─▶ committed, links placed by their files ─▶ checked ─▶ swapped in

The data directory is unchanged until the new database is complete and its record verified; then the old database is
renamed.

Errors  ``StartupError`` when log, chain files and signed checkpoints contradict one another; ``DamagedSegmentError``
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count, groupby, islice
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
import msgspec

from clearhold.features.core.canonical import Chain
from clearhold.features.core.log_entry import ChainFactRow, LogEntry
from clearhold.features.shard.shard import Shards, ShardState
from clearhold.flows.stream.dataflow import ShardChunk, ShardStep, StepContext, batch_of
from clearhold.store.clock import Clock
from clearhold.store.data_dir import DataDir
from clearhold.store.duck.database import BatchWriter, committed_offsets, open_database, open_to_read
from clearhold.store.duck.open_deliveries import covered_by_open, read_open
from clearhold.store.durable_files import fsync_folder
from clearhold.store.errors import StartupError
from clearhold.store.joining.agreement import AcceptedLosses, keep_lost_rows, mark_database
from clearhold.store.keys import SigningKeys
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.record.chain import WHOLE
from clearhold.store.record.checkpoints import CheckpointLog
from clearhold.store.record.link_log import LinkLog
from clearhold.store.record.linked_chains import chain_writer, holes_in
from clearhold.store.record.reading import Verification
from clearhold.store.record.rebuilding import RebuildingChains
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.tables import RowTables, joined_by_type, row_tables

PAGE_ENTRIES: Final = 2_048
_UNFINISHED: Final = ".rebuilding"
_ASIDE: Final = ".before-rebuild"
_TENANTS: Final = "SELECT tenant_id FROM record_chain UNION SELECT tenant_id FROM record_checkpoints ORDER BY tenant_id"


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """The size of the new database, and the new path of the replaced one, None without one."""

    entries: int
    links: int
    aside: Path | None


class _Log(NamedTuple):
    """The whole log of a directory: of each shard its segments, then the tail in Redis."""

    data_dir: DataDir
    reader: LogReader
    segments: LogSegments
    clock: Clock
    link_log: LinkLog | None
    waiting: "WaitingDeliveries | None"

    def entries(self, shard: int) -> Iterator[LogEntry]:
        segments, tail = self.segments.shard(shard), self.reader.tail(shard)
        yield from segments.read(0)
        yield from self.reader.entries(shard, segments.last_offset, tail, page=PAGE_ENTRIES)


class WaitingDeliveries(NamedTuple):
    """The deliveries of another node of the log that are still to be made: those in ``folder``, and what ``outbox``
    makes of rows of later entries.
    """

    folder: Path
    outbox: Callable[[RowTables], RowTables]


def committed_in(path: Path) -> dict[int, int]:
    """The committed offsets in the database of a stopped service; empty when it cannot be read."""
    try:
        with closing(open_to_read(path)) as database:
            return committed_offsets(database)
    except (StartupError, duckdb.Error):
        return {}


def rebuild(
    data_dir: DataDir,
    reader: LogReader,
    segments: LogSegments,
    keys: SigningKeys,
    *,
    clock: Clock,
    on_progress: Callable[[int, int], None],
    link_log: LinkLog | None = None,
    waiting: WaitingDeliveries | None = None,
) -> Rebuilt:
    """Rebuild the database; ``on_progress`` is called with the shard and the number of entries applied so far.
    ``link_log`` is there for a log with replicas, ``waiting`` for a node that joins.
    """
    path = data_dir.duckdb_path.with_name(data_dir.duckdb_path.name + _UNFINISHED)
    _remove(path)
    try:
        with closing(open_database(path)) as database:
            mark_database(database, data_dir.identity)
            log = _Log(data_dir, reader, segments, clock, link_log, waiting)
            entries = _replay(log, database, on_progress)
            checkpoints = CheckpointLog(database, data_dir.record_dir)
            checkpoints.open()
            holes = WHOLE if link_log is None else holes_in(database)
            links = _check(data_dir, database, Verification(database, checkpoints, keys, holes=holes))
            chain_writer(database, data_dir.record_dir, link_log, holes).open()
            database.execute("CHECKPOINT")
    except BaseException:
        _remove(path)
        raise
    return Rebuilt(entries=entries, links=links, aside=_swap_in(path, data_dir.duckdb_path))


def _replay(log: _Log, database: duckdb.DuckDBPyConnection, on_progress: Callable[[int, int], None]) -> int:
    """Apply and commit the whole log; returns the number of its entries."""
    chains = RebuildingChains(database, log.data_dir.record_dir, log.link_log)
    chains.open()
    writer = BatchWriter(database, chains)
    shards, applied = Shards(log.data_dir.shards), 0
    # Without snapshots: the next start uses the existing ones, or replays.
    step = ShardStep(StepContext(shards, committed={}, offer_snapshot=lambda *_: None))
    covered = {} if log.waiting is None else covered_by_open(log.waiting.folder)
    for shard in range(shards.count):
        for is_covered, entries in _in_two(log.entries(shard), covered.get(shard, 0)):
            while page := list(islice(entries, PAGE_ENTRIES)):
                results, _ = step.on_batch([ShardChunk(shard, page)])
                for each in results:
                    batch = batch_of([each], {})
                    tables = batch.tables
                    if log.waiting is not None and not is_covered:
                        tables = joined_by_type((tables, log.waiting.outbox(tables)))
                    writer.commit(tables, batch.offsets, log.clock.now())
                applied += len(page)
                on_progress(shard, applied)
        shards.restore(ShardState(shard))  # Its rows are committed; the state is no longer needed.
    _keep_lost(log, database, writer, chains)
    chains.close()
    if log.waiting is not None:
        read_open(database, log.waiting.folder)
    return applied


def _in_two(entries: Iterator[LogEntry], upto: int) -> Iterator[tuple[bool, Iterator[LogEntry]]]:
    """The entries up to an offset, and the later ones, each marked whether they are the former."""
    return groupby(entries, lambda entry: entry.offset <= upto)


def _keep_lost(log: _Log, database: duckdb.DuckDBPyConnection, writer: BatchWriter, chains: RebuildingChains) -> None:
    """Keep rows of the old database, and links in the chains' files, whose log entries are lost."""
    holes = AcceptedLosses(log.data_dir.lake_dir).holes
    names = {log.segments.shard(shard).name: shard for shard in range(log.data_dir.shards)}
    lost = [(names[hole.stream], hole) for hole in holes if hole.stream in names]
    keep_lost_rows(database, log.data_dir.duckdb_path, lost)
    facts = chains.facts_of(lambda shard, offset: any(of == shard and hole.holds(offset) for of, hole in lost))
    if facts:
        writer.commit(row_tables({ChainFactRow: facts}), {}, log.clock.now())


def _check(data_dir: DataDir, database: duckdb.DuckDBPyConnection, verification: Verification) -> int:
    """Verify every tenant's record, also against its last signed checkpoints; returns the number of links."""
    links = 0
    for (tenant_id,) in database.execute(_TENANTS).fetchall():
        for chain in Chain:
            check = verification.check_of_tenant(tenant_id, chain)
            if check.broken_at is not None:
                raise StartupError(
                    f"The chain {chain} of tenant {tenant_id} that {data_dir.path} leads to breaks at seq "
                    f"{check.broken_at.seq}, or contradicts the last checkpoint over it."
                )
            links += check.checked
    return links


def _swap_in(rebuilt: Path, place: Path) -> Path | None:
    """Put the new file in its place; the old one, with its write-ahead log, gets an unused name."""
    aside = None
    if place.exists():
        taken = {path.name for path in place.parent.iterdir()}
        names = (f"{place.name}{_ASIDE}-{number}" for number in count(1))
        aside = place.with_name(next(name for name in names if not {name, f"{name}.wal"} & taken))
        if _wal(place).exists():
            _wal(place).rename(_wal(aside))
        place.rename(aside)
    rebuilt.rename(place)
    fsync_folder(place.parent)
    return aside


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    _wal(path).unlink(missing_ok=True)


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")
