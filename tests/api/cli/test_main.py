"""The command line itself: its version, and the generated pages of the documentation."""

from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from clearhold.api.cli.main import app
from docs.pages.__main__ import PAGES, write_pages

DOCS = Path(__file__).parents[3] / "docs"


def test_given_the_version_flag_then_the_version_and_the_build_of_the_package_are_printed() -> None:
    result = CliRunner().invoke(app, ["--version"])

    assert (result.exit_code, result.stdout) == (0, f"clearhold {version('clearhold')}\n")


@pytest.mark.parametrize("page", PAGES)
def test_given_the_generated_pages_when_written_again_then_the_committed_ones_are_the_same(
    page: str, tmp_path: Path
) -> None:
    write_pages(tmp_path)

    assert (tmp_path / page).read_bytes() == (DOCS / page).read_bytes(), "run: make docs"
