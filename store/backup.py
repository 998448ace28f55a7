"""Backups: taken while the service writes or after it has stopped, checked, and put into a new data directory.

Only data that cannot be derived are copied: the whole log, the chains' files with their checkpoints, and the keys.
Tables and snapshots follow from those: the database is made from a restored backup as by ``clearhold rebuild``. The new
directory gets a new log id: from there on its log is separate from that of the original service.

Order   keys ─▶ checkpoints ─▶ chain files ─▶ control streams ─▶ shards: each step may refer to later ones, never to
        earlier ones. A checkpoint covers links, a link comes from an entry, an entry from a program
File    ``backup.json`` in the folder of the backup: every file with its digest. It is written last, so a backup without
        one is incomplete
Errors  ``StartupError`` when the place is taken, the log has a hole, or a backup is incomplete, changed, or of another
        master key; ``DamagedSegmentError``; built-in ``ConnectionError``
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePath
from typing import Final

import msgspec
import redis
import structlog

from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import LogEntry
from clearhold.store.clock import Clock
from clearhold.store.data_dir import (
    ADMIN_TOKEN,
    LAYOUT,
    MASTER_KEY,
    RESTORING,
    DataDir,
    Layout,
    LogAncestor,
    read_layout,
    read_master_key,
    write_layout,
)
from clearhold.store.durable_files import durable_file, make_durable_folder, sha256_of
from clearhold.store.errors import StartupError
from clearhold.store.ids import new_id
from clearhold.store.joining.agreement import FILE as LOSSES
from clearhold.store.joining.agreement import AcceptedLosses, sentence_of, shard_ends
from clearhold.store.lake.log_segments import ControlCopy, LogSegments, shard_name
from clearhold.store.lake.segment_files import SegmentFiles
from clearhold.store.record.chain_file import SUFFIX, cut_torn_line
from clearhold.store.record.checkpoints import FILE as CHECKPOINTS
from clearhold.store.redis_log.owner import NODE_FILE
from clearhold.store.redis_log.reader import LogReader

FILE: Final = "backup.json"
PASSING: Final = "backup.passing"
OPEN_DELIVERIES: Final = "deliveries"
"""A folder of a passing backup."""

VERSION: Final = 1

log = structlog.get_logger()


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``entries`` is the number of log entries, ``until`` the offset of each shard's last one."""

    version: int
    log_id: str
    shards: int
    taken_at: str
    entries: int
    until: dict[str, int]
    files: dict[str, str]


def digests_of(folder: Path) -> dict[str, str]:
    """SHA-256 of each file below ``folder``, by its path there."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != FILE)
    return {str(path.relative_to(folder)): sha256_of(path) for path in files}


def checked_manifest(folder: Path) -> Manifest:
    """The manifest of a backup whose files are all unchanged."""
    try:
        manifest = msgspec.json.decode((folder / FILE).read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise StartupError(f"{folder} is no backup, or one that was not finished: it has no {FILE}.") from None
    except msgspec.MsgspecError as error:
        raise StartupError(f"{folder / FILE} is damaged: {error}.") from error
    if manifest.version != VERSION:
        raise StartupError(f"{folder} was made by another version of Clearhold.")
    for name, digest in manifest.files.items():
        path = folder / name
        is_below = not PurePath(name).is_absolute() and ".." not in PurePath(name).parts
        if not is_below or not path.resolve().is_relative_to(folder.resolve()):
            raise StartupError(
                f"{folder / FILE} names {name!a}, which is not a file of the backup. Use another backup."
            )
        if not path.is_file() or sha256_of(path) != digest:
            raise StartupError(f"{path} is missing from the backup, or was changed. Use another backup.")
    return manifest


PAGE_ENTRIES: Final = 5_000
ATTEMPTS: Final = 3


class Backup:
    """One backup of ``source`` into ``folder``, which must be new or empty."""

    def __init__(
        self, source: DataDir, reader: LogReader, folder: Path, *, clock: Clock, is_passing: bool = False
    ) -> None:
        """``is_passing`` for a folder in the directory itself, from which the backup is sent at once: segments, which
        never change, are links there.
        """
        self._source, self._reader, self._clock, self._is_passing = source, reader, clock, is_passing
        self._folder = folder.expanduser().absolute()

    def take(self, *, with_secrets: bool, on_progress: Callable[[str], None]) -> Manifest:
        """Copy everything; ``on_progress`` gets the name of each step."""
        self._check_place()
        self._check_log()
        self._copy_keys(with_secrets=with_secrets)
        for name in (CHECKPOINTS, f"*{SUFFIX}"):
            self._copy_record(name)
        segments = LogSegments(self._folder / "lake")
        on_progress("the control streams")
        ControlCopy(self._reader, segments).copy_all()
        until = {}
        for shard in range(self._source.shards):
            on_progress(f"the log of shard {shard}")
            self._copy_shard(segments, shard)
            until[shard_name(shard)] = segments.shard(shard).last_offset
        manifest = Manifest(
            version=VERSION,
            log_id=self._source.identity.log_id,
            shards=self._source.shards,
            taken_at=format_instant(self._clock.now()),
            entries=sum(segments.shard(shard).entries for shard in range(self._source.shards)),
            until=until,
            files=digests_of(self._folder),
        )
        with durable_file(self._folder / FILE) as file:
            file.write(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
        return manifest

    def _check_place(self) -> None:
        if not self._is_passing and self._folder.resolve().is_relative_to(self._source.path.resolve()):
            raise StartupError(f"{self._folder} lies in the data directory, and would be lost with it. Name another.")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(self._folder.iterdir()):
            raise StartupError(f"{self._folder} is not empty. Name a new folder for each backup.")

    def _check_log(self) -> None:
        """Refuse a hole now: at the restore it would be too late."""
        losses = AcceptedLosses(self._source.lake_dir, tidies=False)
        for _ in range(ATTEMPTS):  # A segment may be written, and Redis trimmed, between two reads.
            segments = LogSegments(self._source.lake_dir, tidies=False)
            ends = shard_ends(self._reader, segments, {}, shards=self._source.shards)
            holes = losses.unaccepted([hole for each in ends for hole in each.holes()])
            if not holes:
                return
        raise StartupError(f"The log of {self._source.path} has a hole: {sentence_of(holes)}.")

    def _copy_keys(self, *, with_secrets: bool) -> None:
        """The signing keys are sealed by the master key; that and the admin token are in the clear."""
        for name in (LAYOUT, "signing-keys.json", f"lake/{LOSSES}", *((ADMIN_TOKEN,) if with_secrets else ())):
            if (self._source.path / name).exists():
                _copy_file(self._source.path / name, self._folder / name)
        if with_secrets:
            _copy_file(self._source.master_key_path, self._folder / MASTER_KEY)

    def _copy_record(self, pattern: str) -> None:
        for path in sorted(self._source.record_dir.glob(f"*/{pattern}")):
            name = str(path.relative_to(self._source.path))
            if not (self._folder / name).exists():  # the checkpoints' files have the chains' ending
                _copy_file(path, self._folder / name)
                cut_torn_line(self._folder / name)

    def _copy_shard(self, segments: LogSegments, shard: int) -> None:
        """The existing segments, then the entries that are only in Redis as further ones."""
        tail = self._reader.tail(shard)
        source = SegmentFiles(self._source.lake_dir / "log" / shard_name(shard))
        place = _link_file if self._is_passing else _copy_file
        for segment in source.segments:
            place(segment.path, self._folder / str(segment.path.relative_to(self._source.path)))
        while page := self._page(shard, segments.shard(shard).last_offset, tail):
            segments.shard(shard).write(page)

    def _page(self, shard: int, after: int, upto: int) -> list[LogEntry]:
        """From Redis; or from segments, if the service has moved and trimmed the entries meanwhile."""
        page = self._reader.range(shard, after, upto, count=PAGE_ENTRIES)
        if self._reader.trimmed(shard) <= after:
            return page
        newer = SegmentFiles(self._source.lake_dir / "log" / shard_name(shard))
        return list(islice(newer.read(after, None), PAGE_ENTRIES))


@contextmanager
def passing_backup(source: DataDir, reader: LogReader, *, clock: Clock) -> Iterator[Path]:
    """A backup in the directory itself, without secrets in the clear, until the block ends."""
    folder = source.path / PASSING
    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    try:
        Backup(source, reader, folder, clock=clock, is_passing=True).take(
            with_secrets=False, on_progress=lambda part: log.info("backup_for_a_node", part=part)
        )
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def unpacked(
    backup: Path, data: Path, *, master_key: Path | None, is_elsewhere: bool, of_same_log: bool = False
) -> Iterator[Manifest]:
    """Check backup and key, then copy the files; a later failure empties the folder again. Until the block has ended a
    marker is there, with which no service starts: it outlives a process that was killed.

    ``is_elsewhere`` for a master key outside of the directory; ``of_same_log`` for a further node of the log, whose
    folder may hold the node's file.
    """
    manifest, layout = checked_manifest(backup), read_layout(backup)
    if data.exists() and any(each.name != NODE_FILE or not of_same_log for each in data.iterdir()):
        raise StartupError(f"{data} is not empty. A backup is restored into a new or an empty folder.")
    if master_key is not None:
        read_master_key(master_key, layout.master_key_sha256, of=backup)
    elif MASTER_KEY not in manifest.files and not is_elsewhere:
        raise StartupError(f"{backup} was taken without {MASTER_KEY}: name your copy of it with --master-key.")
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    marker = data / RESTORING
    try:
        with durable_file(marker):
            pass
        place = _link_file if of_same_log else _copy_file  # the backup was received for this node alone
        for name in manifest.files:
            if name != LAYOUT:
                place(backup / name, data / name)
        if master_key is not None and not (data / MASTER_KEY).exists():
            _copy_file(master_key, data / MASTER_KEY)
        write_layout(data, layout if of_same_log else _next_log(layout, manifest))
        yield manifest
        marker.unlink()
    except BaseException:
        for each in sorted(data.iterdir(), key=lambda each: each == marker):  # the marker goes last
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        raise


def _next_log(layout: Layout, manifest: Manifest) -> Layout:
    """A new log, with the backup's as its ancestor."""
    until = tuple(manifest.until.get(shard_name(shard), 0) for shard in range(layout.shards))
    ancestors = (*layout.ancestors, LogAncestor(log_id=layout.log_id, until=until))
    return msgspec.structs.replace(layout, log_id=new_id(), ancestors=ancestors)


def require_empty(client: redis.Redis) -> None:
    """Refuse a named Redis that is not empty: its data belong to another log or another user."""
    if client.dbsize():
        raise StartupError(
            "The Redis at CLEARHOLD_REDIS_URL is not empty. A backup is restored beside an empty one: name another, or "
            "unset the variable for the directory's own."
        )


def _copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as bytes_of, durable_file(target) as file:
        shutil.copyfileobj(bytes_of, file)
    target.chmod(0o600)


def _link_file(source: Path, target: Path) -> None:
    make_durable_folder(target.parent)
    target.hardlink_to(source)
