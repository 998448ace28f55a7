"""The documents name files and pages that exist."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CODE: Final = re.compile(r"`([^`\n]+)`")
ROOMS: Final = "features|store|flows|api|calibrate|client|tests|demo|bench|docs"
SHIPPED_PATH: Final = re.compile(rf"(?:{ROOMS})/[\w./-]*\w(?:\.\w+)?/?")
LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def without_blocks(page: Path) -> str:
    """The page's text without its fenced blocks, whose comments are no headings and whose brackets are no links."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def missing_paths(text: str) -> list[str]:
    """Paths in backticks that are not there; ``api/<area>`` is a pattern and no path."""
    paths = [code for code in CODE.findall(text) if SHIPPED_PATH.fullmatch(code)]
    return [path for path in paths if not (ROOT / path).exists()]


def anchors(page: Path) -> set[str]:
    """Anchors as a renderer of Markdown makes them of headings."""
    headings = HEADING.findall(without_blocks(page))
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def broken_links(page: Path, text: str) -> Iterator[str]:
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


def test_given_the_documents_then_there_are_some_and_the_index_names_each_of_them() -> None:
    pages = [page for page in PAGES if page.parent == ROOT / "docs" and page.name != "README.md"]
    records = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    of_decisions = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")

    assert len(pages) > 8
    assert len(records) > 18
    assert not [named(page) for page in pages if f"({page.name})" not in index]
    assert not [named(record) for record in records if f"({record.name})" not in of_decisions]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_given_a_document_then_every_path_it_names_exists(page: Path) -> None:
    assert not missing_paths(without_blocks(page))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_given_a_document_then_its_links_lead_somewhere(page: Path) -> None:
    assert not list(broken_links(page, without_blocks(page)))


@pytest.mark.parametrize("record", sorted((ROOT / "docs" / "decisions").glob("0*.md")), ids=named)
def test_given_a_decision_record_then_it_has_the_one_form(record: Path) -> None:
    lines = record.read_text(encoding="utf-8").splitlines()
    sections = [line.removeprefix("## ") for line in lines if line.startswith("## ")]

    assert re.fullmatch(rf"# {record.name[:4]} \S.*", lines[0])
    assert re.fullmatch(r"- Date: \d{4}-\d\d-\d\d", lines[2])
    assert re.fullmatch(r"- Status: (proposed|accepted|replaced by \d{4})", lines[3])
    assert sections == ["Context", "Decision", "Consequences", "Not chosen"]


def test_given_paths_and_links_that_lead_nowhere_then_they_are_found() -> None:
    page = ROOT / "docs" / "README.md"
    text = "`features/core/nothing.py` `store/duck/` `api/<area>` [a](nothing.md) [b](style.md#layout) [c](style.md#no)"

    assert missing_paths(text) == ["features/core/nothing.py"]
    assert list(broken_links(page, text)) == ["nothing.md", "style.md#no"]
