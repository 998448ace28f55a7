"""The sink of the flow: the results of a batch leave it as one batch of columns."""

from typing import Final

from bytewax.outputs import DynamicSink, StatelessSinkPartition

from flows.row_batch import RowSink, batch_of
from flows.shard_step import ShardResults

NO_EPOCHS: Final[dict[int, int]] = {}

Result = tuple[str, ShardResults]


class RecordSink(DynamicSink[Result]):
    """Hands results to a ``RowSink``. ``epochs`` are those under which this process owns its shards."""

    def __init__(self, sink: RowSink, epochs: dict[int, int] = NO_EPOCHS) -> None:
        self._sink, self._epochs = sink, epochs

    def build(self, _step_id: str, _worker_index: int, _worker_count: int) -> "RecordPartition":
        return RecordPartition(self._sink, self._epochs)


class RecordPartition(StatelessSinkPartition[Result]):
    def __init__(self, sink: RowSink, epochs: dict[int, int]) -> None:
        self._sink, self._epochs = sink, epochs

    def write_batch(self, items: list[Result]) -> None:
        new = [results for _, results in items if not results.is_committed]
        if new:
            self._sink.put(batch_of(new, self._epochs))
