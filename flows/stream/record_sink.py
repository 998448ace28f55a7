"""The sink of the flow: hands the results of a batch on as one batch of columns."""

from collections.abc import Callable
from typing import Final

from bytewax.outputs import DynamicSink, StatelessSinkPartition

from clearhold.flows.stream.row_batch import RowSink, batch_of
from clearhold.flows.stream.shard_step import ShardResults
from clearhold.store.tables.columns import nothing

NO_EPOCHS: Final[dict[int, int]] = {}

Result = tuple[str, ShardResults]


class RecordSink(DynamicSink[Result]):
    """``epochs`` are those under which this process owns its shards; ``between`` is called before each column."""

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
