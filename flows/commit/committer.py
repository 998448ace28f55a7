"""The writer thread: commits all results that are ready in one DuckDB transaction, together with their log offsets.

Results queue while a transaction is written, so batches grow with the load. Transactions start at least
``LEAST_INTERVAL_S`` apart, because each costs an fsync and about 10 ms, however small. The flow waits while the queue
is full. A failed transaction is retried until it succeeds: outside the log its rows exist nowhere else.
"""

from collections.abc import Callable, Mapping
from threading import Condition, Event, Lock, Thread
from time import monotonic, perf_counter
from typing import Final

import structlog

from clearhold.features.core.instants import SECOND_US
from clearhold.flows.running.counts import FlowCounts
from clearhold.flows.stream.row_batch import RowBatch
from clearhold.store.clock import Clock
from clearhold.store.duck.writer import BatchWriter
from clearhold.store.redis_log.offsets import LogProgress
from clearhold.store.tables.row_tables import RowTables, joined_by_type
from clearhold.store.time_slice import low_priority


class Epochs:
    """The present epoch of every shard, 0 for the first owner. Written by one thread, read by any.

    A larger epoch gives a shard to a new owner. Rows of the former owner carry the older epoch and are refused, so two
    owners do no harm. Each commit writes the epochs beside its offsets: they survive a restart and a loss of Redis.
    """

    def __init__(self, shards: int, committed: Mapping[int, int]) -> None:
        """``committed`` holds the epochs in the tables."""
        self._of = [committed.get(shard, 0) for shard in range(shards)]

    def of(self, shard: int) -> int:
        return self._of[shard]

    def set(self, shard: int, epoch: int) -> None:
        """Give the shard to the owner of that epoch; ValueError unless it is newer than the present one."""
        if epoch <= self._of[shard]:
            raise ValueError(f"Epoch {epoch} of shard {shard} is not newer than {self._of[shard]}.")
        self._of[shard] = epoch

    def are_current(self, epochs: Mapping[int, int]) -> bool:
        """Whether a batch of these shards and epochs comes from their present owners."""
        return all(self._of[shard] == epoch for shard, epoch in epochs.items())


QUEUED_ENTRIES_LIMIT: Final = 16_384
FULL_ENTRIES: Final = 1_024
LEAST_INTERVAL_S: Final = 0.1
_RETRY_S: Final = 1.0

log = structlog.get_logger()


OnCommit = Callable[[RowTables, Mapping[int, int]], None]
"""Called with the committed rows and offsets."""

Outbox = Callable[[RowTables], RowTables]
"""Returns further rows that follow from the rows to be committed. It must not fail."""


class Committer:
    """The ``RowSink`` in front of the tables: takes batches from any thread and commits them on its thread.

    A batch of a past epoch is dropped whole: its shards have another owner, which reads the same log. On the
    committer's thread ``outbox`` is called before a commit with its rows, and ``on_commit`` after it.
    """

    def __init__(
        self,
        writer: BatchWriter,
        progress: LogProgress,
        *,
        clock: Clock,
        epochs: Epochs,
        on_commit: OnCommit | None = None,
        outbox: Outbox | None = None,
    ) -> None:
        self._writer, self._progress, self._clock = writer, progress, clock
        self._epochs, self._on_commit, self._outbox = epochs, on_commit, outbox
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
        if not self._epochs.are_current(batch.epochs):
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
        return self._epochs.of(shard)

    def give_away(self, epochs: Mapping[int, int]) -> dict[int, int]:
        """Let only the owners of these epochs write for their shards; returns the committed offset of each.

        No commit of an earlier owner is under way on return, so the new owner can begin at these offsets.
        """
        with self._committing:
            for shard, epoch in epochs.items():
                self._epochs.set(shard, epoch)
            return {shard: self._progress.committed_offset(shard) for shard in epochs}

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
        batches = [batch for batch in queued if self._epochs.are_current(batch.epochs)]
        if not batches:
            return
        rows = joined_by_type(batch.tables for batch in batches)
        if self._outbox is not None:
            rows = joined_by_type((rows, self._outbox(rows)))
        offsets = {shard: offset for batch in batches for shard, offset in batch.offsets.items()}
        epochs = {shard: epoch for batch in batches for shard, epoch in batch.epochs.items()}
        while not self._abandoned.is_set():
            began = perf_counter()
            try:
                self._writer.commit(rows, offsets, self._clock.now(), epochs=epochs)
            except Exception as error:  # noqa: BLE001 - nothing may be lost: whatever failed is retried
                self.failure = f"{type(error).__name__}: {error}"
                self.counts.commit_failures += 1
                log.error("commit_failed", error=self.failure)  # noqa: TRY400 - the engine's message is enough
                self._abandoned.wait(_RETRY_S)
                continue
            self.failure = None
            self._count(batches, seconds=perf_counter() - began)
            for shard, offset in offsets.items():
                self._progress.mark_committed(shard, offset)
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
