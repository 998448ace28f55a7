"""The running flow of one process.

Start   load each shard's newest state snapshot, replay the log's segments after it where Redis no longer holds them,
        then read from Redis
Run     score, commit, take snapshots; every few seconds move committed entries into segments and trim Redis
Stop    apply and commit what the log holds, take a snapshot of each changed shard, all within a deadline
"""

import gc
import sys
from collections.abc import Callable, Sequence
from itertools import count, groupby, islice
from operator import itemgetter
from threading import Event, Thread
from time import monotonic
from typing import Final

import duckdb
import redis
import structlog
from bytewax.dataflow import Dataflow
from bytewax.testing import run_main

from features.shard.shards import Shards
from flows.collector import FlowCollector
from flows.committer import Committer, RecordSink
from flows.log_source import LogSource
from flows.score_bank_events import score_bank_events
from flows.shard_step import ShardChunk, ShardStep, StepContext
from flows.snapshotting import SnapshotWriter, load_state
from store.clock import Clock
from store.duck.database import fold_wal
from store.duck.writer import BatchWriter, Rows, committed_offsets
from store.lake.log_segments import LogSegments
from store.lake.segmenter import Segmenter
from store.record.chain import ChainWriter
from store.redis_log.reader import LogReader
from store.state_snapshots import StateSnapshots

STATE_VERSION: Final = 10
SWITCH_INTERVAL_S: Final = 0.0002
_MAINTENANCE_EVERY_S: Final = 5.0
_CONTROL_EVERY_ROUNDS: Final = 12
_REPLAY_PAGE_ENTRIES: Final = 2_048
GC_THRESHOLDS: Final = (50_000, 50, 1_000_000)

log = structlog.get_logger()


class Engine:
    """Owns the threads that move entries from the log into the state and the store."""

    def __init__(
        self,
        shards: Shards,
        *,
        open_redis: Callable[[], redis.Redis],
        database: duckdb.DuckDBPyConnection,
        snapshots: StateSnapshots,
        segments: LogSegments,
        chains: ChainWriter,
        clock: Clock,
        maintenance_tasks: Sequence[Callable[[], None]] = (),
        on_commit: Callable[[Rows], None] | None = None,
    ) -> None:
        """``maintenance_tasks`` run in every round of maintenance, on the maintenance thread; ``on_commit`` gets the
        rows of each commit, on the committer's.
        """
        self.shards = shards
        self._open_redis, self._database = open_redis, database
        self._snapshots, self._segments, self._clock = snapshots, segments, clock
        self._chains, self._maintenance_tasks, self._on_commit = chains, maintenance_tasks, on_commit
        self._draining, self._stopping, self._stopped = Event(), Event(), Event()
        self._targets: dict[int, int] = {}
        self._flow_failure: str | None = None

    def start(self) -> None:
        """Restore the state and start the threads; catching up with the log goes on in the background."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        gc.set_threshold(*GC_THRESHOLDS)  # a full collection walks all state, and the garbage here has no cycles
        self._chains.open()
        committed = self._restore()
        reader = self._log_reader()
        self._targets = {shard: reader.tail(shard) for shard in range(self.shards.count)}
        self._snapshot_writer = SnapshotWriter(self.shards, self._snapshots)
        self._committer = Committer(
            BatchWriter(self._database, self._chains), self.shards, clock=self._clock, on_commit=self._on_commit
        )
        context = StepContext(self.shards, committed=committed, snapshots=self._snapshot_writer)
        self._committer.start()
        self._replay_segments(context)
        source = LogSource(
            lambda shards: LogReader(self._open_redis(), shards),
            start={shard: self.shards.applied_offset(shard) for shard in range(self.shards.count)},
            draining=self._draining,
            stopping=self._stopping,
        )
        flow = score_bank_events(source, context=context, record=RecordSink(self._committer))
        self._flow_thread = Thread(target=self._run_flow, args=(flow,), name="flow", daemon=True)
        self._maintenance_thread = Thread(target=self._run_maintenance, name="maintenance", daemon=True)
        self._snapshot_writer.start()
        self._flow_thread.start()
        self._maintenance_thread.start()

    @property
    def failure(self) -> str | None:
        """The error that holds up the flow, None while there is none."""
        return self._flow_failure or self._committer.failure

    @property
    def ended(self) -> bool:
        """True when a thread of the flow has ended: nothing is scored until the process is started again."""
        return self._flow_failure is not None or self._committer.ended

    def caught_up(self) -> bool:
        """True once every entry that was in the log at the start is committed."""
        return all(self.shards.committed_offset(shard) >= target for shard, target in self._targets.items())

    def collector(self, *, waiting: Callable[[int], int]) -> FlowCollector:
        """The metrics of the running flow; ``waiting`` counts a shard's entries that are appended and not applied."""
        return FlowCollector(
            self.shards,
            counts=self._committer.counts,
            snapshot_offsets=self._snapshot_writer.written,
            waiting=waiting,
            reader=self._log_reader(),
            clock=self._clock,
        )

    def stop(self, timeout_s: float) -> None:
        """Drain the log, commit and take snapshots; what does not fit into the time is replayed at the next start."""
        deadline = monotonic() + timeout_s
        self._draining.set()
        self._flow_thread.join(max(0.1, timeout_s * 0.5))
        self._stopping.set()
        self._stopped.set()
        self._flow_thread.join(max(0.1, deadline - monotonic()))
        committed = self._committer.close(max(0.1, deadline - monotonic()))
        if committed and not self._flow_thread.is_alive():
            for shard in range(self.shards.count):
                if monotonic() < deadline:
                    self._snapshot_writer.take(shard)
        self._snapshot_writer.close(max(0.1, deadline - monotonic()))
        self._maintenance_thread.join(max(0.1, deadline - monotonic()))

    def _log_reader(self) -> LogReader:
        return LogReader(self._open_redis(), range(self.shards.count))

    def _restore(self) -> dict[int, int]:
        """Load each shard's newest snapshot; returns the committed offset of each shard that has one."""
        committed = committed_offsets(self._database)
        for shard, offset in committed.items():
            self.shards.mark_committed(shard, offset)
        for shard in range(self.shards.count):
            self.shards.restore(load_state(self._snapshots, shard, committed_offset=committed.get(shard, 0)))
        gc.freeze()
        return committed

    def _run_flow(self, flow: Dataflow) -> None:
        try:
            run_main(flow)  # type: ignore[no-untyped-call]
        except BaseException as error:  # noqa: BLE001 - Bytewax raises bare BaseExceptions; all mean that the flow ended
            self._flow_failure = f"{type(error).__name__}: {error}"
            log.critical("flow_failed", error=self._flow_failure)

    def _replay_segments(self, context: StepContext) -> None:
        """Apply the entries behind a shard's snapshot that Redis no longer holds."""
        for shard in range(self.shards.count):
            after = self.shards.applied_offset(shard)
            if after >= self._segments.last_offset(shard):
                continue
            step, entries = ShardStep(context), self._segments.read(shard, after)
            while page := list(islice(entries, _REPLAY_PAGE_ENTRIES)):
                for results in step.on_batch([ShardChunk(shard, page)])[0]:
                    if results.rows:
                        self._committer.put(results)
            log.info("segments_replayed", shard=shard, after=after, upto=self.shards.applied_offset(shard))

    def _run_maintenance(self) -> None:
        """One round every few seconds until the stop. A round that fails is tried again as the next one."""
        reader = self._log_reader()
        segmenter = Segmenter(reader, self._segments)
        for number in count():
            try:
                if number % _CONTROL_EVERY_ROUNDS == 0:
                    self._copy_control_streams(reader)
                self._trim_log(segmenter)
                fold_wal(self._database)  # here and not in a commit, which would wait for it
                for task in self._maintenance_tasks:
                    task()
            except Exception as error:  # noqa: BLE001 - whatever failed: without this thread Redis is never trimmed
                log.warning("maintenance_failed", error=f"{type(error).__name__}: {error}")
            if self._stopped.wait(_MAINTENANCE_EVERY_S):
                return

    def _copy_control_streams(self, reader: LogReader) -> None:
        """Write each tenant's control entries to its segments; Redis keeps them too."""
        for tenant_id, entries in groupby(reader.control(), key=itemgetter(0)):
            self._segments.write_control(tenant_id, entries)

    def _trim_log(self, segmenter: Segmenter) -> None:
        """Move committed entries into segments, and trim from Redis the entries that a segment and a snapshot cover."""
        for shard in range(self.shards.count):
            snapshot_offset = self._snapshot_writer.written.get(shard, 0)
            segmenter.run_once(shard, self.shards.committed_offset(shard), snapshot_offset)
