"""A scorer that says nothing: one that works is let be, one that hangs is not."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from clearhold.flows.scorer.supervisor import Silence, usage_of
from tests.support.waiting import eventually

HUNG_AFTER_S = 10.0
LONGEST_S = 60.0
STEP_S = 2.5

Start = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """A process that runs this program; all are ended with the test."""
    processes: list[subprocess.Popen[bytes]] = []

    def started(program: str) -> "subprocess.Popen[bytes]":
        processes.append(subprocess.Popen([sys.executable, "-c", f"print(flush=True)\n{program}"], stdout=-1))
        assert processes[-1].stdout is not None
        processes[-1].stdout.readline()
        return processes[-1]

    yield started
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def asleep(start: Start) -> "subprocess.Popen[bytes]":
    process = start("import time; time.sleep(600)")
    eventually(lambda: usage_of(process.pid).state == "S")
    return process


def steps_let_be(process: "subprocess.Popen[bytes]", *, between: Callable[[], None] = lambda: None) -> int:
    """How many steps of silence are let be."""
    silence = Silence(process.pid, step_s=STEP_S, hung_after_s=HUNG_AFTER_S, longest_s=LONGEST_S)
    for step in range(100):
        try:
            silence.goes_on()
        except TimeoutError:
            return step
        between()
    return 100


def test_given_one_that_sleeps_when_silent_then_it_is_hung(asleep: "subprocess.Popen[bytes]") -> None:
    assert steps_let_be(asleep) == HUNG_AFTER_S / STEP_S - 1


def test_given_one_that_was_stopped_at_work_when_silent_then_it_is_hung(start: Start) -> None:
    process = start("while True: pass")
    os.kill(process.pid, signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)

    assert steps_let_be(process) == HUNG_AFTER_S / STEP_S - 1


def test_given_one_at_work_when_silent_then_it_is_let_be_but_not_for_good(start: Start) -> None:
    assert steps_let_be(start("while True: pass")) == LONGEST_S / STEP_S - 1


def test_given_one_that_is_asleep_whenever_looked_at_but_works_between_then_it_is_let_be(start: Start) -> None:
    process = start("import time\nwhile True:\n  sum(range(400_000)); time.sleep(0.2)")

    def worked() -> None:
        before = usage_of(process.pid).ticks
        eventually(lambda: usage_of(process.pid).ticks > before)
        eventually(lambda: usage_of(process.pid).state == "S")

    assert steps_let_be(process, between=worked) == LONGEST_S / STEP_S - 1


def test_given_a_word_when_silent_again_then_the_wait_begins_anew(asleep: "subprocess.Popen[bytes]") -> None:
    silence = Silence(asleep.pid, step_s=STEP_S, hung_after_s=HUNG_AFTER_S, longest_s=LONGEST_S)

    for _ in range(20):
        silence.goes_on()
        silence.ended()

    for _ in range(3):
        silence.goes_on()
    with pytest.raises(TimeoutError, match="without work for 10 s"):
        silence.goes_on()
