"""Source of the flow: the shards of the ingest log, each from the offset of its restored state.

Every worker reads its own shards (shard modulo workers). The fewer shards are busy, the more entries of each a read
takes, so batches keep their size. A read waits for the first entry; when entries are few, a short pause between reads
gathers several and leaves the processor to the requests.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event
from typing import Final, Protocol

import structlog
from bytewax.inputs import DynamicSource, StatelessSourcePartition

from clearhold.features.core.log_entry import LogEntry
from clearhold.flows.stream.shard_step import ShardChunk

BATCH_ENTRIES: Final = 2_048
_LEAST_PER_SHARD: Final = 64
_BLOCK_MS: Final = 50
_RETRY_S: Final = 0.1
_FEW_ENTRIES: Final = 1_024
_GATHER_S: Final = 0.04  # a batch costs about 6 ms however small

log = structlog.get_logger()


class Reader(Protocol):
    """A log of shards, each a sequence of entries, as in ``LogReader``.

    Built-in ``ConnectionError`` while the log is unreachable; any other error ends the scoring.
    """

    def read(self, after: Mapping[int, int], *, count: int, block_ms: int) -> list[tuple[int, list[LogEntry]]]: ...

    def tail(self, shard: int) -> int: ...


class LogSource(DynamicSource[ShardChunk]):
    """Each shard is read after its offset in ``start``; setting ``draining`` ends the flow at the end of the log."""

    def __init__(
        self,
        open_reader: Callable[[Sequence[int]], Reader],
        *,
        start: Mapping[int, int],
        pause: Callable[[float], None],
        draining: Event,
        stopping: Event,
    ) -> None:
        """``pause`` is called instead of sleeping."""
        self._open_reader, self._start, self._pause = open_reader, start, pause
        self._draining, self._stopping = draining, stopping

    def build(self, _step_id: str, worker_index: int, worker_count: int) -> "LogPartition":
        shards = [shard for shard in self._start if shard % worker_count == worker_index]
        after = {shard: self._start[shard] for shard in shards}
        reader = self._open_reader(shards)
        return LogPartition(reader, after, pause=self._pause, draining=self._draining, stopping=self._stopping)


class LogPartition(StatelessSourcePartition[ShardChunk]):
    """One worker's shards."""

    def __init__(
        self,
        reader: Reader,
        after: dict[int, int],
        *,
        pause: Callable[[float], None],
        draining: Event,
        stopping: Event,
    ) -> None:
        self._reader, self._after, self._pause = reader, after, pause
        self._draining, self._stopping = draining, stopping
        self._busy = 1
        self._few = False

    def next_batch(self) -> Iterable[ShardChunk]:
        draining = self._draining.is_set()
        if self._few and not draining:
            self._pause(_GATHER_S)
        if self._stopping.is_set():
            raise StopIteration
        count = max(_LEAST_PER_SHARD, BATCH_ENTRIES // self._busy)
        try:
            batch = self._reader.read(self._after, count=count, block_ms=0 if draining else _BLOCK_MS)
        except ConnectionError as error:
            log.warning("log_unreachable", error=str(error))
            self._pause(_RETRY_S)
            return []
        if draining and not batch:
            raise StopIteration
        self._busy = max(1, len(batch))
        self._few = 0 < sum(len(entries) for _, entries in batch) < _FEW_ENTRIES
        return [self._chunk(shard, entries) for shard, entries in batch]

    def _chunk(self, shard: int, entries: list[LogEntry]) -> ShardChunk:
        self._after[shard] = entries[-1].offset
        return ShardChunk(shard, entries)
