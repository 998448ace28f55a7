"""Snapshots of the state: one shard's state as of a log offset, so that a restart replays minutes of log, not years.

A snapshot is a cache. If it is lost, damaged or in a format that this version does not read, an older one is used, or
none, and more of the log is replayed to reach the same state.

File    ``shard-07.v3.00000000000000001234.checkpoint``: a header line, the state, SHA-256 of everything before it. The
        ending dates from before *checkpoint* meant the signed checkpoints of the record only; it stays, so that the
        next version still finds and removes the files
Errors  ``OSError`` from the disk; a damaged file is no error, it is set aside under ``.damaged``
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import structlog

from clearhold.store.durable_files import durable_file, make_durable_folder, remove_unfinished

KEPT_PER_SHARD: Final = 2
_ENDING: Final = ".checkpoint"
_DIGEST_BYTES: Final = hashlib.sha256().digest_size
_OFFSET_DIGITS: Final = 20

log = structlog.get_logger()


class StateSnapshots:
    """The newest few snapshots of each shard, in the caller's ``format_version``.

    Files of earlier versions are removed once ``keep`` files of this one exist; those of later versions are left alone.
    """

    def __init__(self, root: Path, *, format_version: int, keep: int = KEPT_PER_SHARD, tidies: bool = True) -> None:
        """``tidies`` for the one process that may remove what a crash left half-written."""
        make_durable_folder(root)
        if tidies:
            remove_unfinished(root)
        self._root, self._format_version, self._keep = root, format_version, keep

    def write(self, shard: int, offset: int, chunks: Iterable[bytes]) -> Path:
        """Stream a state to disk; older snapshots are removed only after the new one is durable."""
        path = self._root / f"{self._stem(shard)}{offset:0{_OFFSET_DIGITS}d}{_ENDING}"
        header = _header(shard, offset, self._format_version)
        digest = hashlib.sha256(header)
        with durable_file(path) as file:
            file.write(header)
            for chunk in chunks:
                digest.update(chunk)
                file.write(chunk)
            file.write(digest.digest())
        snapshots = self._newest_first(shard)
        for superseded in snapshots[self._keep :]:
            superseded.unlink()
        if len(snapshots) >= self._keep:
            for outdated in self._of_earlier_versions(shard):
                outdated.unlink()
        return path

    def newest(self, shard: int, *, upto: int) -> tuple[int, memoryview] | None:
        """The newest undamaged snapshot as (offset, state), of an offset that the tables have reached.

        One that is ahead of the tables, as after a kill or after an older database was restored, is not used: the rows
        between the two would never be written.
        """
        for path in self._newest_first(shard):
            offset = int(path.name.split(".")[2])
            if offset > upto:
                log.warning("snapshot_ahead", shard=shard, offset=offset, committed=upto)
                continue
            state = _intact_state(path.read_bytes(), _header(shard, offset, self._format_version))
            if state is not None:
                return offset, state
            aside = path.with_name(path.name + ".damaged")
            log.warning("snapshot_damaged", shard=shard, offset=offset, set_aside=aside.name)
            path.replace(aside)
        return None

    def _newest_first(self, shard: int) -> list[Path]:
        return sorted(self._root.glob(f"{self._stem(shard)}*{_ENDING}"), reverse=True)

    def _of_earlier_versions(self, shard: int) -> list[Path]:
        files = self._root.glob(f"shard-{shard:02d}.v*{_ENDING}")
        return [path for path in files if int(path.name.split(".")[1][1:]) < self._format_version]

    def _stem(self, shard: int) -> str:
        return f"shard-{shard:02d}.v{self._format_version}."


def _header(shard: int, offset: int, format_version: int) -> bytes:
    return f"clearhold checkpoint, format {format_version}, shard {shard}, offset {offset}\n".encode()


def _intact_state(content: bytes, header: bytes) -> memoryview | None:
    if len(content) < len(header) + _DIGEST_BYTES or not content.startswith(header):
        return None
    whole = memoryview(content)
    if hashlib.sha256(whole[:-_DIGEST_BYTES]).digest() != content[-_DIGEST_BYTES:]:
        return None
    return whole[len(header) : -_DIGEST_BYTES]
