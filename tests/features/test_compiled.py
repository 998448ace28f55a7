"""The compiled build of ``features``: it can be made, and its rows and states are those of the interpreted one."""

import ast
import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree, which

import msgspec
import pytest

from tests.support.row_digests import Digests

ROOT = Path(__file__).parents[2]
TREE = ROOT / "build" / "compiled"  # kept, so that only what has changed is compiled the next time
SOURCES_ONLY = ignore_patterns("*.so", "__pycache__")
COMPILER = shlex.split(sysconfig.get_config_var("CC") or "cc")[0]
CAN_COMPILE = which(COMPILER) is not None and Path(sysconfig.get_path("include"), "Python.h").exists()
SHOWN = ("ordinary", "alert-dense")


def copied(tree: Path) -> Path:
    rmtree(tree / "features", ignore_errors=True)
    return Path(copytree(ROOT / "features", tree / "features", ignore=SOURCES_ONLY)).parent


def compiled(tree: Path) -> Path:
    command = [sys.executable, str(ROOT / "setup.py"), "--quiet", "build_ext", "--inplace", "--parallel", "2"]
    environment = os.environ | {"CLEARHOLD_COMPILED": "1", "CLEARHOLD_OPTIMISATION": "0"}
    built = subprocess.run(command, cwd=copied(tree), env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout[-4_000:] + built.stderr[-4_000:]
    return tree


def digests(tree: Path) -> Digests:
    """What a process says that finds ``features`` in this tree, and all else in the checkout."""
    found = subprocess.run(
        [sys.executable, "-P", "-m", "tests.support.row_digests"],
        env=os.environ | {"PYTHONPATH": f"{tree}{os.pathsep}{ROOT}"},
        capture_output=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr[-4_000:].decode()
    return msgspec.json.decode(found.stdout, type=Digests)


def test_given_a_module_that_is_compiled_then_its_classes_state_no_options_since_the_compiler_would_drop_them() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "features").rglob("*.py")}
    compiled_ones = {path: ast.parse(text) for path, text in sources.items() if "(msgspec.Struct" not in text}

    classes = [
        (path.stem, node)
        for path, tree in compiled_ones.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]

    assert len(classes) > 20
    assert [(module, node.name) for module, node in classes if node.keywords] == []


@pytest.mark.skipif(not CAN_COMPILE, reason=f"nothing to compile with: {COMPILER} or the headers of Python are missing")
def test_given_the_same_streams_when_compiled_and_interpreted_then_rows_and_states_are_the_same_to_the_byte(
    tmp_path: Path,
) -> None:
    interpreted, native = digests(copied(tmp_path)), digests(compiled(TREE))

    assert (interpreted.build, native.build) == ("interpreted", "compiled")
    assert native.streams == interpreted.streams
    assert native.in_memory == interpreted.in_memory == dict.fromkeys(native.in_memory, True)
    assert "AmountSeries" in native.in_memory
    rows = {digest.stream: digest.rows for digest in native.streams}
    assert all(
        {"AlertRow", "RuleMatchRow", "ShadowScoreRow"} <= rows[name].keys() and "QuarantineRow" not in rows[name]
        for name in SHOWN
    )
    assert len(rows) > len(SHOWN)
