"""For how long the machine kept this process from running: what a test that compares times has to allow for."""

import os
import signal
import subprocess
import threading
import time
from typing import Any, Final, Self

import pytest
from _pytest.runner import runtestprotocol

LOOKS_EVERY_S: Final = 0.01
USUAL_S: Final = 0.05
"""A wait for a processor that a machine with more work than cores imposes on anybody."""

ALLOWED_S: Final = 0.1
MOST_TRIES: Final = 6


class Stalls:
    """A thread that sleeps for moments; whatever such a moment takes too long, this process could not run."""

    def __init__(self) -> None:
        self.lost_s = 0.0
        self._looked_at = 0.0
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._looked_at = time.monotonic()
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._looking.join()
        self._note()

    def _look(self) -> None:
        while not self._over.wait(LOOKS_EVERY_S):
            self._note()

    def _note(self) -> None:
        now = time.monotonic()
        lost_s = now - self._looked_at - LOOKS_EVERY_S
        self._looked_at = now
        if lost_s > USUAL_S:
            self.lost_s += lost_s


class Stopwatch(Stalls):
    """What a ``with`` block took, without the time for which the machine stood still."""

    def __init__(self) -> None:
        super().__init__()
        self._began = self._ended = 0.0

    @property
    def own_s(self) -> float:
        return self._ended - self._began - self.lost_s

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        return super().__enter__()

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        self._ended = time.monotonic()


def stand_still(seconds: float) -> None:
    """Stop this process, as a machine does that has no time for it."""
    with subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -CONT {os.getpid()}"]):
        os.kill(os.getpid(), signal.SIGSTOP)


def run_undisturbed(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Run a test that is marked ``timed``: again if it failed while the machine stood still, and only then."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for number in range(1, MOST_TRIES + 1):
        with Stalls() as stalls:
            reports: list[Any] = runtestprotocol(item, log=False, nextitem=nextitem)
        if stalls.lost_s < ALLOWED_S or not any(report.failed for report in reports):
            break
        reports[-1].sections.append(("Stalls", f"In try {number} this process stood still for {stalls.lost_s:.2f} s."))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
