"""Source of the flow: the shards of the ingest log, each from the offset of its restored state.

Every worker reads its own shards (shard modulo workers). The fewer shards are busy, the more entries of each a read
takes, so batches stay about the same size. Redis blocks the read until the first entry; when entries trickle in, a
short rest between reads gathers several and leaves the processor to the requests that bring them.
"""

import time
from collections.abc import Callable, Iterable
from threading import Event
from typing import Final

import structlog
from bytewax.inputs import DynamicSource, StatelessSourcePartition

from features.core.log_entry import LogEntry
from flows.shard_step import ShardChunk
from store.redis_log.reader import LogReader

BATCH_ENTRIES: Final = 2_048
_LEAST_PER_SHARD: Final = 64
_BLOCK_MS: Final = 50
_RETRY_S: Final = 0.1
_FEW_ENTRIES: Final = 64
_GATHER_S: Final = 0.005

log = structlog.get_logger()


class LogSource(DynamicSource[ShardChunk]):
    """Each shard is read after its offset in ``start``; setting ``draining`` ends the flow at the end of the log."""

    def __init__(
        self, open_reader: Callable[[list[int]], LogReader], *, start: dict[int, int], draining: Event, stopping: Event
    ) -> None:
        self._open_reader, self._start = open_reader, start
        self._draining, self._stopping = draining, stopping

    def build(self, _step_id: str, worker_index: int, worker_count: int) -> "LogPartition":
        shards = [shard for shard in self._start if shard % worker_count == worker_index]
        after = {shard: self._start[shard] for shard in shards}
        return LogPartition(self._open_reader(shards), after, draining=self._draining, stopping=self._stopping)


class LogPartition(StatelessSourcePartition[ShardChunk]):
    """One worker's shards."""

    def __init__(self, reader: LogReader, after: dict[int, int], *, draining: Event, stopping: Event) -> None:
        self._reader, self._after = reader, after
        self._draining, self._stopping = draining, stopping
        self._busy = 1
        self._few = False

    def next_batch(self) -> Iterable[ShardChunk]:
        draining = self._draining.is_set()
        if self._few and not draining:
            time.sleep(_GATHER_S)
        if self._stopping.is_set():
            raise StopIteration
        count = max(_LEAST_PER_SHARD, BATCH_ENTRIES // self._busy)
        try:
            batch = self._reader.read(self._after, count=count, block_ms=0 if draining else _BLOCK_MS)
        except ConnectionError as error:
            log.warning("log_unreachable", error=str(error))
            time.sleep(_RETRY_S)
            return []
        if draining and not batch:
            raise StopIteration
        self._busy = max(1, len(batch))
        self._few = 0 < sum(len(entries) for _, entries in batch) < _FEW_ENTRIES
        return [self._chunk(shard, entries) for shard, entries in batch]

    def _chunk(self, shard: int, entries: list[LogEntry]) -> ShardChunk:
        self._after[shard] = entries[-1].offset
        return ShardChunk(shard, entries)
