"""The stateful step: applies a shard's entries in log order, and returns one list of rows for each batch."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec
from bytewax.operators import StatefulBatchLogic

from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.rows.record import no_rows
from clearhold.features.shard.shard import Shards


class ShardChunk(msgspec.Struct, gc=False):
    """Entries of one shard, in log order."""

    shard: int
    entries: list[LogEntry]


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


class Snapshots(Protocol):
    """Takes a snapshot of a shard's state whenever one is due."""

    def offer(self, shard: int, entries: int) -> None: ...


def _nothing() -> None:
    """The default between two entries: no caller waits for an answer."""


class StepContext:
    """Shared by all shard steps of this process. ``committed`` holds each shard's committed offset at the start.

    Entries up to that offset change the state and produce no rows: the tables have them.
    """

    def __init__(
        self,
        shards: Shards,
        *,
        committed: Mapping[int, int],
        snapshots: Snapshots,
        between_entries: Callable[[], None] = _nothing,
    ) -> None:
        self.shards, self.committed, self.snapshots = shards, committed, snapshots
        self.between_entries = between_entries


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
        apply, between_entries = context.shards.apply, context.between_entries
        for entry in chunk.entries:
            between_entries()
            apply(entry, results.emit if entry.offset > committed else no_rows)
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
