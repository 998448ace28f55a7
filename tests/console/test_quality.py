"""Quality in a browser: each table and its file have the same figures."""

import csv
from io import StringIO
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page

from clearhold.api.console.components.words import NO_VALUE
from tests.support.console_demo import ConsoleDemo


def shown_in(section: Locator) -> list[list[str]]:
    return [row.locator("th, td").all_inner_texts() for row in section.locator("tbody tr").all()]


def as_shown(head: str, cell: str) -> str:
    """A cell of a file as its table has it."""
    if cell == "":
        return "not measured" if head in {"Share", "Index"} else NO_VALUE
    if head == "Index":
        return cell
    return f"{float(cell):.1%}" if "." in cell and not cell.endswith("h") else cell


def file_of(page: Page, section: Locator, folder: Path) -> list[list[str]]:
    with page.expect_download() as download:
        section.get_by_role("link", name="CSV").click()
    place = folder / download.value.suggested_filename
    download.value.save_as(place)
    return list(csv.reader(StringIO(place.read_text("utf-8"))))


def test_given_the_figures_of_a_program_then_each_file_has_what_its_table_has(
    demo: ConsoleDemo, chromium: Browser, tmp_path: Path
) -> None:
    with demo.person(chromium) as person:
        page = person.page
        page.goto("/console/quality")
        page.get_by_label("Program").select_option(index=2)
        page.get_by_label("Days").select_option("90")
        page.get_by_role("button", name="Show").click()
        page.wait_for_url("**days=90**")
        sections = page.locator("section:has(table.figures)").all()
        assert len(sections) >= 9
        for section in sections:
            heads, *rows = file_of(page, section, tmp_path)
            told = [[as_shown(head, cell) for head, cell in zip(heads, row, strict=True)] for row in rows]
            assert [[cell.replace(",", "") for cell in row] for row in shown_in(section)] == told
        assert page.locator("svg.shares title").count() == 7
        assert not person.faults
