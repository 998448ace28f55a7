"""Packages of npm for programs that tests run, installed once under a folder of ``build``: they are no dependencies."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

MODULE: Final = '{"private":true,"type":"module"}'
WITHIN_S: Final = 180


def npm_installed(folder: Path, *packages: str, package_json: str = MODULE) -> Path:
    """The folder with these packages, or those that ``package_json`` names; skips where they cannot be had."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not on PATH")
    folder.mkdir(parents=True, exist_ok=True)
    stated, complete = folder / "package.json", folder / "complete"
    wanted = "\n".join((package_json, *packages))
    if not complete.exists() or complete.read_text("utf-8") != wanted:
        stated.write_text(package_json, "utf-8")
        install = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund", *packages]
        ended = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=WITHIN_S, check=False)
        if ended.returncode:
            pytest.skip(f"npm cannot install {folder.name}: {ended.stderr.strip()[-300:]}")
        complete.write_text(wanted, "utf-8")
    return folder
