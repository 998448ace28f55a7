"""The stateful step: a shard's entries applied in order, one list of rows out of each batch."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from bytewax.operators import StatefulBatchLogic

from features.core.log_entry import LogEntry
from features.shard.shards import Shards
from flows.results import ShardChunk, ShardResults


class Snapshots(Protocol):
    """Whoever takes a shard's state for a checkpoint when it is due."""

    def offer(self, shard: int, entries: int) -> None: ...


class StepContext:
    """What all shard steps of this process share. ``committed`` is how far each shard was recorded before the start."""

    def __init__(self, shards: Shards, *, committed: Mapping[int, int], snapshots: Snapshots) -> None:
        self.shards, self.committed, self.snapshots = shards, committed, snapshots


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
        skipped = ShardResults(chunk.shard)
        apply = context.shards.apply
        for entry in chunk.entries:
            apply(entry, results.emit if entry.offset > committed else skipped.emit)
        results.offset = chunk.entries[-1].offset
        results.entries = len(chunk.entries)
        results.oldest_at = _oldest_at(chunk.entries, after=committed)
        context.snapshots.offer(chunk.shard, results.entries)
        return results

    def snapshot(self) -> None:
        return None


def _oldest_at(entries: Sequence[LogEntry], *, after: int) -> int | None:
    if entries[-1].offset <= after:
        return None
    return next(entry.appended_at for entry in entries if entry.offset > after)
