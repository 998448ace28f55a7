"""The parts of the dataflow: the log as its source, the stateful step of a shard, its results as columns for a sink.

Source  every worker reads its own shards (shard modulo workers), each from the offset of its restored state. The fewer
        shards are busy, the more entries of each a read takes, so batches keep their size. A read waits for the first
        entry; when entries are few, a short pause between reads gathers several and leaves the processor to the
        requests. A page has entries of every busy shard, and a time for each of them: half of the page's time in equal
        parts, half by their entries. The entries that were not applied in it are read again, into the next page
Step    applies a shard's entries in log order until their time is over, and returns one list of rows for each batch
Sink    the rows of a batch of entries as tables of columns, and the offsets after them. One process may create a batch
        and another commit it, so a batch has a form in bytes: a length, a header in MessagePack, then the tables, each
        as an Arrow stream at a multiple of 64 bytes
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import Event
from time import monotonic
from typing import Final, NamedTuple, Protocol

import msgspec
import pyarrow as pa
import structlog
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from clearhold.features.core.log_entry import LogEntry, no_rows
from clearhold.features.core.rows.events import EventRow, QuarantineRow
from clearhold.features.shard.shard import Shards
from clearhold.flows.stream.live_entries import live_entries
from clearhold.store.tables import nothing, row_tables


class ShardChunk(msgspec.Struct, gc=False):
    """Entries of one shard, in log order; after ``within_s`` of work the rest of them is left."""

    shard: int
    entries: list[LogEntry]
    within_s: float = math.inf


class ShardResults:
    """The rows of one shard's share of a batch, by row type, and the shard's new offset.

    ``oldest_at`` is the append time of the first entry that was not committed before, or None.
    """

    __slots__ = ("entries", "offset", "oldest_at", "rows", "shard")

    def __init__(self, shard: int) -> None:
        self.shard = shard
        self.offset = 0
        self.entries = 0
        self.oldest_at: int | None = None
        self.rows: defaultdict[type[msgspec.Struct], list[msgspec.Struct]] = defaultdict(list)

    @property
    def is_committed(self) -> bool:
        """Whether all its entries were committed before: there is nothing to write."""
        return self.oldest_at is None

    def emit(self, row: msgspec.Struct) -> None:
        self.rows[type(row)].append(row)


OfferSnapshot = Callable[[int, int], None]
"""Called with a shard and the number of entries just applied: takes a snapshot of its state if one is due."""


class StepContext(NamedTuple):
    """Shared by all shard steps of this process. ``committed`` holds each shard's committed offset at the start.

    Entries up to that offset change the state and produce no rows: the tables have them. ``now_s`` is any clock in
    seconds; it says where a page ends, and the newest version of a row does not depend on that.
    """

    shards: Shards
    committed: Mapping[int, int]
    offer_snapshot: OfferSnapshot
    between_entries: Callable[[], None] = nothing
    now_s: Callable[[], float] = monotonic


class ShardStep(StatefulBatchLogic[ShardChunk, ShardResults, None]):
    """One shard. Its state lives in ``Shards``, where pre-flight reads it; Bytewax's own recovery is not used."""

    def __init__(self, context: StepContext) -> None:
        self._context = context

    def on_batch(self, values: list[ShardChunk]) -> tuple[Iterable[ShardResults], bool]:
        return [self._applied(chunk) for chunk in values], StatefulBatchLogic.RETAIN

    def _applied(self, chunk: ShardChunk) -> ShardResults:
        context = self._context
        committed = context.committed.get(chunk.shard, 0)
        results = ShardResults(chunk.shard)
        apply, between_entries, now_s = context.shards.apply, context.between_entries, context.now_s
        ends_at = now_s() + chunk.within_s
        for entry in chunk.entries:
            between_entries()
            is_new = entry.offset > committed
            apply(entry, results.emit if is_new else no_rows, ends_page=False)
            results.entries += 1
            results.offset = entry.offset
            if is_new and results.oldest_at is None:
                results.oldest_at = entry.appended_at
            if now_s() >= ends_at:
                break
        while context.shards.write_alert(entry, results.emit):
            between_entries()
        context.offer_snapshot(chunk.shard, results.entries)
        return results

    def snapshot(self) -> None:
        return None


_LENGTH_BYTES: Final = 8
_ALIGNED: Final = 64  # tables are read in place, so each begins at an aligned address


class RowBatch(msgspec.Struct, frozen=True):
    """``tables`` by the name of the row type; ``oldest_at`` is the append time of the first entry not committed
    before, or None; ``epochs`` are those under which the shards are owned.
    """

    tables: dict[str, pa.Table]
    offsets: dict[int, int]
    epochs: dict[int, int]
    entries: int
    oldest_at: int | None

    @property
    def quarantined(self) -> int:
        table = self.tables.get(QuarantineRow.__name__)
        return 0 if table is None else int(table.num_rows)

    @property
    def event_results(self) -> Counter[str]:
        """The number of bank events with each result."""
        table = self.tables.get(EventRow.__name__)
        return Counter() if table is None else Counter(map(str, table.column("result").to_pylist()))


class RowSink(Protocol):
    """Takes the rows of shards to be committed, in order."""

    def put(self, batch: RowBatch) -> None:
        """Hand over a batch; waits while there is no room."""
        ...


class _Header(msgspec.Struct, array_like=True):
    offsets: dict[int, int]
    epochs: dict[int, int]
    entries: int
    oldest_at: int | None
    tables: list[tuple[str, int]]


_ENCODER: Final = msgspec.msgpack.Encoder()
_HEADERS: Final = msgspec.msgpack.Decoder(_Header)


def batch_of(
    results: Sequence[ShardResults],
    epochs: dict[int, int],
    *,
    between: Callable[[], None] = nothing,
    with_live: bool = False,
) -> RowBatch:
    """The results of one or several shards as one batch, ``with_live`` with the entries of the live streams;
    ``between`` is called before each column.
    """
    rows: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
    for each in results:
        for kind, of_kind in each.rows.items():
            rows.setdefault(kind, []).extend(of_kind)
    offsets = {each.shard: each.offset for each in results}
    tables = row_tables(rows, between=between)
    if with_live:
        tables |= live_entries(rows, tables, between)
    return RowBatch(
        tables=tables,
        offsets=offsets,
        epochs={shard: epochs.get(shard, 0) for shard in offsets},
        entries=sum(each.entries for each in results),
        oldest_at=min((each.oldest_at for each in results if each.oldest_at is not None), default=None),
    )


def encoded(batch: RowBatch) -> list[bytes | memoryview]:
    """The parts of the batch's bytes, in order, copied only where necessary."""
    streams = {name: stream_of(table) for name, table in batch.tables.items()}
    sizes = [(name, stream.size) for name, stream in streams.items()]
    header = _ENCODER.encode(_Header(batch.offsets, batch.epochs, batch.entries, batch.oldest_at, sizes))
    parts: list[bytes | memoryview] = [len(header).to_bytes(_LENGTH_BYTES, "big") + header]
    parts.append(bytes(-len(parts[0]) % _ALIGNED))
    for stream in streams.values():
        parts += (memoryview(stream), bytes(-stream.size % _ALIGNED))
    return parts


def decoded(data: memoryview) -> RowBatch:
    """The batch; its tables refer to ``data``."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "big")
    at = _LENGTH_BYTES + length
    header = _HEADERS.decode(data[_LENGTH_BYTES:at])
    at += -at % _ALIGNED
    tables: dict[str, pa.Table] = {}
    for name, size in header.tables:
        tables[name] = pa.ipc.open_stream(pa.py_buffer(data[at : at + size])).read_all()
        at += size + -size % _ALIGNED
    return RowBatch(tables, header.offsets, header.epochs, header.entries, header.oldest_at)


def stream_of(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


NO_EPOCHS: Final[dict[int, int]] = {}

Result = tuple[str, ShardResults]


class RecordSink(DynamicSink[Result]):
    """The sink of the flow: hands the results of a batch on as one batch of columns.

    ``epochs`` are those under which this process owns its shards; ``between`` is called before each column. Batches
    have entries of the live streams ``with_live``.
    """

    def __init__(
        self,
        sink: RowSink,
        epochs: dict[int, int] = NO_EPOCHS,
        *,
        between: Callable[[], None] = nothing,
        with_live: bool = False,
    ) -> None:
        self._sink, self._epochs, self._between, self._with_live = sink, epochs, between, with_live

    def build(self, _step_id: str, _worker_index: int, _worker_count: int) -> "RecordPartition":
        return RecordPartition(
            self._sink, partial(batch_of, epochs=self._epochs, between=self._between, with_live=self._with_live)
        )


class RecordPartition(StatelessSinkPartition[Result]):
    def __init__(self, sink: RowSink, batch: Callable[[Sequence[ShardResults]], RowBatch]) -> None:
        self._sink, self._batch = sink, batch

    def write_batch(self, items: list[Result]) -> None:
        new = [results for _, results in items if not results.is_committed]
        if new:
            self._sink.put(self._batch(new))


BATCH_ENTRIES: Final = 2_048
PAGE_S: Final = 0.5
"""The time for applying a page; new entries of other shards wait for its end."""

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
    """Each of the ``shards`` is read after the offset that ``applied`` returns; setting ``draining`` ends the flow at
    the end of the log.
    """

    def __init__(
        self,
        open_reader: Callable[[Sequence[int]], Reader],
        *,
        shards: Sequence[int],
        applied: Callable[[int], int],
        pause: Callable[[float], None],
        draining: Event,
        stopping: Event,
    ) -> None:
        """``pause`` is called instead of sleeping."""
        self.open_reader, self.shards, self.applied, self.pause = open_reader, shards, applied, pause
        self.draining, self.stopping = draining, stopping

    def build(self, _step_id: str, worker_index: int, worker_count: int) -> "LogPartition":
        return LogPartition(self, [shard for shard in self.shards if shard % worker_count == worker_index])


class LogPartition(StatelessSourcePartition[ShardChunk]):
    """One worker's shards. Bytewax asks for a page when the last one has passed through the flow."""

    def __init__(self, source: LogSource, shards: Sequence[int]) -> None:
        self._reader, self._shards, self._applied = source.open_reader(shards), shards, source.applied
        self._pause, self._draining, self._stopping = source.pause, source.draining, source.stopping
        self._read_upto: dict[int, int] = {}
        self._busy = 1
        self._few = False

    def next_batch(self) -> Iterable[ShardChunk]:
        draining = self._draining.is_set()
        after = {shard: self._applied(shard) for shard in self._shards}
        if self._few and after == self._read_upto and not draining:
            self._pause(_GATHER_S)
        if self._stopping.is_set():
            raise StopIteration
        count = max(_LEAST_PER_SHARD, BATCH_ENTRIES // self._busy)
        try:
            page = self._reader.read(after, count=count, block_ms=0 if draining else _BLOCK_MS)
        except ConnectionError as error:
            log.warning("log_unreachable", error=str(error))
            self._pause(_RETRY_S)
            return []
        if draining and not page:
            raise StopIteration
        self._read_upto = after | {shard: entries[-1].offset for shard, entries in page}
        self._busy = max(1, len(page))
        total = sum(len(entries) for _, entries in page)
        self._few = 0 < total < _FEW_ENTRIES
        return [
            ShardChunk(shard, entries, PAGE_S / 2 * (1 / len(page) + len(entries) / total)) for shard, entries in page
        ]
