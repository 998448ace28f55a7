"""``clearhold`` as real processes that begin with their modules loaded: forked from a process that did nothing else.

To load the modules is two thirds of what the start of a service costs, and the tests start hundreds. A process of here
has a pid, an environment and files of its own, runs the same ``main``, and is killed and waited for as any other.
``RunningService`` starts by a cold interpreter what a variable of Python or a patch could change while modules load,
and here what patches attributes of loaded modules and classes, where its test says so;
tests/api/cli/test_serve.py, the demo and the browser tests of it always do.
"""

import atexit
import contextlib
import gc
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, NoReturn

import msgspec

from tests.support import warm_children

LOADED: Final = tuple(
    f"clearhold.api.{name}" for name in ("app", "settings", "cli.main", "cli.directory", "cli.upkeep", "cli.exports")
)
MAIN: Final = "from clearhold.api.cli.start import main; main()"
LARGEST_REQUEST: Final = 1 << 17
_INT: Final = struct.Struct("i")
_PARENT: Final = "import sys; from tests.support.warm import fork_on_request; fork_on_request(int(sys.argv[1]))"


class Request(msgspec.Struct, array_like=True):
    """Comes with four files: the three standard ones, and one for the pid and then the exit code."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    command: str


class WarmProcess:
    """The part of ``subprocess.Popen`` that tests of a service use. ``stdout`` is there if it was to be a pipe."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str],
        stdout: int,
        stderr: int,
        stdin: int,
        command: str = MAIN,
    ) -> None:
        folder = str(os.getcwd())  # noqa: PTH109 - as a new process has it
        request = Request([*arguments], {**environment}, folder, command)
        self.args, self.returncode = arguments, None
        with contextlib.ExitStack() as opened:
            self.stdout, theirs = self._pipe(opened, stdout)
            self._told, telling = os.pipe()
            opened.callback(os.close, telling)
            _parent().ask(request, [stdin, theirs, stderr, telling])
        self.pid = self._read(None)

    returncode: int | None
    stdout: IO[bytes] | None

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = self._read(timeout)
            os.close(self._told)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _read(self, timeout: float | None) -> int:
        content = os.read(self._told, _INT.size)
        assert len(content) == _INT.size, f"the parent of warm processes has ended ({timeout=})"
        number: int = _INT.unpack(content)[0]
        return number

    @staticmethod
    def _pipe(opened: contextlib.ExitStack, file: int) -> tuple[IO[bytes] | None, int]:
        if file != subprocess.PIPE:
            return None, file
        ours, theirs = os.pipe()
        opened.callback(os.close, theirs)
        return os.fdopen(ours, "rb"), theirs


class _Parent:
    """The process of this process that has the modules and no threads of its own; ends with this one."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-c", _PARENT, str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
            )
        self._socket, self._lock = ours, threading.Lock()

    def ask(self, request: Request, files: list[int]) -> None:
        with self._lock:
            socket.send_fds(self._socket, [msgspec.msgpack.encode(request)], files)

    def end(self) -> None:
        self._socket.close()
        self._process.wait()


_of_this_process: dict[int, _Parent] = {}
_lock: Final = threading.Lock()


def _parent() -> _Parent:
    with _lock:
        if os.getpid() not in _of_this_process:
            _of_this_process[os.getpid()] = _Parent()
        return _of_this_process[os.getpid()]


def end_parent() -> None:
    """The processes that it forked go on."""
    parent = _of_this_process.pop(os.getpid(), None)
    if parent is not None:
        parent.end()


class _Asked(NamedTuple):
    request: Request
    files: list[int]


def fork_on_request(number: int) -> None:
    """The parent's ``main``: returns in it at the end of its socket, and never in a process that it forked."""
    from clearhold.flows.running.own_python import loaded  # noqa: PLC0415 - of the parent alone

    for name in (*LOADED, *warm_children.LOADED, "tests.support.app_shells"):
        loaded(name)
    sys.modules["tests.support.app_shells"].built_before()
    gc.freeze()
    signals, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    os.set_blocking(signals, False)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C of a terminal is for the tests
    children: dict[int, int] = {}
    with socket.socket(fileno=number) as asking:
        while True:
            ready, _, _ = select.select([asking.fileno(), signals], [], [])
            if signals in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(signals, 4_096)
                _tell_the_ended(children)
            if asking.fileno() in ready:
                content, files, _, _ = socket.recv_fds(asking, LARGEST_REQUEST, 4)
                if not content:
                    return
                asked = _Asked(msgspec.msgpack.decode(content, type=Request), files)
                pid = os.fork()
                if pid == 0:
                    _become(asked)
                _told(asked.files[3], pid)
                children[pid] = asked.files[3]
                for each in asked.files[:3]:
                    os.close(each)


def _tell_the_ended(children: dict[int, int]) -> None:
    for pid in list(children):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            file = children.pop(pid)
            _told(file, os.waitstatus_to_exitcode(status))
            os.close(file)


def _told(file: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(file, _INT.pack(number))


def _become(asked: _Asked) -> NoReturn:
    """The forked process: what an interpreter has before ``main``."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for place, file in enumerate(asked.files[:3]):
        os.dup2(file, place)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(asked.request.environment)
    os.chdir(asked.request.folder)
    sys.argv = ["-c", *asked.request.arguments]
    if asked.request.arguments[:1] == ["serve"]:
        warm_children.begin()
        sys.modules["tests.support.app_shells"].taken_by_the_service()
    code: Any = 0
    try:
        exec(asked.request.command, {"__name__": "__main__"})  # noqa: S102 - of a test
    except SystemExit as ending:
        code = ending.code
    except BaseException:  # noqa: BLE001 - as an interpreter ends
        sys.excepthook(*sys.exc_info())
        code = 1
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def ran(
    *arguments: object, environment: Mapping[str, str] | None = None, within_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    """``clearhold`` with these arguments, to its end, as ``subprocess.run`` has it with texts."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors, Path(os.devnull).open("rb") as nothing:
        process = WarmProcess(
            [*map(str, arguments)],
            environment=os.environ if environment is None else environment,
            stdin=nothing.fileno(),
            stdout=output.fileno(),
            stderr=errors.fileno(),
        )
        try:
            code = process.wait(within_s)
        except BaseException:
            process.kill()
            process.wait()
            raise
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(process.args, code, *texts)
