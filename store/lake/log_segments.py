"""The permanent log: every entry, with its bytes as received, in Parquet segments by shard and day.

Redis has only the tail without segments; older bodies of bank events are stored here and nowhere else. The control
streams, one a tenant, are copied beside the shards in the same form; Redis keeps them whole, and is restored from here
when it was lost.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Final
from urllib.parse import quote, unquote

from clearhold.features.core.log_entry import LogEntry
from clearhold.store.control.entries import ControlEntry
from clearhold.store.durable_files import make_durable_folder, remove_unfinished
from clearhold.store.lake.segment_files import SegmentFiles

_TENANT: Final = "tenant="
_NO_SHARD: Final = -1  # the shard column of a control stream's segments


class LogSegments:
    """All segments under ``root``/log. One thread writes; any may read."""

    def __init__(self, root: Path, *, tidies: bool = True) -> None:
        """``tidies`` for the one process that may remove leftovers of a crash."""
        self._folder = root / "log"
        make_durable_folder(self._folder)
        if tidies:
            remove_unfinished(self._folder)
        self._opening = Lock()
        self._streams: dict[str, SegmentFiles] = {}

    def write(self, shard: int, entries: Sequence[LogEntry]) -> None:
        """Append a shard's entries, all entries after ``last_offset``; already written ones are skipped."""
        self._stream(shard_name(shard)).write(entries)

    def last_offset(self, shard: int) -> int:
        """The highest offset in a shard's segments, 0 without any."""
        return self._stream(shard_name(shard)).last_offset

    def read(self, shard: int, after: int, upto: int | None = None) -> Iterator[LogEntry]:
        """A shard's entries with ``after`` < offset <= ``upto``, in order, in bounded memory."""
        return self._stream(shard_name(shard)).read(after, upto)

    def find(self, shard: int, offset: int) -> LogEntry | None:
        return self._stream(shard_name(shard)).find(offset)

    def find_all(self, shard: int, offsets: Sequence[int]) -> list[LogEntry]:
        """The entries at these offsets, given in order, that are in the shard's segments."""
        return self._stream(shard_name(shard)).find_all(offsets)

    def write_control(self, tenant_id: str, entries: Iterable[ControlEntry]) -> None:
        """Append a tenant's control entries; already written ones are skipped, so the whole stream may be given."""
        rows = [
            LogEntry(shard=_NO_SHARD, offset=offset, kind=kind, program_id="", appended_at=appended_at, body=body)
            for _, offset, kind, appended_at, body in entries
        ]
        self._stream(_tenant_name(tenant_id)).write(rows)

    def read_control(self, tenant_id: str, after: int = 0) -> Iterator[ControlEntry]:
        """A tenant's control entries after an offset, in order."""
        for entry in self._stream(_tenant_name(tenant_id)).read(after, None):
            yield tenant_id, entry.offset, entry.kind, entry.appended_at, entry.body

    def last_control_offset(self, tenant_id: str) -> int:
        """The highest offset in a tenant's segments, 0 without any."""
        return self._stream(_tenant_name(tenant_id)).last_offset

    def tenants(self) -> list[str]:
        """The ids of the tenants with control segments."""
        return sorted(unquote(path.name.removeprefix(_TENANT)) for path in self._folder.glob(f"{_TENANT}*"))

    def shard(self, shard: int) -> SegmentFiles:
        return self._stream(shard_name(shard))

    def control(self, tenant_id: str) -> SegmentFiles:
        return self._stream(_tenant_name(tenant_id))

    def forget_control(self, tenant_id: str) -> None:
        """Remove a tenant's segments, to be written again whole."""
        with self._opening:
            shutil.rmtree(self._folder / _tenant_name(tenant_id))
            self._streams.pop(_tenant_name(tenant_id), None)

    def _stream(self, name: str) -> SegmentFiles:
        with self._opening:
            if name not in self._streams:
                self._streams[name] = SegmentFiles(self._folder / name)
            return self._streams[name]


def shard_name(shard: int) -> str:
    """The name of a shard's stream and folder."""
    return f"shard={shard:02d}"


def _tenant_name(tenant_id: str) -> str:
    return f"{_TENANT}{quote(tenant_id, safe='')}"
