"""The long tests are named by their files, each of which is there."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.long import FILES, FOLDERS, TESTS, is_long

MAKEFILE = (TESTS.parent / "Makefile").read_text("utf-8")


def test_given_the_names_of_long_files_then_each_is_a_file_of_tests() -> None:
    assert [name for name in FILES if not (TESTS / name).is_file()] == []
    assert [name for name in FOLDERS if not (TESTS / name).is_dir()] == []


@pytest.mark.parametrize("name", ["console/test_day.py", "demo/test_demo.py", "flows/test_kills.py"])
def test_given_a_file_that_is_named_or_whose_folder_is_when_looked_at_then_it_is_long(name: str) -> None:
    assert is_long(TESTS / name)


@pytest.mark.parametrize("name", ["api/console/test_today.py", "flows/test_owner.py", "test_kills.py"])
def test_given_another_file_when_looked_at_then_it_is_not(name: str) -> None:
    assert not is_long(TESTS / name)
    assert not is_long(Path("/elsewhere") / name)


@pytest.mark.parametrize(
    ("chosen", "there", "missing"),
    [("long", "test_record_kills.py", "test_roles.py"), ("not long", "test_roles.py", "test_record_kills.py")],
)
def test_given_a_long_file_and_another_when_chosen_by_the_marker_then_one_is_left_out(
    chosen: str, there: str, missing: str
) -> None:
    files = [str(TESTS / "flows" / name) for name in (there, missing)]
    command = [sys.executable, "-m", "pytest", "-m", chosen, "--collect-only", "--numprocesses=0", "-q", *files]
    answer = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=True).stdout
    assert there in answer
    assert missing not in answer


def test_given_the_commands_then_two_share_the_tests_and_ci_runs_all() -> None:
    commands = [line.strip() for line in MAKEFILE.splitlines() if "-m pytest" in line and "PYTEST_OPTIONS" in line]
    assert commands == [
        '$(PY) -m pytest -m "not long" $(PYTEST_OPTIONS)',
        "$(PY) -m pytest -m long $(PYTEST_OPTIONS)",
        "$(PY) -m pytest $(PYTEST_OPTIONS)",
    ]
    assert "\nmake test-all PYTEST_OPTIONS=" in (TESTS.parent / ".ci" / "run").read_text("utf-8")
