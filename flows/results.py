"""What one shard's share of a batch led to, on its way to the store."""

from collections import defaultdict

import msgspec

from features.core.log_entry import LogEntry


class ShardChunk(msgspec.Struct, gc=False):
    """Entries of one shard, in log order, as the source read them."""

    shard: int
    entries: list[LogEntry]


class ShardResults:
    """Rows by their type, and the offset they bring the shard to. One a shard and batch.

    ``oldest_at`` is when the first entry was appended that had not been committed before; None when all had been.
    """

    __slots__ = ("entries", "offset", "oldest_at", "rows", "shard")

    def __init__(self, shard: int) -> None:
        self.shard = shard
        self.offset = 0
        self.entries = 0
        self.oldest_at: int | None = None
        self.rows: defaultdict[type[msgspec.Struct], list[msgspec.Struct]] = defaultdict(list)

    def emit(self, row: msgspec.Struct) -> None:
        self.rows[type(row)].append(row)
