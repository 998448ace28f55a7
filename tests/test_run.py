"""What a run of the tests starts, it ends; also what a test left that hung."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support import run
from tests.support.redis_process import alive

CONFTEST: Final = """
from tests.conftest import FOLDER, pytest_configure, pytest_unconfigure
"""
LINE: Final = "threading.Event().wait()"
HANGS: Final = f"""
import subprocess, sys, threading
from pathlib import Path

child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
Path(__file__).with_name("pid").write_text(f"{{child.pid}}")

def test_that_hangs():
    {LINE}
"""


def test_given_a_test_that_hangs_when_its_time_is_over_then_it_is_named_and_what_it_started_is_gone(
    tmp_path: Path,
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_hangs.py").write_text(HANGS)
    options = [
        "-n",
        "1",
        "--timeout=6",
        "--timeout-method=thread",
        "-o",
        "faulthandler_timeout=3",
        "--max-worker-restart=0",
        "-p",
        "no:cacheprovider",
    ]
    command = [sys.executable, "-m", "pytest", *options, "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)]

    ended = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)

    pid = (tmp_path / "pid").read_text()
    assert ended.returncode != 0
    assert "test_that_hangs" in ended.stdout
    assert f'test_hangs.py", line {HANGS.split(LINE)[0].count(chr(10)) + 1} in test_that_hangs' in ended.stderr
    assert f"Left behind by a test, and killed: {pid} " in ended.stdout
    assert not alive(int(pid))


def test_given_a_folder_in_memory_when_the_run_is_over_then_it_is_gone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run, "MEMORY", tmp_path)
    monkeypatch.setenv("TESTS_BEGUN_BY", "put back behind this test")
    monkeypatch.setattr(run, "ROOM_BYTES", 1)

    (tmp_path / "chtests-4194305-killed").mkdir()  # no process has a number like that

    folder = run.begin()
    assert folder is not None
    assert list(tmp_path.iterdir()) == [folder]
    (folder / "left").write_text("by a test")

    assert run.end(folder) == []
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(run, "ROOM_BYTES", 1 << 62)
    assert run.begin() is None


def test_given_the_limits_of_a_test_then_it_says_where_it_stands_before_it_is_ended(
    pytestconfig: pytest.Config,
) -> None:
    assert 0 < float(pytestconfig.getini("faulthandler_timeout")) < float(pytestconfig.getini("timeout"))
