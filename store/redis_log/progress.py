"""The progress of each shard of the log: the offset up to which it is applied, and up to which it is committed.

The process that commits keeps it; other code reads it here instead of the state.
"""


class LogProgress:
    """Written by the threads that move entries, read by any thread; a shard without entries is at offset 0."""

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self._applied = [0] * shards
        self._committed = [0] * shards

    def applied_offset(self, shard: int) -> int:
        """The offset up to which the shard's state has applied every entry."""
        return self._applied[shard]

    def committed_offset(self, shard: int) -> int:
        """The offset up to which the tables have the rows of the shard's entries."""
        return self._committed[shard]

    def mark_applied(self, shard: int, offset: int) -> None:
        self._applied[shard] = offset

    def mark_committed(self, shard: int, offset: int) -> None:
        self._committed[shard] = offset
