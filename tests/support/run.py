"""What a run of the tests stands on: where its files lie, and that nothing that it started outlives it."""

import contextlib
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Final

MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there
ROOM_BYTES: Final = 6 << 30
"""Several times what a run of all tests keeps at a time."""

_MARK: Final = "TESTS_BEGUN_BY"
_PREFIX: Final = "chtests-"
"""Short: the path of a unix socket has 107 bytes, of which a test's own folder takes up to 70."""


def begin() -> Path | None:
    """Mark what this process starts, and give the folder for its files: None where the usual one has to do.

    A log that is flushed to a disk for each entry takes milliseconds each time, on a machine that others use sometimes
    more than a second. Nothing here cuts the power, so memory keeps what a disk would.
    """
    os.environ[_MARK] = str(os.getpid())
    for folder in MEMORY.glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():  # it was killed before it could remove its folder
            shutil.rmtree(folder, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=MEMORY)) if _has_room() else None


def end(folder: Path | None) -> list[str]:
    """Kill what was started and left behind, as by a test that hung, and remove the folder; their command lines."""
    left = [(pid, command) for pid in _pids() if (command := _begun_here(pid)) is not None]
    for pid, _ in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    return [f"{pid} {command}" for pid, command in left]


def _has_room() -> bool:
    """In memory that is there, and where programs may be run from."""
    try:
        memory = os.statvfs(MEMORY)
        available = Path("/proc/meminfo").read_text(encoding="ascii").partition("MemAvailable:")[2].split()[0]
    except (OSError, IndexError):
        return False
    room = min(memory.f_bavail * memory.f_frsize, int(available) * 1_024)
    return room >= ROOM_BYTES and not memory.f_flag & os.ST_NOEXEC and os.access(MEMORY, os.W_OK)


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")] if Path("/proc").is_dir() else []


def _begun_here(pid: int) -> str | None:
    """The command line of a process that this one or its children started; None for any other."""
    mark = f"{_MARK}={os.getpid()}".encode()
    try:
        if pid == os.getpid() or mark not in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            return None
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    except OSError:
        return None
