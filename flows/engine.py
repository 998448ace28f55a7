"""The running flow of one service: scores, commits and maintains the log.

scoring of shards (a thread here, or scorer processes) ─▶ RowSink ─▶ committer ─▶ tables, chains, offsets

Start   scoring begins from each shard's newest snapshot; later entries of the log are replayed
Run     score, commit, take snapshots; every few seconds move committed entries into segments and trim Redis
Stop    apply and commit the rest of the log, take a snapshot of each changed shard, all within a deadline

The service also appends entries itself: a tick a minute in each shard, so that time is in the log, and policies that a
program has lost. The policies in force are in the control stream and in the programs' state. Both are written in one
transaction, so they differ only if entries of a shard were lost and the control streams came back from the lake
(``--accept-loss``). Missing policies are appended again, and count from then on.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from threading import Event, Thread
from time import monotonic
from typing import Final, NamedTuple

import duckdb
import redis
import structlog

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import MINUTE_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.shard.questions import LackingPolicies, Owner
from clearhold.flows.commit.committer import BeforeCommit, Committer, EventTally, FlowCollector, Outbox, behind
from clearhold.flows.scorer.scorers import ScorerProcesses
from clearhold.flows.scorer.scoring import LocalScorer
from clearhold.store.clock import Clock, ServiceClock
from clearhold.store.control.registry import Registry
from clearhold.store.duck.database import BatchWriter, committed_epochs, committed_offsets, fold_wal
from clearhold.store.lake.log_segments import LogSegments, Segmenter
from clearhold.store.nodes.members import Membership
from clearhold.store.record.chain import ChainWriter
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.owner import LogOwnership
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import LogReader, log_time_of
from clearhold.store.scheduling import low_priority
from clearhold.store.tables import RowTables

STATE_VERSION: Final = 46
SWITCH_INTERVAL_S: Final = 0.0002  # the longest that a request waits for another thread
MAINTENANCE_FROM_S: Final = 60.0  # at the latest; a replay that takes longer must not fill Redis
_MAINTENANCE_EVERY_S: Final = 5.0
_CATCH_UP_POLL_S: Final = 0.1
_CONTROL_EVERY_ROUNDS: Final = 12

log = structlog.get_logger()


class CatchUp(NamedTuple):
    """The replay of the log after a start: instants in the log, in microseconds, of the shard that is furthest behind
    and of the log's end. 0 is the beginning.
    """

    shards: int
    shards_behind: int
    replayed_until: int
    log_until: int


Scorers = LocalScorer | ScorerProcesses
"""Scores all shards of the log: on a thread of this process, or in processes that it supervises."""


class Engine:
    """Owns the threads that commit rows and maintain the log."""

    def __init__(
        self,
        scorers: Scorers,
        progress: LogProgress,
        *,
        open_redis: Callable[[], redis.Redis],
        database: duckdb.DuckDBPyConnection,
        segments: LogSegments,
        chains: ChainWriter,
        clock: Clock,
        copy_control: Callable[[], None] = lambda: None,
        maintenance_tasks: Sequence[Callable[[], None]] = (),
        before_commit: BeforeCommit | None = None,
        on_commit: Callable[[RowTables], None] | None = None,
        outbox: Outbox | None = None,
        ownership: LogOwnership | None = None,
        membership: Membership | None = None,
    ) -> None:
        """``maintenance_tasks`` run in every round of an owner's maintenance, on its thread, and ``copy_control`` in
        some; ``on_commit`` gets the rows of each commit, on the committer's thread: it must neither fail nor wait.
        ``before_commit`` and ``outbox`` are the committer's. ``ownership`` and ``membership`` are there for a named
        Redis.
        """
        self.scorers, self.progress = scorers, progress
        self._open_redis, self._database, self._segments, self._clock = open_redis, database, segments, clock
        self.chains, self._copy_control = chains, copy_control
        self._ownership, self._membership = ownership, membership
        require_owner: Callable[[], None] = (lambda: None) if ownership is None else ownership.require_current
        require_commit: Callable[[], None] = (lambda: None) if ownership is None else ownership.require_commit
        self._committer = Committer(
            BatchWriter(database, chains, require_owner=require_commit),
            progress,
            epochs=committed_epochs(database),
            clock=clock,
            before_commit=before_commit,
            on_commit=self._committed,
            outbox=outbox,
        )
        self._tally = EventTally(self._committer.counts, clock)
        self._maintenance_tasks = maintenance_tasks
        self._require_owner, self._require_commit = require_owner, require_commit
        self._on_commit = on_commit
        self._stopped = Event()
        self._behind_reader = self._log_reader()
        self._targets: dict[int, int] = {}
        self._is_replayed = False

    def start(self) -> None:
        """Restore the state and start the threads; the log is replayed in the background."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        self.chains.open()
        self.progress.mark_committed(committed_offsets(self._database))
        if self._membership is not None:
            self._membership.begin(self._in_segments())
        reader = self._log_reader()
        self._targets = {shard: reader.tail(shard) for shard in range(self.progress.shards)}
        self._committer.start()
        self.scorers.start(self._committer)
        self._maintenance_thread = Thread(target=self._run_maintenance, name="maintenance", daemon=True)
        self._maintenance_thread.start()

    @property
    def failure(self) -> str | None:
        """The error that holds up the flow, or None."""
        return self.scorers.failure or self._committer.failure

    @property
    def ended(self) -> bool:
        """True when a part of the flow has ended: nothing is scored until a restart."""
        return self.scorers.ended or self._committer.ended

    def put_rows(self, rows: RowTables) -> None:
        """Commit rows without a log entry; called from a thread that may wait."""
        self._committer.put_rows(rows)

    def flush(self, timeout_s: float) -> bool:
        """Return once everything that was queued so far is committed; False if that took too long."""
        return self._committer.flush(timeout_s)

    def aim_at_end(self) -> None:
        """After the replay of the start: be caught up once every entry that is in the log now is committed."""
        reader = self._log_reader()
        self._targets = {shard: reader.tail(shard) for shard in range(self.progress.shards)}
        self._is_replayed = True

    def behind_s(self) -> float | None:
        """The age of the oldest entry of the log that is not committed, in seconds; None while Redis is away."""
        now, shards = self._clock.now(), range(self.progress.shards)
        try:
            return max(behind(self._behind_reader, self.progress, shard, now=now) for shard in shards) / SECOND_US
        except ConnectionError:
            return None

    def caught_up(self) -> bool:
        """True once every entry that was in the log at the start is applied and committed."""
        return not self._behind()

    def catch_up(self) -> CatchUp | None:
        """The progress of the replay of the start; None once it is done."""
        behind = self._behind()
        if not behind:
            return None
        return CatchUp(
            shards=len(self._targets),
            shards_behind=len(behind),
            replayed_until=min(log_time_of(at) for at in behind.values()),
            log_until=max(log_time_of(self._targets[shard]) for shard in behind),
        )

    def _behind(self) -> dict[int, int]:
        """The shards whose replay of the start is not done, with their offset."""
        at = {
            shard: self.progress.committed_offset(shard)
            if self._is_replayed  # then committed entries were applied
            else min(self.scorers.applied_offset(shard), self.progress.committed_offset(shard))
            for shard in self._targets
        }
        return {shard: offset for shard, offset in at.items() if offset < self._targets[shard]}

    def collector(self, *, waiting: Callable[[int], int]) -> FlowCollector:
        """The metrics of the running flow; ``waiting`` counts a shard's entries that are appended and not applied."""
        return FlowCollector(
            self.progress,
            counts=self._committer.counts,
            snapshot_offsets=lambda: self.scorers.snapshot_offsets,
            waiting=waiting,
            reader=self._log_reader(),
            clock=self._clock,
        )

    def stop(self, timeout_s: float) -> None:
        """Drain the log, commit and take snapshots; the next start replays what exceeds the time."""
        deadline = monotonic() + timeout_s
        self.scorers.drain(timeout_s * 0.5)
        self._stopped.set()
        self._committer.flush(max(0.1, deadline - monotonic()))
        self.chains.leave()
        self.scorers.close(max(0.1, deadline - monotonic()))
        self._committer.close(max(0.1, deadline - monotonic()))
        self._maintenance_thread.join(max(0.1, deadline - monotonic()))
        self._tally.log_new()

    def _committed(self, rows: RowTables, offsets: Mapping[int, int]) -> None:
        self.scorers.on_commit(rows, offsets)
        if self._on_commit is not None:
            self._on_commit(rows)

    def _log_reader(self) -> LogReader:
        return LogReader(self._open_redis(), range(self.progress.shards), trims=self._ownership)

    def _run_maintenance(self) -> None:
        """Run rounds every few seconds until the stop, once the log of the start is replayed, which needs the
        processor. A failed round is retried as the next one.
        """
        low_priority()
        latest = monotonic() + MAINTENANCE_FROM_S
        while monotonic() < latest and not self.caught_up():
            if self._stopped.wait(_CATCH_UP_POLL_S):
                return
        reader = self._log_reader()
        segmenter = Segmenter(reader, self._segments)
        for number in count():
            try:
                self._require_commit()
                if number % _CONTROL_EVERY_ROUNDS == 0:
                    self._copy_control()
                self._trim_log(reader, segmenter)
                fold_wal(self._database)  # here, because a commit would wait for it
                self._tally.log_when_due()
                for task in self._maintenance_tasks if self._is_owner else ():
                    self._require_owner()
                    task()
            except Exception as error:  # noqa: BLE001 - whatever failed: without this thread Redis is never trimmed
                log.warning("maintenance_failed", error=f"{type(error).__name__}: {error}")
            if self._stopped.wait(_MAINTENANCE_EVERY_S):
                return

    def _trim_log(self, reader: LogReader, segmenter: Segmenter) -> None:
        """Move committed entries into segments, and trim from Redis the entries that a segment and a snapshot cover,
        here and on every other member.
        """
        shards, snapshots = range(self.progress.shards), self.scorers.snapshot_offsets
        upto = [snapshots.get(shard, 0) for shard in shards]
        if self._membership is not None:
            covered = {shard: min(upto[shard], last) for shard, last in self._in_segments().items()}
            behind_us = max(behind(reader, self.progress, shard, now=self._clock.now()) for shard in shards)
            self._membership.report(covered, behind_s=behind_us / SECOND_US, links=self.chains.links_upto())
            upto = list(map(min, upto, self._membership.bounds())) if self._is_owner else [0 for _ in shards]
            if self._is_owner:
                self.chains.trim_links(self._membership.links_bound())
        for shard in shards:
            segmenter.run_once(shard, self.progress.committed_offset(shard), upto[shard])

    @property
    def _is_owner(self) -> bool:
        return self._ownership is None or self._ownership.is_owner

    def _in_segments(self) -> dict[int, int]:
        """The offset of the last entry of each shard in its segments."""
        return {shard: self._segments.shard(shard).last_offset for shard in range(self.progress.shards)}


_BEHIND_S: Final = 0.005  # a timer may wake a millisecond early, and the minute would have two ticks


async def tick_every_minute(appender: LogAppender, *, shards: int, clock: ServiceClock) -> None:
    """Run until cancelled; ticks fall just behind the full minute. A tick is left out while the clock may be wrong."""
    while True:
        await asyncio.sleep((MINUTE_US - clock.now() % MINUTE_US) / SECOND_US + _BEHIND_S)
        if clock.is_doubtful:
            continue
        now = clock.now()
        try:
            await asyncio.gather(*(appender.append(shard, EntryKind.TICK, "", now, b"") for shard in range(shards)))
        except UnavailableError as error:
            log.warning("tick_missed", error=str(error))


async def restore_lost_policies(registry: Registry, owner: Owner) -> None:
    """Append its missing policies to each program; called after the replay, so that late entries do not look lost."""
    for tenant in registry.tenancy.tenants.list_all():
        for place, in_force in registry.policies_by_place(tenant.id):
            question = LackingPolicies(tuple(each.action_id for each in in_force))
            lacking = (await owner.query(place, question)).value if in_force else ()
            for entry in in_force:
                if entry.action_id in lacking:
                    await registry.restore_policy(place, entry)
                    log.warning("lost_policy_restored", program_id=place, version=entry.version)
