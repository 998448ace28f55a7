"""Ten questions of an examination: each named heading is on its screen of the demo, with a table or words under it."""

from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, expect

from tests.support.console_demo import ConsoleDemo

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "examination.md"
QUESTIONS: Final = 10
SCREENS: Final = {"/console/quality", "/console/record"}


def rows() -> list[list[str]]:
    """The cells of each question: the question, its screen, the heading, how to read it."""
    lines = DOCUMENT.read_text("utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [row for row in cells if row[0][:1].isdigit()]


def test_given_the_ten_questions_then_each_is_answered_under_its_heading(demo: ConsoleDemo, chromium: Browser) -> None:
    questions = rows()
    assert [int(row[0].partition(".")[0]) for row in questions] == [*range(1, QUESTIONS + 1)]
    assert {row[1].strip("`") for row in questions} == SCREENS
    with demo.person(chromium) as reader:
        page = reader.page
        for question, screen, heading, _ in questions:
            address = screen.strip("`")
            if not page.url.endswith(address):
                page.goto(address)
            named = page.get_by_role("heading", name=heading, exact=True)
            expect(named, question).to_be_visible()
            part = page.locator("section", has=named).last
            assert len(part.inner_text()) > len(heading) + 20, question
            assert part.locator("table, form, a").count(), question
        assert not reader.faults
