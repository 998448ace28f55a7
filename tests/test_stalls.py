"""A machine that stands still fails no test by that alone, and hides no fault."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.stalls import Stopwatch, stand_still

STILL_S: Final = 0.4
CONFTEST: Final = """
import pytest
from tests.support import stalls

KNOWN = stalls.KNOWN = []

class Known(stalls.Stalls):
    def _note(self):
        if self._over.is_set() and KNOWN:
            self.lost_s = KNOWN.pop()

stalls.Stalls = Known

def pytest_runtest_protocol(item, nextitem):
    stalls.run_undisturbed(item, nextitem)
    return True
"""
TRIES: Final = """
from tests.support import stalls

tries = []

def test_that_lost_time_once(tmp_path):
    tries.append(tmp_path)
    if len(tries) == 1:
        stalls.KNOWN.append(stalls.ALLOWED_S)
    assert len(tries) == 2

def test_that_fails_by_itself(tmp_path):
    print("a try of its own")
    assert tmp_path is None
"""


@pytest.mark.timed
def test_given_a_process_that_is_stopped_when_timed_then_what_it_lost_is_not_its_own() -> None:
    with Stopwatch() as stopped:
        stand_still(STILL_S)
    with Stopwatch() as waited:
        time.sleep(STILL_S)

    assert stopped.lost_s > STILL_S * 0.5
    assert waited.own_s > STILL_S * 0.9


def test_given_a_test_that_failed_when_the_machine_stood_still_then_it_is_run_again_and_any_other_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_tries.py").write_text(TRIES)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "-c", os.devnull]
    command = [sys.executable, "-m", "pytest", *options, "--rootdir", str(tmp_path), str(tmp_path)]

    ended = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)

    assert "1 failed, 1 passed" in ended.stdout, ended.stdout
    assert ended.stdout.count("a try of its own") == 2  # in the source and in the one try


@settings(max_examples=1)
@given(st.just(0))
def test_given_a_property_when_the_machine_stands_still_at_an_example_then_it_holds(value: int) -> None:
    stand_still(STILL_S)

    assert value == 0
