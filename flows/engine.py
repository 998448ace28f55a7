"""The running flow of one process: restore, replay, score, commit, checkpoint, let go of the log's tail, stop.

Start   the newest checkpoint of each shard, then the log's segments after it if Redis no longer holds them, then Redis
Stop    what the log holds is applied and committed, each changed shard is checkpointed, all within a deadline
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
from flows.publishing import Publisher
from flows.results import ShardChunk
from flows.score_bank_events import score_bank_events
from flows.shard_step import ShardStep, StepContext
from flows.snapshotting import Checkpointer, load_state
from store.clock import Clock
from store.duck.database import fold_wal
from store.duck.writer import BatchWriter, committed_offsets
from store.lake.log_segments import LogSegments
from store.lake.segmenter import Segmenter
from store.record.chain import ChainWriter
from store.redis_log.hot_views import HotViews
from store.redis_log.reader import LogReader
from store.state_snapshots import StateSnapshots

STATE_VERSION: Final = 8
SWITCH_INTERVAL_S: Final = 0.0002
_HOUSEKEEPING_S: Final = 5.0
_CONTROL_TURNS: Final = 12
_REPLAY_PAGE: Final = 2_048
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
        checkpoints: StateSnapshots,
        segments: LogSegments,
        chains: ChainWriter,
        clock: Clock,
        maintenance_tasks: Sequence[Callable[[], None]] = (),
    ) -> None:
        """``maintenance_tasks`` are what else is done again and again, on the housekeeper's thread."""
        self.shards = shards
        self._open_redis, self._database = open_redis, database
        self._checkpoints, self._segments, self._clock = checkpoints, segments, clock
        self._chains, self._chores = chains, maintenance_tasks
        self._draining, self._stopping, self._stopped = Event(), Event(), Event()
        self._targets: dict[int, int] = {}
        self._flow_failure: str | None = None

    def start(self) -> None:
        """Restore the state and start the threads; the log is caught up with in the background."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        gc.set_threshold(*GC_THRESHOLDS)  # a full collection walks all state; what makes garbage here holds no cycles
        self._chains.open()
        committed = committed_offsets(self._database)
        for shard, offset in committed.items():
            self.shards.mark_committed(shard, offset)
        for shard in range(self.shards.count):
            self.shards.restore(load_state(self._checkpoints, shard, committed_offset=committed.get(shard, 0)))
        gc.freeze()
        reader = LogReader(self._open_redis(), range(self.shards.count))
        self._targets = {shard: reader.tail(shard) for shard in range(self.shards.count)}
        self._checkpointer = Checkpointer(self.shards, self._checkpoints)
        self._committer = Committer(
            BatchWriter(self._database, self._chains),
            self.shards,
            publisher=Publisher(HotViews(self._open_redis()), self.shards),
            clock=self._clock,
        )
        context = StepContext(self.shards, committed=committed, snapshots=self._checkpointer)
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
        self._housekeeper = Thread(target=self._run_maintenance, name="housekeeper", daemon=True)
        self._checkpointer.start()
        self._flow_thread.start()
        self._housekeeper.start()

    @property
    def failure(self) -> str | None:
        """Why the flow does not get on, if it does not."""
        return self._flow_failure or self._committer.failure

    @property
    def ended(self) -> bool:
        """True when a thread of the flow is gone: nothing will be scored any more until the process starts again."""
        return self._flow_failure is not None or self._committer.ended

    def caught_up(self) -> bool:
        """True once everything that the log held at the start is committed."""
        return all(self.shards.committed_offset(shard) >= target for shard, target in self._targets.items())

    def collector(self, *, waiting: Callable[[int], int]) -> FlowCollector:
        """The numbers of the running flow; ``waiting`` counts a shard's entries that are appended and not applied."""
        return FlowCollector(
            self.shards,
            counts=self._committer.counts,
            checkpointed=self._checkpointer.written,
            waiting=waiting,
            reader=LogReader(self._open_redis(), range(self.shards.count)),
            clock=self._clock,
        )

    def stop(self, timeout_s: float) -> None:
        """Drain the log, commit, checkpoint; what does not fit into the time is replayed at the next start."""
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
                    self._checkpointer.take(shard)
        self._checkpointer.close(max(0.1, deadline - monotonic()))
        self._housekeeper.join(max(0.1, deadline - monotonic()))

    def _run_flow(self, flow: Dataflow) -> None:
        try:
            run_main(flow)  # type: ignore[no-untyped-call]
        except BaseException as error:  # noqa: BLE001 - Bytewax raises bare BaseExceptions; all mean that the flow ended
            self._flow_failure = f"{type(error).__name__}: {error}"
            log.critical("flow_failed", error=self._flow_failure)

    def _replay_segments(self, context: StepContext) -> None:
        """Apply what Redis no longer holds, when a checkpoint is older than that."""
        for shard in range(self.shards.count):
            after = self.shards.applied_offset(shard)
            if after >= self._segments.last_offset(shard):
                continue
            step, entries = ShardStep(context), self._segments.read(shard, after)
            while page := list(islice(entries, _REPLAY_PAGE)):
                for results in step.on_batch([ShardChunk(shard, page)])[0]:
                    if results.rows:
                        self._committer.put(results)
            log.info("segments_replayed", shard=shard, after=after, upto=self.shards.applied_offset(shard))

    def _run_maintenance(self) -> None:
        """Round after round until the stop; what fails is tried again in the next one."""
        reader = LogReader(self._open_redis(), range(self.shards.count))
        segmenter = Segmenter(reader, self._segments)
        for turn in count():
            try:
                if turn % _CONTROL_TURNS == 0:
                    for tenant_id, entries in groupby(reader.control(), key=itemgetter(0)):
                        self._segments.write_control(tenant_id, entries)
                self._trim_log(segmenter)
                fold_wal(self._database)  # outside of any commit, which would wait for it
                for chore in self._chores:
                    chore()
            except Exception as error:  # noqa: BLE001 - whatever failed: without this thread Redis is never trimmed
                log.warning("housekeeping_failed", error=f"{type(error).__name__}: {error}")
            if self._stopped.wait(_HOUSEKEEPING_S):
                return

    def _trim_log(self, segmenter: Segmenter) -> None:
        """Move committed entries into segments, and let Redis forget what segments and a checkpoint hold."""
        for shard in range(self.shards.count):
            held = self._checkpointer.written.get(shard, 0)
            segmenter.run_once(shard, self.shards.committed_offset(shard), held)
