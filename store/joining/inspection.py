"""Inspects the directory of a stopped service: its contents, whether they agree, and how far back each goes.

Everything is read and compared: each entry of the log with the row of its event, each link with its hash, each chain
with its file and its last checkpoint. Nothing is changed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final
from zlib import crc32

import duckdb
import msgspec

from clearhold.features.core.canonical import Chain
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import FORGED, EntryKind, LogEntry, SealOrder
from clearhold.store.data_dir import DataDir
from clearhold.store.duck.database import committed_offsets, open_to_read
from clearhold.store.duck.shown_rows import ShownRows
from clearhold.store.errors import StartupError
from clearhold.store.joining.agreement import (
    AcceptedLosses,
    LogInRedis,
    check_database,
    check_redis,
    control_ends,
    has_history_in,
    sentence_of,
    shard_ends,
)
from clearhold.store.keys import SigningKeys
from clearhold.store.lake.log_segments import ControlCopy, LogSegments
from clearhold.store.lake.segment_files import DamagedSegmentError
from clearhold.store.record.chain import EMPTY, WHOLE, ChainKey, Head, Holes, compare, stored_heads
from clearhold.store.record.chain_file import ChainFile
from clearhold.store.record.checkpoints import CheckpointLog
from clearhold.store.record.link_log import LinkLog
from clearhold.store.record.linked_chains import LinkedChains
from clearhold.store.record.reading import Verification
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.links import RedisLinks
from clearhold.store.redis_log.reader import LogReader, log_time_of, stream_id_of

PAGE_ENTRIES: Final = 5_000
SHOWN_ROWS: Final = 5
_REMOVED: Final = "of its entries, which the lake has, were removed from Redis. A start puts them back."
# ruff: noqa: S608 - statements are built from constants; every value is a parameter
_COUNTED: Final = ("bank_events", "transfers_latest", "alerts_latest", "dispositions", "preflights", "quarantine")
_CHECKSUMS: Final = """
    SELECT "offset", body_crc32 FROM bank_events WHERE shard = ? AND "offset" BETWEEN ? AND ?
    UNION ALL SELECT "offset", NULL FROM quarantine WHERE shard = ? AND "offset" BETWEEN ? AND ?
"""


class Report(msgspec.Struct):
    """Lines of output, and the problems, a sentence each."""

    lines: list[tuple[str, str]] = []
    problems: list[str] = []


class Inspection:
    """One pass over a directory. ``target`` is the address of its Redis; None when that did not start."""

    def __init__(self, data_dir: DataDir, target: str | Path | None, *, redis_name: str, keys: SigningKeys) -> None:
        self._data_dir, self._target, self._redis_name, self._keys = data_dir, target, redis_name, keys
        self.report = Report()
        self._seals = data_dir.entry_seals()
        self._segments = LogSegments(data_dir.lake_dir, seals=self._seals, tidies=False)

    def run(self, on_progress: Callable[[str], None]) -> Report:
        """``on_progress`` gets the name of each step."""
        identity = self._data_dir.identity
        self._say("directory", f"{self._data_dir.path}: log {identity.log_id}, {identity.shards} shards")
        try:
            database = open_to_read(self._data_dir.duckdb_path)
        except StartupError as error:
            self.report.problems.append(f"{error} clearhold rebuild makes it again.")
            return self.report
        with closing(database):
            self._try(lambda: check_database(self._data_dir, database))
            self._inspect_database(database)
            self._try(lambda: self._inspect_record(database, on_progress))
            self._try(lambda: self._inspect_log(database, on_progress))
        return self.report

    def _inspect_database(self, database: duckdb.DuckDBPyConnection) -> None:
        counts = [
            f"{database.execute(f'SELECT count(*) FROM {name}').fetchall()[0][0]:,} {name.removesuffix('_latest')}"
            for name in _COUNTED
        ]
        committed = [offset for offset in committed_offsets(database).values() if offset]
        upto = format_instant(log_time_of(max(committed))) if committed else "nothing"
        self._say("database", f"{', '.join(counts)}; committed up to {upto}")

    def _inspect_record(self, database: duckdb.DuckDBPyConnection, on_progress: Callable[[str], None]) -> None:
        checkpoints = CheckpointLog(database, self._data_dir.record_dir)
        heads, holes = self._whole_chains(database)
        verification = Verification(database, checkpoints, self._keys, holes=holes)
        tenants = {tenant_id for tenant_id, _ in heads} | {
            path.name for path in self._data_dir.record_dir.iterdir() if path.is_dir()
        }
        for tenant_id in sorted(tenants):
            self._inspect_rows(database, tenant_id)
            for chain in Chain:
                on_progress(f"the chain {chain} of {tenant_id}")
                check = verification.check_of_tenant(tenant_id, chain)
                if check.broken_at is not None:
                    self.report.problems.append(
                        f"The chain {chain} of tenant {tenant_id} breaks at seq {check.broken_at.seq}, or is not what "
                        "the last checkpoint over it says."
                    )
                file = ChainFile(self._data_dir.record_dir, tenant_id, chain)
                head = heads.get((tenant_id, chain.value), EMPTY)
                self._try(lambda file=file, head=head: compare(file, database, head))  # type: ignore[misc]
                latest = checkpoints.latest(tenant_id, chain)
                signed = "no checkpoint"
                if latest is not None:
                    signed = f"the last checkpoint is over {latest.size:,}, of {format_instant(latest.created_at)}"
                self._say("record", f"{chain} of tenant {tenant_id}: {check.checked:,} links, {signed}")

    def _whole_chains(self, database: duckdb.DuckDBPyConnection) -> tuple[dict[ChainKey, Head], Holes]:
        """The ends of the chains; beside a log of links, before the holes whose places it has."""
        if self._target is not None:
            with closing(connect_sync(self._target)) as client:
                links = RedisLinks(client, None, replicas=0)
                if links.base() is not None:
                    holes, link_log = Holes(), LinkLog(links, is_owner=lambda: False)
                    return LinkedChains(database, self._data_dir.record_dir, link_log, holes=holes).inspected(), holes
        return stored_heads(database), WHOLE

    def _inspect_rows(self, database: duckdb.DuckDBPyConnection, tenant_id: str) -> None:
        """Rows that the interface shows; the first few differences, so that other problems are not drowned."""
        differences = ShownRows(database).check_of_tenant(tenant_id).differences
        self.report.problems.extend(
            f"The row {each.id} of {each.table} is not what the record says: {', '.join(each.columns)}."
            for each in differences[:SHOWN_ROWS]
        )
        if len(differences) > SHOWN_ROWS:
            self.report.problems.append(f"Further rows of tenant {tenant_id} are not what the record says.")

    def _inspect_log(self, database: duckdb.DuckDBPyConnection, on_progress: Callable[[str], None]) -> None:
        if self._target is None:
            return
        with closing(connect_sync(self._target)) as client:
            has_history = has_history_in(self._data_dir, database)
            log = LogInRedis(client, self._redis_name)
            check_redis(self._data_dir, log, has_history=has_history, accept_loss=False)
            reader = LogReader(client, range(self._data_dir.shards), seals=self._seals)
            committed = committed_offsets(database)
            shards = shard_ends(reader, self._segments, committed, shards=self._data_dir.shards)
            control = control_ends(reader, self._segments)
            losses = AcceptedLosses(self._data_dir.lake_dir)
            ends = [*shards, *control.values()]
            holes = losses.unaccepted([hole for each in ends for hole in each.holes()])
            if holes:
                self.report.problems.append(f"The log has a hole: {sentence_of(holes)}.")
            self.report.problems.extend(
                f"{each.stream}: Redis ends before what lake or database know of it." for each in ends if each.is_behind
            )
            if losses.holes:
                self._say("losses", f"accepted: {sentence_of(losses.holes)}")
            lacking = ControlCopy(reader, self._segments).lacking()
            for tenant_id, each in control.items():
                self._name_forged(each.stream, reader.control_entries(tenant_id))
                if (removed := lacking.get(tenant_id)) and not each.is_behind:
                    self.report.problems.append(f"{each.stream}: {removed:,} {_REMOVED}")
            lake, tail = _Part(), _Part()
            for shard in range(self._data_dir.shards):
                on_progress(f"the log of shard {shard}")
                upto, checked = committed.get(shard, 0), SealOrder().checked
                in_lake = map(checked, self._segments.shard(shard).read(0))
                self._hold_against_events(database, shard, upto, lake.counted(in_lake))
                after, end = self._segments.shard(shard).last_offset, reader.tail(shard)
                in_redis = map(checked, reader.entries(shard, after, end, page=PAGE_ENTRIES))
                self._hold_against_events(database, shard, upto, tail.counted(in_redis))
                self.report.problems.extend(
                    f"The log segment {path} is not the one that its successor names."
                    for path in self._segments.shard(shard).replaced()
                )
            self._say("lake", f"{lake}; {len(self._segments.tenants())} control streams")
            server = client.info("server")
            version = server.get("valkey_version", server["redis_version"])  # Valkey's redis_version is always 7.2.4
            self._say("log", f"{tail} not in the lake, in {self._redis_name} (version {version})")
            self._say("tenants", f"{len(control):,} control streams in Redis")

    def _hold_against_events(
        self, database: duckdb.DuckDBPyConnection, shard: int, committed: int, entries: Iterator[LogEntry]
    ) -> None:
        """Each bank event that is committed has its row, with the checksum of its bytes."""
        while page := list(islice(entries, PAGE_ENTRIES)):
            between = [shard, page[0].offset, page[-1].offset]
            stored = dict(database.execute(_CHECKSUMS, [*between, *between]).fetchall())
            self._name_forged(self._segments.shard(shard).name, page)
            for entry in page:
                if entry.kind != EntryKind.BANK or entry.offset > committed:
                    continue
                if entry.offset not in stored:
                    self.report.problems.append(f"shard {shard}: the event at {entry.offset} has no row.")
                elif stored[entry.offset] not in {None, crc32(entry.body)}:
                    self.report.problems.append(f"shard {shard}: the event at {entry.offset} is not the scored one.")

    def _name_forged(self, stream: str, entries: Iterable[LogEntry]) -> None:
        self.report.problems.extend(
            f"{stream}: the entry at {stream_id_of(entry.offset)} ({entry.kind}) was not applied. {FORGED}"
            for entry in entries
            if entry.is_forged
        )

    def _say(self, label: str, text: str) -> None:
        self.report.lines.append((label, text))

    def _try(self, step: Callable[[], object]) -> None:
        """An error of one step is a problem, and the other steps run."""
        try:
            step()
        except (StartupError, DamagedSegmentError, ConnectionError, duckdb.Error) as error:
            self.report.problems.append(str(error))


class _Part:
    """Counts the entries of a part of the log, and notes the oldest and newest."""

    def __init__(self) -> None:
        self._kinds: Counter[str] = Counter()
        self._first = self._last = 0

    def counted(self, entries: Iterator[LogEntry]) -> Iterator[LogEntry]:
        for entry in entries:
            self._kinds[entry.kind] += 1
            self._first = min(self._first or entry.offset, entry.offset)
            self._last = max(self._last, entry.offset)
            yield entry

    def __str__(self) -> str:
        if not self._last:
            return "no entries"
        since, until = (format_instant(log_time_of(offset)) for offset in (self._first, self._last))
        events = self._kinds[EntryKind.BANK]
        return f"{self._kinds.total():,} entries, {events:,} of them bank events, from {since} to {until}"
