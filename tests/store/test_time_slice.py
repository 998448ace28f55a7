"""Slices of a thread, as the kernel reports them."""

import ctypes
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from clearhold.store.scheduling import (
    GIVING_WAY,
    SHORT_NS,
    USUAL_NS,
    SchedulingAttributes,
    low_priority,
    set_time_slice,
)

GET_ATTRIBUTES: Final = {"x86_64": 315, "aarch64": 275}
SINCE: Final = (6, 12)

pytestmark = pytest.mark.skipif(platform.machine() not in GET_ATTRIBUTES, reason="only where slices can be set")


def attributes_of(pid: int = 0) -> SchedulingAttributes:
    attributes = SchedulingAttributes()
    size = ctypes.sizeof(attributes)
    number = GET_ATTRIBUTES[platform.machine()]
    assert ctypes.CDLL(None).syscall(number, pid, ctypes.byref(attributes), size, 0) == 0
    return attributes


def are_reported() -> bool:
    """Older kernels take the call and keep their slices."""
    major, minor = platform.release().split(".")[:2]
    return (int(major), int(minor)) >= SINCE


def runtime_of_child() -> int:
    """Of a process that the calling thread starts; it ends with its input."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        runtime = attributes_of(child.pid).runtime
        child.communicate(b"\n")
    return int(runtime)


def test_given_a_thread_when_it_asks_for_short_slices_then_it_and_its_children_have_them_until_it_asks_again() -> None:
    def asked() -> tuple[list[bool], list[int], int, list[int]]:
        usual = attributes_of().runtime
        taken = [set_time_slice(SHORT_NS)]
        short, child, nice = attributes_of().runtime, runtime_of_child(), [attributes_of().nice]
        taken.append(set_time_slice(USUAL_NS))
        return taken, [short, attributes_of().runtime - usual], child, nice

    with ThreadPoolExecutor(1) as threads:
        taken, slices, child, nice = threads.submit(asked).result()

    assert taken == [True, True]
    assert slices == ([SHORT_NS, 0] if are_reported() else [0, 0])
    assert child == slices[0]
    assert nice == [os.getpriority(os.PRIO_PROCESS, 0)]


def test_given_a_thread_with_short_slices_when_it_gives_way_then_it_alone_has_less_of_a_core_and_keeps_its_slices() -> (
    None
):
    def gave_way() -> tuple[int, int]:
        set_time_slice(SHORT_NS)
        low_priority()
        return attributes_of().nice, attributes_of().runtime

    before = os.getpriority(os.PRIO_PROCESS, 0)
    with ThreadPoolExecutor(1) as threads:
        nice, runtime = threads.submit(gave_way).result()

    assert nice == min(19, before + GIVING_WAY)
    assert runtime == (SHORT_NS if are_reported() else 0)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_given_a_thread_of_idle_tasks_when_it_asks_for_short_slices_then_it_stays_one() -> None:
    def asked() -> tuple[bool, int]:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        return set_time_slice(SHORT_NS), os.sched_getscheduler(0)

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(asked).result() == (False, os.SCHED_IDLE)
