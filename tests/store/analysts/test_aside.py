"""Stepping aside: what the kernel says of a program that did, with all its threads, and how it is stood in for."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Final

import pytest

from clearhold.store import scheduling

LINUX: Final = pytest.mark.skipif(sys.platform != "linux", reason="macOS has neither idle tasks nor autogroups")
SAYS_ITS_CLASS: Final = """
import os, duckdb
connection = duckdb.connect(config={"threads": 3})
connection.execute("SET enable_progress_bar = false")
connection.execute("SELECT sum(i) FROM range(1000000) AS r(i)").fetchall()
classes = {os.sched_getscheduler(int(thread)) for thread in os.listdir("/proc/self/task")}
weight = open("/proc/self/autogroup").read().split()[-1] if os.path.exists("/proc/self/autogroup") else "19"
print(classes == {os.SCHED_IDLE}, os.getsid(0) == os.getpid(), weight, len(os.listdir("/proc/self/task")) > 2)
"""
WITHOUT_CLASSES: Final = """
import os, runpy, sys
for name in ("sched_setscheduler", "SCHED_IDLE"):
    if hasattr(os, name):
        delattr(os, name)
sys.argv = ["scheduling.py", sys.executable, "-c", "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"]
runpy.run_path(PATH, run_name="__main__")
""".replace("PATH", repr(scheduling.__file__))
STANDS_IN: Final = "import sys; from clearhold.store.scheduling import run_aside; sys.exit(run_aside(sys.argv[1:]))"


def stand_in(*command: str) -> list[str]:
    return [sys.executable, "-c", STANDS_IN, *command]


def state_of(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


@LINUX
def test_given_a_program_that_steps_aside_then_all_its_threads_are_idle_tasks_and_its_session_weighs_least() -> None:
    ended = subprocess.run(stand_in(sys.executable, "-c", SAYS_ITS_CLASS), capture_output=True, check=True, timeout=60)

    assert ended.stdout.decode().split() == ["True", "True", "19", "True"]


@LINUX
def test_given_a_session_that_others_share_when_a_program_steps_aside_in_it_then_they_keep_their_weight() -> None:
    if not scheduling.AUTOGROUP.exists():
        pytest.skip("a kernel without autogroups")
    before = scheduling.AUTOGROUP.read_text()

    subprocess.run([sys.executable, scheduling.__file__, "true"], check=True, timeout=60)

    assert scheduling.AUTOGROUP.read_text() == before


# A shell cannot trap what was ignored when it was started, as it is under nohup.
WAITING = """
import signal, sys
signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
sys.exit(7 if signal.sigtimedwait(signals, 60) else 1)
"""


def test_given_a_platform_without_scheduling_classes_then_a_program_runs_at_the_lowest_priority() -> None:
    ended = subprocess.run([sys.executable, "-c", WITHOUT_CLASSES], capture_output=True, check=True, timeout=60)

    assert int(ended.stdout) == scheduling.LOWEST


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["sh", "-c", "exit 3"], 3),
        (["sh", "-c", "kill -9 $$"], 128 + signal.SIGKILL),
        (["no-such-program-here"], 127),
    ],
)
def test_given_a_program_that_ends_when_it_is_stood_in_for_then_the_code_is_its_own(
    command: list[str], code: int
) -> None:
    assert scheduling.run_aside(command) == code


@pytest.fixture
def heeded(number: signal.Signals) -> Iterator[None]:
    """The signal is not ignored, as SIGHUP is in a run under nohup."""
    before = signal.getsignal(number)
    if before is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
    yield
    signal.signal(number, before)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_given_a_signal_when_a_program_is_stood_in_for_then_it_gets_it(number: signal.Signals) -> None:
    with subprocess.Popen(stand_in(sys.executable, "-c", WAITING), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)

        assert process.wait(timeout=60) == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_given_a_signal_that_is_ignored_when_a_program_is_stood_in_for_then_it_ignores_it_too(
    number: signal.Signals,
) -> None:
    """As under nohup, or in the background of a script."""
    program = f"import signal; print(signal.getsignal({number.value}) is signal.SIG_IGN, flush=True); input()"
    ignoring = f"trap '' {number.value}; exec \"$@\""
    command = ["sh", "-c", ignoring, "sh", *stand_in(sys.executable, "-c", program)]

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        is_ignored = process.stdout.readline()
        process.send_signal(number)
        process.communicate(b"\n", timeout=60)

    assert (is_ignored, process.returncode) == (b"True\n", 0)


@LINUX
def test_given_a_stop_at_the_terminal_when_a_program_is_stood_in_for_then_it_stops_too_and_goes_on_with_it() -> None:
    program = "echo $$; read line; echo $line"

    with subprocess.Popen(stand_in("sh", "-c", program), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        deadline = monotonic() + 60
        while not (stopped := state_of(child) == "T") and monotonic() < deadline:
            os.sched_yield()
        process.send_signal(signal.SIGCONT)
        output, _ = process.communicate(b"on\n", timeout=60)

    assert os.WIFSTOPPED(status)
    assert stopped
    assert output == b"on\n"
