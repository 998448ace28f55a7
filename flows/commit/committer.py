"""The writer thread: commits all results that are ready in one DuckDB transaction, together with their log offsets. And
the flow's metrics, read from their sources at each scrape.

Results queue while a transaction is written, so batches grow with the load. Transactions start at least
``LEAST_INTERVAL_S`` apart, because each costs an fsync and about 10 ms, however small. The flow waits while the queue
is full. A failed transaction is retried until it succeeds: outside the log its rows exist nowhere else.

Unit    seconds; shards by number. Series that need the log are absent while it cannot be reached
"""

from collections.abc import Callable, Iterator, Mapping
from threading import Condition, Event, Lock, Thread
from time import monotonic, perf_counter
from typing import Final

import duckdb
import structlog
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.log_entry import EventResult
from clearhold.flows.running.counts import FlowCounts, counter, gauge, histogram
from clearhold.flows.stream.dataflow import RowBatch
from clearhold.store.clock import Clock
from clearhold.store.duck.database import BatchWriter
from clearhold.store.redis_log.progress import LogProgress
from clearhold.store.redis_log.reader import LogReader, log_time_of
from clearhold.store.scheduling import low_priority
from clearhold.store.tables import RowTables, joined_by_type

QUEUED_ENTRIES_LIMIT: Final = 16_384
FULL_ENTRIES: Final = 1_024
LEAST_INTERVAL_S: Final = 0.1
_RETRY_S: Final = 1.0

log = structlog.get_logger()


BeforeCommit = Callable[[RowTables], None]
"""Called with rows that are about to be committed. It must neither fail nor wait."""

OnCommit = Callable[[RowTables, Mapping[int, int]], None]
"""Called with the committed rows and offsets."""

Outbox = Callable[[RowTables], RowTables]
"""Returns further rows that follow from the rows to be committed. It must not fail."""


class Committer:
    """The ``RowSink`` in front of the tables: takes batches from any thread and commits them on its thread.

    A shard's epoch is 0 for its first owner; a larger one gives the shard to a new owner. A batch of a past epoch is
    dropped whole: its shards have another owner, which reads the same log. Each commit writes the epochs beside its
    offsets: they survive a restart and a loss of Redis. On the committer's thread ``outbox`` is called before a commit
    with its rows, then ``before_commit`` with all rows, once for all its attempts, and ``on_commit`` after it.
    """

    def __init__(
        self,
        writer: BatchWriter,
        progress: LogProgress,
        *,
        clock: Clock,
        epochs: Mapping[int, int],
        before_commit: BeforeCommit | None = None,
        on_commit: OnCommit | None = None,
        outbox: Outbox | None = None,
    ) -> None:
        """``epochs`` are those in the tables."""
        self._writer, self._progress, self._clock = writer, progress, clock
        self._epochs, self._outbox = dict(epochs), outbox
        self._before_commit, self._on_commit = before_commit, on_commit
        self._queue: list[RowBatch] = []
        self._entries = 0
        self._changed = Condition()
        self._closing = False
        self._abandoned = Event()
        self._committing = Lock()
        self._thread = Thread(target=self._run, name="committer", daemon=True)
        self.counts = FlowCounts()
        self.failure: str | None = None
        self.ended = False

    def start(self) -> None:
        self._thread.start()

    def put(self, batch: RowBatch) -> None:
        """Queue a batch; waits while the queue is full, and drops a batch of a past epoch."""
        if not self._is_current(batch):
            return
        with self._changed:
            self._changed.wait_for(lambda: self._entries < QUEUED_ENTRIES_LIMIT or self._closing)
            self._queue.append(batch)
            self._entries += batch.entries
            self._changed.notify_all()
        for shard, offset in batch.offsets.items():
            self._progress.mark_applied(shard, offset)

    def put_rows(self, rows: RowTables) -> None:
        """Queue rows without a log entry; waits while the queue is full. They may be committed twice."""
        entries = sum(table.num_rows for table in rows.values())
        self.put(RowBatch(tables=dict(rows), offsets={}, epochs={}, entries=entries, oldest_at=None))

    def flush(self, timeout_s: float) -> bool:
        """Return once everything queued so far is committed; False if that took too long."""
        with self._changed:
            return self._changed.wait_for(lambda: self._entries == 0, timeout_s)

    def epoch_of(self, shard: int) -> int:
        """The shard's present epoch; its next owner needs a larger one."""
        return self._epochs.get(shard, 0)

    def give_away(self, epochs: Mapping[int, int]) -> dict[int, int]:
        """Let only the owners of these epochs write for their shards; returns the committed offset of each. ValueError
        unless an epoch is newer than the shard's present one.

        No commit of an earlier owner is under way on return, so the new owner can begin at these offsets.
        """
        with self._committing:
            for shard, epoch in epochs.items():
                if epoch <= self.epoch_of(shard):
                    raise ValueError(f"Epoch {epoch} of shard {shard} is not newer than {self.epoch_of(shard)}.")
                self._epochs[shard] = epoch
            return {shard: self._progress.committed_offset(shard) for shard in epochs}

    def _is_current(self, batch: RowBatch) -> bool:
        """Whether it comes from the present owners of its shards."""
        return all(self.epoch_of(shard) == epoch for shard, epoch in batch.epochs.items())

    def close(self, timeout_s: float) -> bool:
        """Commit the queue and stop; False if that took too long."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout_s)
        self._abandoned.set()
        return not self._thread.is_alive()

    def _run(self) -> None:
        low_priority()
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
                batches, self._queue = self._queue, []
            if not batches:
                return
            with self._committing:
                self._commit(batches)
            with self._changed:
                self._entries -= sum(batch.entries for batch in batches)
                self._changed.notify_all()

    def _commit(self, queued: list[RowBatch]) -> None:
        batches = [batch for batch in queued if self._is_current(batch)]
        if not batches:
            return
        rows = joined_by_type(batch.tables for batch in batches)
        if self._outbox is not None:
            rows = joined_by_type((rows, self._outbox(rows)))
        offsets = {shard: offset for batch in batches for shard, offset in batch.offsets.items()}
        epochs = {shard: epoch for batch in batches for shard, epoch in batch.epochs.items()}
        if self._before_commit is not None:
            self._before_commit(rows)
        while not self._abandoned.is_set():
            began = perf_counter()
            try:
                self._writer.commit(rows, offsets, self._clock.now(), epochs=epochs)
            except duckdb.FatalException:  # it takes nothing until it is opened again, by the next start
                raise
            except Exception as error:  # noqa: BLE001 - nothing may be lost: whatever failed is retried
                self.failure = f"{type(error).__name__}: {error}"
                self.counts.commit_failures += 1
                log.error("commit_failed", error=self.failure)  # noqa: TRY400 - the engine's message is enough
                self._abandoned.wait(_RETRY_S)
                continue
            self.failure = None
            self._count(batches, seconds=perf_counter() - began)
            self._progress.mark_committed(offsets)
            if self._on_commit is not None:
                self._on_commit(rows, offsets)
            return

    def _count(self, batches: list[RowBatch], *, seconds: float) -> None:
        counts, now = self.counts, self._clock.now()
        counts.commit_seconds.add(seconds)
        counts.batch_entries.add(sum(batch.entries for batch in batches))
        for batch in batches:
            counts.quarantined += batch.quarantined
            counts.events.update(batch.event_results)
            if batch.oldest_at is not None:
                counts.lag_seconds.add(max(0, now - batch.oldest_at) / SECOND_US)


EVERY_US: Final = 60 * SECOND_US

_WITHOUT_EFFECT: Final = (EventResult.UNUSABLE, EventResult.UNKNOWN, EventResult.CONFLICTING, EventResult.FAILED)


class EventTally:
    """Logs the results of bank events once a minute, when there were any; for the maintenance thread."""

    def __init__(self, counts: FlowCounts, clock: Clock) -> None:
        self._counts, self._clock = counts, clock
        self._logged = counts.events.copy()
        self._logged_at = clock.now()

    def log_when_due(self) -> None:
        now = self._clock.now()
        if abs(now - self._logged_at) >= EVERY_US:  # abs: the clock may have been ahead
            self._logged_at = now
            self.log_new()

    def log_new(self) -> None:
        """Log the events since the last line; as a warning when some had no effect although they should have."""
        counts = self._counts.events.copy()
        new, self._logged = counts - self._logged, counts
        if new:
            write = log.warning if any(new[result] for result in _WITHOUT_EFFECT) else log.info
            write("bank_events", **dict(sorted(new.items())))


class FlowCollector(Collector):
    """``snapshot_offsets`` gives the offset of each shard's newest state snapshot; ``waiting`` counts a shard's entries
    that this process appended and the flow has not applied. The reader belongs to this collector alone.
    """

    def __init__(
        self,
        progress: LogProgress,
        *,
        counts: FlowCounts,
        snapshot_offsets: Callable[[], Mapping[int, int]],
        waiting: Callable[[int], int],
        reader: LogReader,
        clock: Clock,
    ) -> None:
        self._progress, self._counts, self._snapshot_offsets = progress, counts, snapshot_offsets
        self._waiting, self._reader, self._clock = waiting, reader, clock

    def collect(self) -> Iterator[Metric]:
        counts = self._counts
        yield histogram("clearhold_ingest_lag_seconds", "Append to commit, the oldest of a batch.", counts.lag_seconds)
        yield histogram("clearhold_flow_batch_entries", "Log entries in one commit.", counts.batch_entries)
        yield histogram("clearhold_flow_commit_duration_seconds", "Duration of one commit.", counts.commit_seconds)
        yield counter("clearhold_flow_quarantined_entries", "Entries quarantined as unreadable.", counts.quarantined)
        events = {result.value: counts.events[result] for result in EventResult}
        yield counter("clearhold_events", "Bank events by result.", events, "result")
        yield counter("clearhold_flow_commit_failures", "Commits that failed.", counts.commit_failures)
        waiting = {str(shard): self._waiting(shard) for shard in range(self._progress.shards)}
        appended = "Entries appended by this process and not applied yet."
        yield gauge("clearhold_flow_behind_entries", appended, waiting, "shard")
        # Older than the signed checkpoints; dashboards depend on the name.
        age = "Age of the last log entry in the shard's newest state snapshot."
        yield gauge("clearhold_checkpoint_age_seconds", age, self._snapshot_ages(), "shard")
        yield from self._behind()

    def _snapshot_ages(self) -> Mapping[str, float]:
        """In the log's time, so that a snapshot of an earlier process has its real age."""
        now = self._clock.now()
        offsets = dict(self._snapshot_offsets())  # Copied: another thread writes to it.
        return {
            str(shard): max(0, now - log_time_of(offset)) / SECOND_US for shard, offset in offsets.items() if offset
        }

    def _behind(self) -> Iterator[Metric]:
        try:
            now, progress = self._clock.now(), self._progress
            ages = [behind(self._reader, progress, shard, now=now) for shard in range(progress.shards)]
            seconds = {str(shard): age / SECOND_US for shard, age in enumerate(ages)}
        except ConnectionError:  # The gauge shows it, and the flow's own reader logs it.
            seconds = {}
        yield gauge("clearhold_log_reachable", "1 while Redis answers, else 0.", bool(seconds))
        if seconds:
            oldest = "Age of the oldest entry that is not committed."
            yield gauge("clearhold_flow_behind_seconds", oldest, seconds, "shard")


def behind(reader: LogReader, progress: LogProgress, shard: int, *, now: int) -> int:
    """The age of the oldest entry of a shard that is not committed, in microseconds; 0 without one."""
    oldest = reader.range(shard, progress.committed_offset(shard), reader.tail(shard), count=1)
    return max(0, now - oldest[0].appended_at) if oldest else 0
