"""The writer thread: everything the flow has ready becomes one DuckDB transaction, with the log offsets in it.

While one transaction is written the next one gathers, so batches grow with the load; transactions start at least
``LEAST_INTERVAL_S`` apart, because each costs an fsync and about 10 ms however little is in it. The flow waits when too
much is gathered. A transaction that fails is tried again until it succeeds: its rows exist nowhere else but in the log.
"""

from collections.abc import Iterable
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
from flows.publishing import Publisher
from flows.results import ShardResults
from store.clock import Clock
from store.duck.writer import BatchWriter, Rows

GATHERED_ENTRIES_LIMIT: Final = 8_192
FULL_ENTRIES: Final = 1_024
LEAST_INTERVAL_S: Final = 0.05
_RETRY_S: Final = 1.0

log = structlog.get_logger()


class Committer:
    """Takes results from the flow thread and commits them on its own."""

    def __init__(self, writer: BatchWriter, shards: Shards, *, publisher: Publisher, clock: Clock) -> None:
        self._writer, self._shards, self._publisher, self._clock = writer, shards, publisher, clock
        self._gathered: list[ShardResults] = []
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
        """Hand over one shard's results; waits while too much is gathered."""
        with self._changed:
            self._changed.wait_for(lambda: self._entries < GATHERED_ENTRIES_LIMIT or self._closing)
            self._gathered.append(results)
            self._entries += results.entries
            self._changed.notify_all()

    def close(self, timeout_s: float) -> bool:
        """Commit what is gathered and stop; False when that took too long."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout_s)
        self._abandoned.set()
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._commit_until_closed()
        except BaseException as error:  # noqa: BLE001 - a thread that ends must be heard of
            self.failure = f"{type(error).__name__}: {error}"
            self.ended = True
            log.critical("committer_failed", error=self.failure)

    def _commit_until_closed(self) -> None:
        while True:
            began = monotonic()
            with self._changed:
                self._changed.wait_for(lambda: self._gathered or self._closing)
                pause = began + LEAST_INTERVAL_S - monotonic()
                self._changed.wait_for(lambda: self._entries >= FULL_ENTRIES or self._closing, timeout=max(0.0, pause))
                gathered, self._gathered, self._entries = self._gathered, [], 0
                self._changed.notify_all()
            if not gathered:
                return
            self._commit(gathered)

    def _commit(self, gathered: list[ShardResults]) -> None:
        together: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
        offsets: dict[int, int] = {}
        for results in gathered:
            offsets[results.shard] = results.offset
            for row_type, of_type in results.rows.items():
                together.setdefault(row_type, []).extend(of_type)
        rows: Rows = together
        while not self._abandoned.is_set():
            began = perf_counter()
            try:
                self._writer.commit(rows, offsets, self._clock.now())
            except Exception as error:  # noqa: BLE001 - nothing may be lost: whatever failed, it is tried again
                self.failure = f"{type(error).__name__}: {error}"
                self.counts.commit_failures += 1
                log.error("commit_failed", error=self.failure)  # noqa: TRY400 - the engine's message is enough
                rows, odd = self._writer.without_invalid_rows(rows, self._clock.now())
                if not odd:
                    self._abandoned.wait(_RETRY_S)
                continue
            self.failure = None
            self._count(gathered, rows, seconds=perf_counter() - began)
            for shard, offset in offsets.items():
                self._shards.mark_committed(shard, offset)
            self._publisher.publish(gathered)
            return

    def _count(self, gathered: list[ShardResults], rows: Rows, *, seconds: float) -> None:
        counts, now = self.counts, self._clock.now()
        counts.commit_seconds.add(seconds)
        counts.batch_entries.add(sum(results.entries for results in gathered))
        counts.quarantined += len(rows.get(QuarantineRow, ()))
        for results in gathered:
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
