"""The bytes of a log entry at its offset: in Redis while it is young, in the lake's log segments for good."""

from store.lake.log_segments import LogSegments
from store.redis_log.reader import LogReader


class RawEvents:
    """Safe to use from several threads: neither part keeps anything from one call to the next."""

    def __init__(self, reader: LogReader, segments: LogSegments) -> None:
        self._reader, self._segments = reader, segments

    def body(self, shard: int, offset: int) -> bytes | None:
        """The entry's body, None when it is in neither place; ConnectionError while Redis is gone."""
        young = self._reader.range(shard, offset - 1, offset, count=1)
        if young:
            return young[0].body
        kept = self._segments.find(shard, offset)
        return None if kept is None else kept.body
