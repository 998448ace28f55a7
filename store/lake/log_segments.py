"""The permanent log: every entry, with its bytes as received, in Parquet segments by shard and day.

Redis has only the tail without segments; older bodies of bank events are stored here and nowhere else. ``Segmenter``
moves entries from Redis into segments, and trims Redis only after that. Any step may be the last before a crash: the
next run reads a page again, skips a written segment, and trims entries that were not trimmed. The control streams, one
a tenant, are copied beside the shards in the same form; Redis keeps them whole, and is restored from here when it was
lost.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Final
from urllib.parse import quote, unquote

import structlog

from clearhold.features.core.log_entry import LogEntry
from clearhold.store.durable_files import make_durable_folder, remove_unfinished
from clearhold.store.lake.segment_files import SegmentFiles
from clearhold.store.redis_log.reader import SEQ_BITS, LogReader, control_key, shard_key
from clearhold.store.seals import EntrySeals

_TENANT: Final = "tenant="

log = structlog.get_logger()


class LogSegments:
    """All segments under ``root``/log. One thread writes; any may read."""

    def __init__(self, root: Path, *, seals: EntrySeals | None = None, tidies: bool = True) -> None:
        """``tidies`` for the one process that may remove leftovers of a crash. Without ``seals`` none is checked: for
        a reader whose entries are not applied.
        """
        self._folder, self._seals = root / "log", seals
        make_durable_folder(self._folder)
        if tidies:
            remove_unfinished(self._folder)
        self._opening = Lock()
        self._streams: dict[str, SegmentFiles] = {}

    def tenants(self) -> list[str]:
        """The ids of the tenants with control segments."""
        return sorted(unquote(path.name.removeprefix(_TENANT)) for path in self._folder.glob(f"{_TENANT}*"))

    def shard(self, shard: int) -> SegmentFiles:
        """The stream of a shard."""
        return self._stream(shard_name(shard), shard_key(shard))

    def control(self, tenant_id: str) -> SegmentFiles:
        """The control stream of a tenant."""
        return self._stream(_tenant_name(tenant_id), control_key(tenant_id))

    def forget_control(self, tenant_id: str) -> None:
        """Remove a tenant's segments, to be written again whole."""
        with self._opening:
            shutil.rmtree(self._folder / _tenant_name(tenant_id))
            self._streams.pop(_tenant_name(tenant_id), None)

    def _stream(self, name: str, key: str) -> SegmentFiles:
        with self._opening:
            if name not in self._streams:
                self._streams[name] = SegmentFiles(self._folder / name, stream=key, seals=self._seals)
            return self._streams[name]


def shard_name(shard: int) -> str:
    """The name of a shard's stream and folder."""
    return f"shard={shard:02d}"


def _tenant_name(tenant_id: str) -> str:
    return f"{_TENANT}{quote(tenant_id, safe='')}"


class RawEvents:
    """Safe to use from several threads: neither source keeps state between calls."""

    def __init__(self, reader: LogReader, segments: LogSegments) -> None:
        self._reader, self._segments = reader, segments

    def entry(self, shard: int, offset: int) -> LogEntry | None:
        """The entry, None when it is in neither place; ConnectionError while Redis is gone."""
        recent = self._reader.range(shard, offset - 1, offset, count=1)
        return recent[0] if recent else self._segments.shard(shard).find(offset)

    def entries(self, shard: int, offsets: Sequence[int]) -> dict[int, LogEntry]:
        """The entries at these offsets, given in order, as far as they exist; ConnectionError while Redis is gone.
        Entries in the lake are read many at a time.
        """
        known = {entry.offset: entry for entry in self._segments.shard(shard).find_all(offsets)}
        for offset in offsets:
            if offset not in known and (entry := self.entry(shard, offset)) is not None:
                known[offset] = entry
        return known

    def body(self, shard: int, offset: int) -> bytes | None:
        """The body of the entry, None when it is in neither place; ConnectionError while Redis is gone."""
        entry = self.entry(shard, offset)
        return None if entry is None else entry.body


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
        """
        written = 0
        while True:
            page = self._reader.range(
                shard, self._segments.shard(shard).last_offset, committed_offset, count=self._page_entries
            )
            partial = len(page) < self._page_entries
            if not page or (partial and _age_ms(page[0].offset, committed_offset) < self._linger_ms):
                break
            self._reader.check_kept(shard, self._segments.shard(shard).last_offset)
            self._segments.shard(shard).write(page)
            written += len(page)
            if partial:
                break
        self._trim(shard, min(trim_upto, self._segments.shard(shard).last_offset))
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

    From it tenants, programs, tokens, secrets and keys are restored when Redis is lost. The lake has one file for each
    entry, so that their names say which entries Redis must have. Safe to use from several threads, one of which copies
    at a time.
    """

    def __init__(self, reader: LogReader, segments: LogSegments) -> None:
        self._reader, self._segments = reader, segments
        self._copying = Lock()
        self._lacking: dict[str, int] = {}
        self._restored = 0

    @property
    def removed(self) -> int:
        """The number of entries that were found removed from Redis by this process."""
        return self._restored + sum(self._lacking.values())

    def copy(self, tenant_id: str) -> None:
        """Copy the entries that the tenant's segments lack."""
        with self._copying:
            segments = self._segments.control(tenant_id)
            for entry in self._reader.control_entries(tenant_id, segments.last_offset):
                segments.write([entry])

    def copy_all(self) -> None:
        """Copy all streams, and notice removed entries."""
        for tenant_id, lacking in self.lacking().items():
            if lacking > self._lacking.get(tenant_id, 0):
                self._lacking[tenant_id] = lacking
                log.critical("control_entries_removed", tenant_id=tenant_id, entries=lacking)
            self.copy(tenant_id)

    def lacking(self) -> dict[str, int]:
        """How many entries of each control stream were removed from Redis, or replaced by forged ones. It counts the
        entries in the lake, and the last entry of all even if it was removed before it was copied.
        """
        copied = self._segments.tenants()  # read before the list in Redis, which has a new tenant before the lake does
        listed = set(self._reader.tenants())
        return {
            tenant_id: self._lacking_of(tenant_id, is_listed=tenant_id in listed)
            for tenant_id in sorted(listed.union(copied))
        }

    def _lacking_of(self, tenant_id: str, *, is_listed: bool) -> int:
        segments = self._segments.control(tenant_id)
        known = {segment.last for segment in segments.segments}  # read before the entries, which grow
        copied_upto, last = max(known, default=0), self._reader.end_of(control_key(tenant_id))
        here = {entry.offset: entry.is_forged for entry in self._reader.control_entries(tenant_id)}
        known |= {offset for offset in here if copied_upto < offset <= last}
        removed = {offset for offset in known if here.get(offset, True)}
        if is_listed:
            removed -= {offset for offset in removed & here.keys() if self._was_forged(segments, offset)}
        else:  # Then no start would read the stream.
            removed = known
        return len(removed) + (last > max(known, default=0))

    def _was_forged(self, segments: SegmentFiles, offset: int) -> bool:
        """Whether a forged entry was one already when it was copied, or is not copied yet."""
        copied = segments.find(offset)
        if copied is None or copied.is_forged:
            return True
        first = segments.find(self._reader.offset_of_seal.get(copied.seal, 0))
        return first is not None and first.offset < offset and first.seal == copied.seal

    def restore_removed(self) -> None:
        """Put removed entries back into Redis from the lake, before the streams are read at a start."""
        self.copy_all()
        for tenant_id in self._lacking:
            self._reader.rewrite_control(tenant_id, list(self._segments.control(tenant_id).read(0)))
        self._restored = self.removed
        self._lacking.clear()
