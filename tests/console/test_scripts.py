"""The console's own scripts: their types, which are in comments, and the mistakes that a linter sees."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.support.npm_packages import npm_installed

ROOT: Final = Path(__file__).parents[2]
STATIC: Final = ROOT / "api" / "console" / "static"
RULES: Final = ROOT / "tests" / "support" / "console_eslint.mjs"
PACKAGES: Final = ("typescript@7.0.2", "eslint@10.15.0")
TYPES: Final = (
    "--noEmit",
    "--checkJs",
    "--strict",
    "--target",
    "esnext",
    "--module",
    "nodenext",
    "--lib",
    "esnext,dom",
)
WITHIN_S: Final = 300


@pytest.fixture(scope="module")
def tools() -> Path:
    return npm_installed(ROOT / "build" / "scripts", *PACKAGES) / "node_modules" / ".bin"


@pytest.fixture(scope="module")
def scripts(tools: Path) -> list[Path]:
    """A copy of them, beside the tools: below the package of their rules."""
    folder = tools.parents[1] / "static"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return [Path(shutil.copy(each, folder)) for each in sorted(STATIC.glob("*.js"))]


def refusals(command: list[object], folder: Path) -> str:
    ended = subprocess.run(
        [*map(str, command)], cwd=folder, capture_output=True, text=True, timeout=WITHIN_S, check=False
    )
    return "" if ended.returncode == 0 else ended.stdout + ended.stderr


def test_given_the_scripts_then_their_types_agree(tools: Path, scripts: list[Path]) -> None:
    assert len(scripts) > 5
    assert not refusals([tools / "tsc", *TYPES, *scripts], tools.parents[1])


def test_given_the_scripts_then_the_linter_has_nothing_to_say(tools: Path, scripts: list[Path]) -> None:
    shutil.copy(RULES, tools.parents[1] / "eslint.config.mjs")
    assert not refusals([tools / "eslint", "--max-warnings=0", *scripts], tools.parents[1])


def test_given_a_wrong_script_then_both_refuse_it(tools: Path, scripts: list[Path]) -> None:
    """One assignment of a number to ``innerHTML``: a wrong type, and a property that no script may set."""
    wrong = scripts[0].parent / "wrong.js"
    wrong.write_text(
        "/** @param {number} count */\nexport const act = (count) => { document.body.innerHTML = count; };"
    )
    shutil.copy(RULES, tools.parents[1] / "eslint.config.mjs")
    assert "not assignable" in refusals([tools / "tsc", *TYPES, wrong], tools.parents[1])
    assert "no-restricted-properties" in refusals([tools / "eslint", wrong], tools.parents[1])
    wrong.unlink()
