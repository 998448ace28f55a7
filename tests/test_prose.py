"""Plain English: the listed phrases grow rarer in every folder, and their finder finds them."""

from pathlib import Path
from typing import Final

import pytest

from tests import prose

PAGES: Final = [
    page for folder in (prose.PAGES, prose.DECISIONS) for page in prose.files_of(folder) if page.suffix == ".md"
]
PHRASES: Final = prose.phrase_pattern(
    f"{prose.SECTION}\n| `what is/was`, `whoever` | the noun |\n| `is/are none` | x |\n"
)


def matches(path: Path, source: str) -> list[tuple[int, str]]:
    path.write_text(source, encoding="utf-8")
    return [(finding.line, finding.phrase) for finding in prose.findings(path, PHRASES)]


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    return prose.counts()


@pytest.mark.parametrize("folder", prose.FOLDERS)
def test_given_a_folder_then_it_has_exactly_the_recorded_number_of_phrases(folder: str, counts: dict[str, int]) -> None:
    """More: ``python -m tests.prose FOLDER`` lists them. Fewer: ``python -m tests.prose --record`` writes it."""
    assert counts[folder] == prose.recorded()[folder]


def test_given_the_record_then_it_names_the_folders_that_are_counted_and_each_has_files() -> None:
    assert tuple(prose.recorded()) == prose.FOLDERS
    assert all(len(prose.files_of(folder)) > 5 for folder in prose.FOLDERS)


def test_given_a_module_then_phrases_are_found_in_docstrings_comments_and_sentences(tmp_path: Path) -> None:
    source = '"""Reads what\nis there."""\n\nx = 1  # Whoever asks\ny = ("A text of what "\n     f"was {x} read.")\n'

    assert matches(tmp_path / "a.py", source) == [(1, "what is"), (4, "Whoever"), (5, "what was")]


def test_given_code_names_and_python_in_a_module_then_they_are_no_prose(tmp_path: Path) -> None:
    source = '"""Whether ``what is`` holds; is None else."""\nwhoever = {"whoever": 1, "what": "is"}\nx = y is none\n'

    assert matches(tmp_path / "a.py", source) == []


def test_given_a_document_then_phrases_are_found_outside_of_its_code(tmp_path: Path) -> None:
    page = "# What is kept\n\n`what is` [a](a-b.md) of rows, there\nare none.\n\n```\nwhoever\n```\n"

    assert matches(tmp_path / "a.md", page) == [(1, "What is"), (4, "are none")]


def test_given_strings_of_two_arguments_then_no_phrase_is_read_across_them(tmp_path: Path) -> None:
    assert matches(tmp_path / "a.py", 'call("it says to everybody what", "is in the next argument")\n') == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(prose.ROOT)))
def test_given_a_document_then_its_prose_is_wrapped(page: Path) -> None:
    """At 120 columns; a table, a heading and a block of code may be wider."""
    assert not prose.wide_lines(page.read_text(encoding="utf-8"))


def test_given_a_page_then_only_prose_over_the_width_is_found() -> None:
    wide, at_most = "x" * 121, "x" * 120

    assert prose.wide_lines(f"# {wide}\n{wide}\n| {wide} |\n\n```\n{wide}\n```\n{at_most}\n- {wide}\n") == [2, 9]
