"""The oldest of each direct dependency that is declared, installed once under ``build``: what a stranger may have."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
WITHIN_S: Final = 180
_NO_INDEX: Final = "Failed to fetch"


def lowest_python(folder: Path) -> Path:
    """The Python of an environment with the lower bounds of what runs; skips where there is no index of packages."""
    python, complete = folder / "venv" / "bin" / "python", folder / "complete"
    declared = (ROOT / "pyproject.toml").read_text("utf-8") + sys.version
    if not complete.exists() or complete.read_text("utf-8") != declared:
        complete.unlink(missing_ok=True)
        pins = folder / "pins.txt"
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        _uv(
            "pip",
            "compile",
            "--resolution=lowest-direct",
            f"--python-version={version}",
            f"-o={pins}",
            "pyproject.toml",
        )
        _uv("venv", "--clear", f"--python={sys.executable}", str(folder / "venv"))
        _uv("pip", "install", f"--python={python}", f"--requirements={pins}")
        _uv("pip", "install", f"--python={python}", "--no-deps", "--editable=.")
        complete.write_text(declared, "utf-8")
    return python


def _uv(*arguments: str) -> None:
    ended = subprocess.run(
        [Path(sys.executable).with_name("uv"), *arguments],
        cwd=ROOT,
        env=os.environ | {"UV_CACHE_DIR": str(ROOT / "build" / "uv")},
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    if ended.returncode and _NO_INDEX in ended.stderr:
        pytest.skip(f"no index of packages: {ended.stderr.strip()[-300:]}")
    assert ended.returncode == 0, ended.stderr
