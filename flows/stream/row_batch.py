"""The output of the shards: the rows of a batch of entries as tables of columns, and the offsets after them.

One process may create a batch and another commit it, so a batch has a form in bytes: a length, a header in MessagePack,
then the tables, each as an Arrow stream at a multiple of 64 bytes.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec
import pyarrow as pa
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from clearhold.features.core.rows.events import EventRow, QuarantineRow
from clearhold.flows.stream.shard_step import ShardResults
from clearhold.store.tables.columns import nothing
from clearhold.store.tables.row_tables import row_tables

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
    results: Sequence[ShardResults], epochs: dict[int, int], *, between: Callable[[], None] = nothing
) -> RowBatch:
    """The results of one or several shards as one batch; ``between`` is called before each column."""
    rows: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
    for each in results:
        for kind, of_kind in each.rows.items():
            rows.setdefault(kind, []).extend(of_kind)
    offsets = {each.shard: each.offset for each in results}
    return RowBatch(
        tables=row_tables(rows, between=between),
        offsets=offsets,
        epochs={shard: epochs.get(shard, 0) for shard in offsets},
        entries=sum(each.entries for each in results),
        oldest_at=min((each.oldest_at for each in results if each.oldest_at is not None), default=None),
    )


def encoded(batch: RowBatch) -> list[bytes | memoryview]:
    """The parts of the batch's bytes, in order, copied only where necessary."""
    streams = {name: _stream_of(table) for name, table in batch.tables.items()}
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


def _stream_of(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


NO_EPOCHS: Final[dict[int, int]] = {}

Result = tuple[str, ShardResults]


class RecordSink(DynamicSink[Result]):
    """The sink of the flow: hands the results of a batch on as one batch of columns.

    ``epochs`` are those under which this process owns its shards; ``between`` is called before each column.
    """

    def __init__(
        self, sink: RowSink, epochs: dict[int, int] = NO_EPOCHS, *, between: Callable[[], None] = nothing
    ) -> None:
        self._sink, self._epochs, self._between = sink, epochs, between

    def build(self, _step_id: str, _worker_index: int, _worker_count: int) -> "RecordPartition":
        return RecordPartition(self._sink, self._epochs, self._between)


class RecordPartition(StatelessSinkPartition[Result]):
    def __init__(self, sink: RowSink, epochs: dict[int, int], between: Callable[[], None]) -> None:
        self._sink, self._epochs, self._between = sink, epochs, between

    def write_batch(self, items: list[Result]) -> None:
        new = [results for _, results in items if not results.is_committed]
        if new:
            self._sink.put(batch_of(new, self._epochs, between=self._between))
