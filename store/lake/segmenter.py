"""Moves the log from Redis into segments, and trims Redis only after that.

Any step may be the last before a crash: the next run reads a page again, skips a written segment, and trims entries
that were not trimmed.
"""

from threading import Lock
from typing import Final

from clearhold.store.lake.log_segments import LogSegments
from clearhold.store.redis_log.offsets import SEQ_BITS
from clearhold.store.redis_log.reader import LogReader

PAGE_ENTRIES: Final = 5_000
LINGER_MS: Final = 15 * 60 * 1_000


class Segmenter:
    """Writes full pages at once, and a partial page only when its oldest entry is ``linger_ms`` old.

    Without that wait a quiet shard, whose only entries are ticks, would make half a million files a year.
    Age is measured in the log's own time, the milliseconds in its offsets.
    """

    def __init__(
        self,
        reader: LogReader,
        segments: LogSegments,
        *,
        page_entries: int = PAGE_ENTRIES,
        linger_ms: int = LINGER_MS,
    ) -> None:
        self._reader, self._segments = reader, segments
        self._page_entries, self._linger_ms = page_entries, linger_ms
        self._trimmed: dict[int, int] = {}

    def run_once(self, shard: int, committed_offset: int, trim_upto: int) -> int:
        """Write committed entries to segments, then trim Redis up to ``trim_upto`` but never past the segments.

        Returns the number of entries written. Only committed entries are written: others in a segment would never be
        applied once Redis is trimmed.
        the tables would never be applied once Redis is trimmed.
        """
        written = 0
        while True:
            page = self._reader.range(
                shard, self._segments.last_offset(shard), committed_offset, count=self._page_entries
            )
            partial = len(page) < self._page_entries
            if not page or (partial and _age_ms(page[0].offset, committed_offset) < self._linger_ms):
                break
            self._segments.write(shard, page)
            written += len(page)
            if partial:
                break
        self._trim(shard, min(trim_upto, self._segments.last_offset(shard)))
        return written

    def _trim(self, shard: int, upto: int) -> None:
        """Trim unless it was done before: each trim costs Redis an fsync."""
        if shard not in self._trimmed:
            self._trimmed[shard] = self._reader.trimmed(shard)
        if upto > self._trimmed[shard]:
            self._reader.trim(shard, upto)
            self._trimmed[shard] = upto


def _age_ms(offset: int, newest: int) -> int:
    return (newest >> SEQ_BITS) - (offset >> SEQ_BITS)


class ControlCopy:
    """Copies control streams into the lake: each entry once it is in Redis, and missed ones in regular rounds.

    From it tenants, programs, tokens, secrets and keys are restored when Redis is lost. Safe to use from several
    threads, one of which copies at a time.
    """

    def __init__(self, reader: LogReader, segments: LogSegments) -> None:
        self._reader, self._segments = reader, segments
        self._copying = Lock()

    def copy(self, tenant_id: str) -> None:
        """Copy the entries that the tenant's segments lack."""
        with self._copying:
            after = self._segments.last_control_offset(tenant_id)
            self._segments.write_control(tenant_id, self._reader.control_of(tenant_id, after))

    def copy_all(self) -> None:
        for tenant_id in self._reader.tenants():
            self.copy(tenant_id)
