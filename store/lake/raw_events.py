"""A log entry by its offset: from Redis while it is recent, from the lake's log segments after that."""

from collections.abc import Sequence

from clearhold.features.core.log_entry import LogEntry
from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.redis_log.reader import LogReader


class RawEvents:
    """Safe to use from several threads: neither source keeps state between calls."""

    def __init__(self, reader: LogReader, segments: LogSegments) -> None:
        self._reader, self._segments = reader, segments

    def entry(self, shard: int, offset: int) -> LogEntry | None:
        """The entry, None when it is in neither place; ConnectionError while Redis is gone."""
        recent = self._reader.range(shard, offset - 1, offset, count=1)
        return recent[0] if recent else self._segments.find(shard, offset)

    def entries(self, shard: int, offsets: Sequence[int]) -> dict[int, LogEntry]:
        """The entries at these offsets, given in order, as far as they exist; ConnectionError while Redis is gone.
        Entries in the lake are read many at a time.
        """
        known = {entry.offset: entry for entry in self._segments.find_all(shard, offsets)}
        for offset in offsets:
            if offset not in known and (entry := self.entry(shard, offset)) is not None:
                known[offset] = entry
        return known

    def body(self, shard: int, offset: int) -> bytes | None:
        """The body of the entry, None when it is in neither place; ConnectionError while Redis is gone."""
        entry = self.entry(shard, offset)
        return None if entry is None else entry.body
