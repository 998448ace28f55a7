"""A program's week on paper: printed from the program's page, and light where the screen is dark."""

import re
import zlib
from typing import Any, Final

from playwright.sync_api import Browser, Page

from tests.support.console_demo import ConsoleDemo

MOST_SHEETS: Final = 3
SHEET_PX: Final = 960
"""The height within the margins of a sheet of A4, in CSS pixels, rounded down."""
SHEET: Final = re.compile(rb"/Type\s*/Page\b")
STREAM: Final = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)
FIGURES: Final = """() => {
  const of = (each) => getComputedStyle(each);
  const whole = [...document.querySelectorAll('tr, figure, .tile')];
  return {
    rows: document.querySelectorAll('tbody tr').length,
    cut: whole.filter((each) => of(each).breakInside !== 'avoid').map((each) => each.outerHTML.slice(0, 120)),
    highest: Math.max(...whole.map((each) => each.getBoundingClientRect().height)),
    heads: [...document.querySelectorAll('thead')].map((each) => of(each).display),
    hidden: [...document.querySelectorAll('.wide')].filter((each) => of(each).overflowX !== 'visible').length,
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    scheme: of(document.documentElement).colorScheme,
    paper: of(document.body).backgroundColor,
    ink: of(document.body).color,
  };
}"""
A4_PX: Final = {"width": 718, "height": 1000}


def brightness(colour: str) -> float:
    """The mean of red, green and blue, 0 to 255; nothing behind the text is the white of the paper."""
    parts = [float(each) for each in re.findall(r"[\d.]+", colour)]
    return 255.0 if len(parts) == 4 and parts[3] == 0 else sum(parts[:3]) / 3


def opened_week(page: Page) -> Page:
    """The newest full week of the first program on paper, in the tab that its link opens."""
    page.goto("/console/programs")
    page.locator(".programs tbody th a").first.click()
    page.locator('a[href*="/week?week="]').first.click()
    with page.context.expect_page() as tab:
        page.get_by_role("link", name="To print").click()
    tab.value.wait_for_load_state("load")
    return tab.value


def printed(page: Page) -> bytes:
    return page.pdf(format="A4", print_background=True, prefer_css_page_size=True)


def fills(pdf: bytes) -> set[tuple[float, ...]]:
    """The colours in which the sheets are filled, red, green and blue from 0 to 1."""
    filled = set()
    for raw in STREAM.findall(pdf):
        try:
            drawn = zlib.decompress(raw)
        except zlib.error:
            continue  # a stream that is not compressed draws nothing
        for colour in re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) rg\b", drawn):
            filled.add(tuple(float(each) for each in colour))
    return filled


def test_given_a_week_when_printed_then_no_row_is_cut_heads_repeat_and_paper_is_light(
    demo: ConsoleDemo, chromium: Browser
) -> None:
    with demo.person(chromium, color_scheme="dark") as person:
        week = opened_week(person.page)
        pdf = printed(week)
        week.emulate_media(media="screen", color_scheme="dark")
        as_on_screen = printed(week)
        week.emulate_media(media="print", color_scheme="light")
        in_light = printed(week)
        week.emulate_media(media="print", color_scheme="dark")
        week.set_viewport_size(A4_PX)  # type: ignore[arg-type]
        figures: dict[str, Any] = week.evaluate(FIGURES)
        assert not person.faults
    assert fills(pdf) == fills(in_light)
    assert fills(pdf) != fills(as_on_screen), "the colours of a dark screen are read from a PDF"
    assert 1 <= len(SHEET.findall(pdf)) <= MOST_SHEETS
    assert figures["rows"] > 15
    assert figures["cut"] == []
    assert figures["highest"] < SHEET_PX
    assert set(figures["heads"]) == {"table-header-group"}
    assert (figures["hidden"], figures["wide"], figures["scheme"]) == (0, 0, "light")
    assert brightness(figures["paper"]) > 240
    assert brightness(figures["ink"]) < 80
