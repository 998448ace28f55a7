"""The writer thread: commits all results that are ready in one DuckDB transaction, together with their log offsets.

Results queue while a transaction is written, so batches grow with the load. Transactions start at least
``LEAST_INTERVAL_S`` apart, because each costs an fsync and about 10 ms however little is in it. The flow waits while
the queue is full. A transaction that fails is retried until it succeeds: outside the log its rows exist nowhere else.
"""

from collections.abc import Callable, Iterable
from threading import Condition, Event, Thread
from time import monotonic, perf_counter
from typing import Final

import msgspec
import structlog
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from features.core.instants import SECOND_US
from features.core.rows.events import QuarantineRow
from features.shard.shards import Shards
from flows.counts import FlowCounts
from flows.shard_step import ShardResults
from store.clock import Clock
from store.duck.writer import BatchWriter, Rows

QUEUED_ENTRIES_LIMIT: Final = 8_192
FULL_ENTRIES: Final = 1_024
LEAST_INTERVAL_S: Final = 0.05
_RETRY_S: Final = 1.0

log = structlog.get_logger()


class Committer:
    """Takes results from the flow thread and commits them on its own."""

    def __init__(
        self, writer: BatchWriter, shards: Shards, *, clock: Clock, on_commit: Callable[[Rows], None] | None = None
    ) -> None:
        """``on_commit`` gets the rows of each commit, on this thread: it must neither fail nor wait."""
        self._writer, self._shards, self._clock, self._on_commit = writer, shards, clock, on_commit
        self._queue: list[ShardResults] = []
        self._entries = 0
        self._changed = Condition()
        self._closing = False
        self._abandoned = Event()
        self._thread = Thread(target=self._run, name="committer", daemon=True)
        self.counts = FlowCounts()
        self.failure: str | None = None
        self.ended = False

    def start(self) -> None:
        self._thread.start()

    def put(self, results: ShardResults) -> None:
        """Queue one shard's results; waits while the queue is full."""
        with self._changed:
            self._changed.wait_for(lambda: self._entries < QUEUED_ENTRIES_LIMIT or self._closing)
            self._queue.append(results)
            self._entries += results.entries
            self._changed.notify_all()

    def close(self, timeout_s: float) -> bool:
        """Commit the queue and stop; False if that took too long."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout_s)
        self._abandoned.set()
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._commit_until_closed()
        except BaseException as error:  # noqa: BLE001 - a thread must not end unnoticed
            self.failure = f"{type(error).__name__}: {error}"
            self.ended = True
            log.critical("committer_failed", error=self.failure)

    def _commit_until_closed(self) -> None:
        while True:
            began = monotonic()
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closing)
                pause = began + LEAST_INTERVAL_S - monotonic()
                self._changed.wait_for(lambda: self._entries >= FULL_ENTRIES or self._closing, timeout=max(0.0, pause))
                batch, self._queue, self._entries = self._queue, [], 0
                self._changed.notify_all()
            if not batch:
                return
            self._commit(batch)

    def _commit(self, batch: list[ShardResults]) -> None:
        by_type: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
        offsets: dict[int, int] = {}
        for results in batch:
            offsets[results.shard] = results.offset
            for row_type, of_type in results.rows.items():
                by_type.setdefault(row_type, []).extend(of_type)
        rows: Rows = by_type
        while not self._abandoned.is_set():
            began = perf_counter()
            try:
                self._writer.commit(rows, offsets, self._clock.now())
            except Exception as error:  # noqa: BLE001 - nothing may be lost: whatever failed is retried
                self.failure = f"{type(error).__name__}: {error}"
                self.counts.commit_failures += 1
                log.error("commit_failed", error=self.failure)  # noqa: TRY400 - the engine's message is enough
                rows, invalid = self._writer.without_invalid_rows(rows, self._clock.now())
                if not invalid:
                    self._abandoned.wait(_RETRY_S)
                continue
            self.failure = None
            self._count(batch, rows, seconds=perf_counter() - began)
            for shard, offset in offsets.items():
                self._shards.mark_committed(shard, offset)
            if self._on_commit is not None:
                self._on_commit(rows)
            return

    def _count(self, batch: list[ShardResults], rows: Rows, *, seconds: float) -> None:
        counts, now = self.counts, self._clock.now()
        counts.commit_seconds.add(seconds)
        counts.batch_entries.add(sum(results.entries for results in batch))
        counts.quarantined += len(rows.get(QuarantineRow, ()))
        for results in batch:
            if results.oldest_at is not None:
                counts.lag_seconds.add(max(0, now - results.oldest_at) / SECOND_US)


class RecordSink(DynamicSink[tuple[str, ShardResults]]):
    """Hands results to the committer."""

    def __init__(self, committer: Committer) -> None:
        self._committer = committer

    def build(self, _step_id: str, _worker_index: int, _worker_count: int) -> "RecordPartition":
        return RecordPartition(self._committer)


class RecordPartition(StatelessSinkPartition[tuple[str, ShardResults]]):
    def __init__(self, committer: Committer) -> None:
        self._committer = committer

    def write_batch(self, items: Iterable[tuple[str, ShardResults]]) -> None:
        for _, results in items:
            self._committer.put(results)
