"""Scheduling on a core: how soon a woken thread runs, which threads have priority, and programs that step aside.

It is also a script, which needs only the standard library.

An answer goes through several processes, and waits for a core at each hop. On Linux 6.12 and later a thread with short
slices runs sooner when it wakes and gives way sooner to others; its share of the core stays the same, so it needs no
privilege. Processes and threads inherit the slices of the thread that starts them. Elsewhere, and where a sandbox
forbids the call, nothing changes. The committer, maintenance and the child that writes a snapshot have a lower priority
than answers, which needs no privilege either. The kernel may weigh sessions first and niceness only within one, so a
service, its scorers and its Redis are one session (autogroups, sched(7)).

``scheduling.py PROGRAM ARGUMENT…`` becomes the program, in the scheduling class of idle tasks, which the disk's
scheduler follows too; a program that leads its session also gives it the lowest weight. Without either (macOS) it runs
at the lowest priority. ``run_aside`` starts a program in a new session and stands in for it: it passes signals on,
except ignored ones (as under nohup), which the program ignores too, and returns the program's exit code. The class is
set for each thread that is there, and a new thread inherits it.

Unit    nanoseconds
Source  Linux, Documentation/scheduler/sched-eevdf.rst; sched_setattr(2), nice(2), sched(7)
"""

import contextlib
import ctypes
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

SHORT_NS: Final = 100_000
"""The shortest slice that the kernel allows."""

USUAL_NS: Final = 0
"""The kernel's default slice."""

GIVING_WAY: Final = 5
"""Niceness: on a contended core, a third of the share of niceness 0."""

_SET_ATTRIBUTES: Final = {"x86_64": 314, "aarch64": 274}
"""The number of sched_setattr, for which the C library has no function."""


class SchedulingAttributes(ctypes.Structure):
    """struct sched_attr, in the form that all kernels know."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def set_time_slice(nanoseconds: int) -> bool:
    """Request slices of this length for the calling thread; False where that is impossible.

    A thread of an unusual scheduling class is unchanged.
    """
    number = _SET_ATTRIBUTES.get(platform.machine())
    if sys.platform != "linux" or number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return False
    attributes = SchedulingAttributes(
        size=ctypes.sizeof(SchedulingAttributes),
        policy=os.SCHED_OTHER,
        nice=os.getpriority(os.PRIO_PROCESS, 0),
        runtime=nanoseconds,
    )
    result: int = ctypes.CDLL(None).syscall(number, 0, ctypes.byref(attributes), 0)
    return result == 0


def low_priority() -> None:
    """Give the calling thread, and all that it starts, a lower priority than answers, for good. On Linux only, where
    niceness belongs to a thread.
    """
    if sys.platform == "linux":
        os.nice(GIVING_WAY)


LOWEST: Final = 19
THREADS: Final = Path("/proc/self/task")
AUTOGROUP: Final = Path("/proc/self/autogroup")
_PASSED_ON: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_ENDED_BY_SIGNAL: Final = 128
_NOT_STARTED: Final = 127


def step_aside() -> None:
    """From now on the threads of this process, and their new ones, run only when nothing else wants the cores."""
    if hasattr(os, "sched_setscheduler") and hasattr(os, "SCHED_IDLE"):
        for thread in THREADS.iterdir():  # a library may start some when it is imported
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(int(thread.name), os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(LOWEST)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):  # a kernel without autogroups, or a container that may not weigh them
            AUTOGROUP.write_text(str(LOWEST), encoding="ascii")


def run_aside(command: Sequence[str], *, environment: Mapping[str, str] | None = None, steps_aside: bool = True) -> int:
    """Run it in a new session until it ends; returns its exit code, or 128 plus the signal, as in a shell.

    ``steps_aside`` False: the program does so itself, once it has loaded what it needs.
    """
    own = [sys.executable, "-I", "-S", __file__] if steps_aside else []
    started: list[subprocess.Popen[bytes]] = []
    came_before: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        if not started:
            came_before.append(number)
        for process in started:
            process.send_signal(number)

    def pause(_: int, frame: FrameType | None) -> None:
        pass_on(signal.SIGSTOP, frame)
        os.kill(os.getpid(), signal.SIGSTOP)  # goes on here after a SIGCONT
        pass_on(signal.SIGCONT, frame)

    ours = dict.fromkeys(_PASSED_ON, pass_on) | {signal.SIGTSTP: pause}
    heard = {number: ours[number] for number in ours if signal.getsignal(number) is not signal.SIG_IGN}
    handlers = {number: signal.signal(number, handler) for number, handler in heard.items()}
    try:
        process = subprocess.Popen(  # noqa: S603 - the caller's own command
            [*own, *command], env=environment, start_new_session=True
        )
        started.append(process)
        for number in came_before:
            process.send_signal(number)
        code = process.wait()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return code if code >= 0 else _ENDED_BY_SIGNAL - code


def main(command: list[str]) -> None:
    step_aside()
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell, and the command is the caller's own
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(_NOT_STARTED)


if __name__ == "__main__":
    main(sys.argv[1:])
