"""Whose turn it is on a core: how long a thread runs before others that wait may have one, and who is behind whom.

An answer goes through several processes, and each of its hops waits for a turn on a core. On Linux 6.12 and later a
thread that asks for short slices is run sooner when it wakes and gives way sooner when others do; its share of the
core stays what it is, and so no privilege is needed. Processes and threads that a thread starts inherit its slices.
Elsewhere, and where a sandbox forbids the call, nothing changes. The committer, maintenance and the child that writes a
snapshot give way to whoever answers: it needs no privilege to be content with less. The kernel may weigh sessions first
and niceness only within one, so a service, its scorers and its Redis are one session (autogroups, sched(7)).

Unit    nanoseconds
Source  Linux, Documentation/scheduler/sched-eevdf.rst; sched_setattr(2), nice(2), sched(7)
"""

import ctypes
import os
import platform
import sys
from typing import Final

SHORT_NS: Final = 100_000
"""The shortest that the kernel allows."""

USUAL_NS: Final = 0
"""Whatever the kernel gives by default."""

GIVING_WAY: Final = 5
"""Niceness: on a core that is contended, a third of what one with 0 gets."""

_SET_ATTRIBUTES: Final = {"x86_64": 314, "aarch64": 274}
"""The number of sched_setattr, for which the C library has no function."""


class SchedulingAttributes(ctypes.Structure):
    """struct sched_attr, as far as all kernels know it."""

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
    """Ask for slices of so long for the calling thread; False where that cannot be asked for.

    A thread of another scheduling class than the usual one stays what it is.
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
    """Be behind those that answer for good; the calling thread, and what it starts. On Linux only, where niceness is a
    thread's own.
    """
    if sys.platform == "linux":
        os.nice(GIVING_WAY)
