"""Scheduling on a core: how soon a woken thread runs, and which threads have priority.

An answer goes through several processes, and waits for a core at each hop. On Linux 6.12 and later a thread with short
slices runs sooner when it wakes and gives way sooner to others; its share of the core stays the same, so it needs no
privilege. Processes and threads inherit the slices of the thread that starts them. Elsewhere, and where a sandbox
forbids the call, nothing changes. The committer, maintenance and the child that writes a snapshot have a lower priority
than answers, which needs no privilege either. The kernel may weigh sessions first and niceness only within one, so a
service, its scorers and its Redis are one session (autogroups, sched(7)).

Unit    nanoseconds
Source  Linux, Documentation/scheduler/sched-eevdf.rst; sched_setattr(2), nice(2), sched(7)
"""

import ctypes
import os
import platform
import sys
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
