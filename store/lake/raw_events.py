"""The bytes of a log entry by its offset: from Redis while it is recent, from the lake's log segments after that."""

from store.lake.log_segments import LogSegments
from store.redis_log.reader import LogReader


class RawEvents:
    """Safe to use from several threads: neither source keeps state between calls."""

    def __init__(self, reader: LogReader, segments: LogSegments) -> None:
        self._reader, self._segments = reader, segments

    def body(self, shard: int, offset: int) -> bytes | None:
        """The entry's body, None when it is in neither place; ConnectionError while Redis is gone."""
        recent = self._reader.range(shard, offset - 1, offset, count=1)
        if recent:
            return recent[0].body
        entry = self._segments.find(shard, offset)
        return None if entry is None else entry.body
