"""The command line itself: its version and help texts, and the generated pages of the documentation."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from clearhold.api.cli.main import COMMANDS, app
from docs.pages.__main__ import PAGES, write_pages

DOCS = Path(__file__).parents[3] / "docs"
WIDE: Final = {"COLUMNS": "200", "TERMINAL_WIDTH": "200"}


def test_given_the_version_flag_then_the_version_and_the_build_of_the_package_are_printed() -> None:
    result = CliRunner().invoke(app, ["--version"])

    assert (result.exit_code, result.stdout) == (0, f"clearhold {version('clearhold')}\n")


HEAVY: Final = {"bytewax", "duckdb", "litestar", "numpy", "polars", "pyarrow", "redis"}
PRINTED: Final = """
import sys
from clearhold.api.cli.start import main
try:
    main()
finally:
    print("\\n", *sys.modules, file=sys.stderr)
"""
TEXTS: Final[list[tuple[str, ...]]] = [
    *(("--help",), ("--version",)),
    *((name, "--help") for name in COMMANDS),
    *(("lake", "status", "--help"), ("rules", "check", "--help"), ("rules", "backtest", "--help")),
]


@pytest.mark.parametrize("arguments", TEXTS, ids=" ".join)
def test_given_a_help_text_or_the_version_when_printed_then_no_library_of_the_service_is_imported(
    arguments: tuple[str, ...],
) -> None:
    """Each would cost up to a seventh of a second of processor time."""
    printed = subprocess.run(
        [sys.executable, "-c", PRINTED, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    imported = printed.stderr.splitlines()[-1].split()

    assert printed.stdout.strip()
    assert "typer" in imported
    assert not HEAVY & set(imported)
    if len(arguments) == 1:
        assert len([name for name in imported if name.startswith("clearhold.")]) < 30


@pytest.mark.parametrize("name", COMMANDS)
def test_given_a_command_then_the_list_of_commands_and_its_own_help_have_its_summary(name: str) -> None:
    _, summary = COMMANDS[name]
    listed, own = (CliRunner(env=WIDE).invoke(app, words).output for words in (["--help"], [name, "--help"]))

    assert (summary in listed, summary in own) == (True, True)


def test_given_a_command_that_is_misspelt_then_the_nearest_one_is_named() -> None:
    result = CliRunner(env=WIDE).invoke(app, ["bakcup"])

    assert result.exit_code == 2
    assert "Did you mean 'backup'" in result.output


@pytest.mark.parametrize("page", PAGES)
def test_given_the_generated_pages_when_written_again_then_the_committed_ones_are_the_same(
    page: str, tmp_path: Path
) -> None:
    write_pages(tmp_path)

    assert (tmp_path / page).read_bytes() == (DOCS / page).read_bytes(), "run: make docs"
