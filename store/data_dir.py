"""The data directory: its layout, and the lock that reserves it for one process.

Errors  ``DataDirInUseError`` while another process has the lock; ``StartupError`` when it cannot be used at all
"""

import fcntl
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from clearhold.store.durable_files import UNFINISHED, durable_file
from clearhold.store.errors import StartupError
from clearhold.store.ids import new_id
from clearhold.store.keys import MASTER_KEY_BYTES
from clearhold.store.seals import EntrySeals

DEFAULT_SHARDS: Final = 16
MAX_SHARDS: Final = 1_024
LAYOUT_VERSION: Final = 3
LAYOUT: Final = "layout.json"
MASTER_KEY: Final = "master.key"
ADMIN_TOKEN: Final = "admin.token"  # noqa: S105 - the name of its file
RESTORING: Final = "restore.unfinished"
"""Is in a directory that a restore has not finished."""

_DIR_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
_UMASK: Final = 0o077
# Allowed in a directory before its layout: leftovers of a crash, keys that were put there first, a fresh volume.
_BESIDE_NO_LAYOUT: Final = frozenset(
    {"lock", f"{LAYOUT}{UNFINISHED}", MASTER_KEY, f"{MASTER_KEY}{UNFINISHED}", ADMIN_TOKEN, "lost+found"}
)


class DataDirInUseError(StartupError):
    """Another process owns this data directory."""


class LogIdentity(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The identity of a log. It includes the number of shards, which determines each program's shard."""

    log_id: str
    shards: int


class LogAncestor(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A log of whose backup this one was made: they have the same entries up to ``until``, an offset of each shard."""

    log_id: str
    until: tuple[int, ...]


class Layout(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Fixed when a data directory is created: its log, and the digest of the key that seals its secrets.

    ``ancestors`` are the logs behind a restored backup, the oldest first.
    """

    version: int
    log_id: str
    shards: int
    master_key_sha256: str
    ancestors: tuple[LogAncestor, ...] = ()


class _Version(msgspec.Struct):
    version: int


class DataDir:
    """An open data directory. The lock is released when the process ends, however it ends."""

    def __init__(self, path: Path, *, layout: Layout, lock: int | None, master_key_path: Path) -> None:
        self.path = path
        self.shards = layout.shards
        self.identity = LogIdentity(log_id=layout.log_id, shards=layout.shards)
        self.ancestors = layout.ancestors
        self.redis_dir = path / "redis"
        self.duckdb_path = path / "clearhold.duckdb"
        self.snapshots_dir = path / "checkpoints"
        self.lake_dir = path / "lake"
        self.record_dir = path / "record"
        self.admin_token_path = path / ADMIN_TOKEN
        self.master_key_path = master_key_path
        self.signing_keys_path = path / "signing-keys.json"
        self._master_key_sha256 = layout.master_key_sha256
        self._lock = lock
        for folder in (self.redis_dir, self.snapshots_dir, self.lake_dir, self.record_dir):
            folder.mkdir(mode=_DIR_MODE, exist_ok=True)

    @classmethod
    def open(
        cls, path: Path, *, shards: int = DEFAULT_SHARDS, master_key: Path | None = None, is_restoring: bool = False
    ) -> Self:
        """Lock the directory, creating it if needed; ``shards`` applies only to a new one.

        ``master_key`` is the path of the master key outside of the directory. From then on, files of this process and
        its children are readable by their owner only, and so are copied parts of the directory.
        """
        os.umask(_UMASK)
        path = path.expanduser().absolute()
        master_key_path = path / MASTER_KEY if master_key is None else master_key.expanduser().absolute()
        try:
            path.mkdir(mode=_DIR_MODE, parents=True, exist_ok=True)
            _check_is_ours(path, is_restoring=is_restoring)
            path.chmod(_DIR_MODE)
            lock = _take_lock(path)
        except OSError as error:
            raise StartupError(f"{path} cannot be used as a data directory: {error.strerror}.") from error
        try:
            layout = _read_or_create_layout(path / LAYOUT, shards, master_key_path)
            return cls(path, layout=layout, lock=lock, master_key_path=master_key_path)
        except BaseException:
            os.close(lock)
            raise

    @classmethod
    def beside(cls, path: Path, *, master_key: Path | None = None) -> Self:
        """Open the directory beside a running service: without a lock, and without writing to it."""
        path = path.expanduser().absolute()
        return cls(path, layout=read_layout(path), lock=None, master_key_path=master_key or path / MASTER_KEY)

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def master_key(self) -> bytes:
        """The key that seals secrets: the one that the directory was created with."""
        try:
            return read_master_key(self.master_key_path, self._master_key_sha256, of=self.path)
        except FileNotFoundError:
            raise StartupError(
                f"{self.master_key_path} is missing, and the secrets of {self.path} are sealed with it. Put your copy "
                "of it back; docs/operations.md names the losses without one."
            ) from None

    def entry_seals(self) -> EntrySeals:
        """The seals of the log's entries."""
        return EntrySeals.under(self.master_key())

    def admin_token(self, mint: Callable[[], str]) -> str:
        """The platform's admin token, minted at first use."""

        def minted() -> bytes:
            return f"{mint()}\n".encode()

        token = _read_or_create(self.admin_token_path, minted).decode().strip()
        if not token:
            raise StartupError(f"{self.admin_token_path} is empty; delete it and a new token is minted.")
        return token

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _check_is_ours(path: Path, *, is_restoring: bool) -> None:
    """Refuse a folder with other contents, and a data directory without its layout or half restored."""
    names = {each.name for each in path.iterdir()}
    if RESTORING in names and not is_restoring:
        raise StartupError(f"A restore into {path} runs, or was interrupted: empty the folder, and restore again.")
    if LAYOUT in names or names <= _BESIDE_NO_LAYOUT:
        return
    if "clearhold.duckdb" in names or "lake" in names:
        raise StartupError(
            f"{path / LAYOUT} is missing, and it says which log {path} belongs to. Put it back from a backup."
        )
    raise StartupError(f"{path} is neither empty nor a data directory. Name a new or an empty folder.")


def _take_lock(path: Path) -> int:
    """Lock ``path/lock`` and write our pid into it; the kernel drops the lock when we end, so the file can stay."""
    lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    except BlockingIOError as error:
        owner = os.pread(lock, 32, 0).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        raise DataDirInUseError(
            f"{path} is in use by another clearhold process (pid {owner}), which has to end first."
        ) from error
    return lock


def _read_or_create_layout(path: Path, shards: int, master_key_path: Path) -> Layout:
    if not 1 <= shards <= MAX_SHARDS:
        raise StartupError(f"A data directory has 1 to {MAX_SHARDS} shards, not {shards}.")

    def created() -> bytes:
        key = _read_or_create(master_key_path, lambda: os.urandom(MASTER_KEY_BYTES))
        _checked_key(key, master_key_path)
        layout = Layout(version=LAYOUT_VERSION, log_id=new_id(), shards=shards, master_key_sha256=_digest(key))
        return msgspec.json.encode(layout) + b"\n"

    return _decoded(path, _read_or_create(path, created))


def write_layout(folder: Path, layout: Layout) -> None:
    """Write the layout of a new data directory, durably."""
    _read_or_create(folder / LAYOUT, lambda: msgspec.json.encode(layout) + b"\n")


def read_layout(folder: Path) -> Layout:
    """The layout of a data directory, or of a backup."""
    return _decoded(folder / LAYOUT, (folder / LAYOUT).read_bytes())


def _decoded(path: Path, content: bytes) -> Layout:
    try:
        if msgspec.json.decode(content, type=_Version).version != LAYOUT_VERSION:
            raise StartupError(f"{path} was made by another version of Clearhold.")
        layout = msgspec.json.decode(content, type=Layout)
    except msgspec.DecodeError as error:
        raise StartupError(f"{path} is not readable: {error}. Put it back from a backup.") from error
    if not 1 <= layout.shards <= MAX_SHARDS:
        raise StartupError(f"{path} is damaged: it names {layout.shards} shards. Put it back from a backup.")
    return layout


def read_master_key(path: Path, sha256: str, *, of: Path) -> bytes:
    """The key in a file, which must be the original key of the directory or backup ``of``."""
    key = _checked_key(path.read_bytes(), path)
    if _digest(key) != sha256:
        raise StartupError(
            f"{path} is not the key that {of} was created with. Put that one back: no other opens its secrets."
        )
    return key


def _checked_key(key: bytes, path: Path) -> bytes:
    if len(key) != MASTER_KEY_BYTES:
        raise StartupError(f"{path} is damaged: it must hold {MASTER_KEY_BYTES} bytes. Put your copy of it back.")
    return key


def _digest(key: bytes) -> str:
    """The digest of the key in the layout; of 32 random bytes it reveals nothing."""
    return hashlib.sha256(key).hexdigest()


def _read_or_create(path: Path, create: Callable[[], bytes]) -> bytes:
    """The file's bytes; a missing file is created, whole or not at all, and is durable when this returns."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        content = create()
    with durable_file(path) as file:
        file.write(content)
    path.chmod(_FILE_MODE)
    return content
