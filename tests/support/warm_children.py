"""What a warm service starts of its own modules, as its scorers, begins with the modules loaded too.

A process that the service forked before anything else, and that has no threads, forks each. The service is then its
parent, as when an interpreter starts them: orphans below it become its children (``PR_SET_CHILD_SUBREAPER``).
"""

import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

from clearhold.flows.running.own_python import loaded, module_command

LOADED: Final = ("clearhold.flows.scorer.process", "clearhold.flows.backfill.page_scoring")
_OWN: Final = tuple(module_command(""))[:-1]
_MOST_FILES: Final = 8
_HIGH: Final = 512
"""Files come in above this number before they get their own."""

_LARGEST: Final = 1 << 17
_SUBREAPER: Final = 36
_INT: Final = struct.Struct("i")


class _Request(msgspec.Struct, array_like=True):
    """Comes with the files that the process shall have, under these numbers."""

    module: str
    numbers: list[int]
    environment: dict[str, str]
    umask: int
    is_of_own_session: bool
    is_of_own_group: bool


class _Nursery:
    """The service's end."""

    def __init__(self, asking: socket.socket) -> None:
        self._asking, self._lock = asking, threading.Lock()

    def forked(self, request: _Request, files: list[int]) -> int:
        """The pid of the new process."""
        with self._lock:
            socket.send_fds(self._asking, [msgspec.msgpack.encode(request)], files)
            number: int = _INT.unpack(self._asking.recv(_INT.size))[0]
        return number


def begin() -> None:
    """From here on, this process has its own modules forked. It has no threads yet."""
    if ctypes.CDLL(None).prctl(_SUBREAPER, 1) != 0:
        raise OSError("This kernel lets no process adopt others.")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        _fork_on_request(theirs)
    theirs.close()
    nursery = _Nursery(ours)

    class Popen(subprocess.Popen[Any]):
        """An own module is forked, and any other program is started."""

        def _execute_child(self, args: Sequence[Any], *rest: Any) -> None:
            if tuple(args[:-1]) != _OWN or args[-1] not in LOADED:
                super()._execute_child(args, *rest)  # type: ignore[misc]
                return
            pass_fds, environment, new_session, process_group = rest[3], rest[5], rest[20], rest[21]
            standard = (rest[9], rest[12], rest[14])  # what its standard files are; -1 for the service's own
            files = {number: number if file == -1 else file for number, file in enumerate(standard)}
            files |= {number: number for number in pass_fds}
            request = _Request(args[-1], [*files], {**environment}, _umask(), bool(new_session), process_group == 0)
            self.pid = nursery.forked(request, [*files.values()])
            self._child_created = True
            for file in standard:
                if file != -1:
                    os.close(file)

    subprocess.Popen = Popen  # type: ignore[misc]


def _umask() -> int:
    """Read without setting it: other threads of the service make files meanwhile."""
    (line,) = (line for line in Path("/proc/self/status").read_text("utf-8").splitlines() if line.startswith("Umask:"))
    return int(line.removeprefix("Umask:"), 8)


def _fork_on_request(asking: socket.socket) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C of a terminal is for the service
    while True:
        content, files, _, _ = socket.recv_fds(asking, _LARGEST, _MOST_FILES)
        if not content:
            os._exit(0)
        reading, writing = os.pipe()
        middle = os.fork()
        if middle == 0:
            pid = os.fork()
            if pid == 0:
                _become(msgspec.msgpack.decode(content, type=_Request), files)
            os.write(writing, _INT.pack(pid))
            os._exit(0)  # so that the service adopts it
        number = os.read(reading, _INT.size)
        os.waitpid(middle, 0)
        for each in (reading, writing, *files):
            os.close(each)
        asking.send(number)


def _become(request: _Request, files: list[int]) -> NoReturn:
    """What an interpreter has before ``main``."""
    high = range(_HIGH, _HIGH + len(files))
    for number, file in zip(high, files, strict=True):
        os.dup2(file, number)
    os.closerange(3, _HIGH)
    for number, file in zip(request.numbers, high, strict=True):
        os.dup2(file, number)
    os.closerange(high.start, high.stop)
    if request.is_of_own_session:
        os.setsid()
    elif request.is_of_own_group:
        os.setpgid(0, 0)
    os.umask(request.umask)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.argv = [request.module]
    _show_command(request.module)
    code = 1
    try:
        loaded(request.module).main()
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 0 if ending.code is None else 1
    except BaseException:  # noqa: BLE001 - as an interpreter ends
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _show_command(module: str) -> None:
    """By ``/proc/<pid>/cmdline`` tests tell scorers from other processes."""
    fields = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, module.encode()[: end - start - 1], min(len(module), end - start - 1))
