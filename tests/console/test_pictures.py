"""The pictures in ``docs/console.md``: each screen has one, and it shows the screen as it is.

A picture cannot be compared by its bytes: names, amounts and times of the demo differ. So the page's outline is kept
beside it, and has to be that of the page now. ``make pictures`` takes the pictures of new and changed screens, and of
those whose picture was deleted; so look at them after a change of a style sheet.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser

from tests.console.test_pages import paths
from tests.support import screens
from tests.support.console_demo import ConsoleDemo, Person

DOCUMENT: Final = screens.ROOT / "docs" / "console.md"
DRAWS: Final = "CLEARHOLD_DRAW_PICTURES"
LARGEST_IN_ALL: Final = 1_500_000
SIZE: Final = {"width": 1024, "height": 720}
WITHOUT_A_PICTURE: Final = {
    "missing": "a refusal, in words",
    "search-empty": "a sentence",
    "commands": "a list that Ctrl+K opens",
    "queue-table": "the queue as a table",
    "policy-ladder": "as the other kinds of policy",
}

BY_DATA: Final = {"workspace", "thing", "search", "graph", "preflight-answer", "record-proof", "quality"}
"""Screens whose parts depend on the demo's data, as a stack or a score. Most parts have to be the same."""
MOST: Final = 0.75


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleDemo]:
    """One that no other test has changed."""
    with ConsoleDemo(Path(tmp_path_factory.mktemp("pictured"))) as running:
        running.furnish()
        yield running


@pytest.fixture(scope="module")
def reader(demo: ConsoleDemo, chromium: Browser) -> Iterator[Person]:
    with demo.person(chromium, color_scheme="light", viewport=SIZE) as person:
        yield person


@pytest.fixture(scope="module")
def outlines(demo: ConsoleDemo, chromium: Browser, reader: Person) -> dict[str, list[str]]:
    """Of the pages as they are now, by name; where pictures are to be taken, they are taken here."""
    visitor = chromium.new_page(base_url=demo.url, color_scheme="light", viewport=SIZE)  # type: ignore[arg-type]
    visitor.goto("/console/sign-in")
    now, pictures = {"sign-in": screens.outline_of(visitor)}, {"sign-in": screens.picture_of(visitor)}
    visitor.close()
    for name, path in paths(reader).items():
        if name in WITHOUT_A_PICTURE:
            continue
        reader.page.goto(path)
        reader.page.locator(".light.on").wait_for()
        now[name], pictures[name] = screens.outline_of(reader.page), screens.picture_of(reader.page)
    if os.environ.get(DRAWS):
        screens.record(pictures, now)
    return now


def outline_with(reader: Person, body: str) -> list[str]:
    reader.page.goto("about:blank")  # pages of the console let no one set their content
    reader.page.set_content(f"<main>{body}</main>")
    return screens.outline_of(reader.page)


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("<h1>2 keys of <bdi>ann</bdi></h1>", "<h1>13 keys of <bdi>bob</bdi></h1>"),
        ("<table><thead><tr><th>Name<tbody><tr><td>a</table>", "<table><thead><tr><th>Name</table>"),
    ],
)
def test_given_other_data_then_the_outline_is_the_same(reader: Person, then: str, now: str) -> None:
    assert outline_with(reader, then) == outline_with(reader, now) != []


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("<h1>Keys</h1>", "<h1>Keys</h1><h2>Revoked</h2>"),
        ("<h1>Keys</h1>", "<h1>Keys</h1><section role=region aria-label=Revoked>none</section>"),
        ("<table><thead><tr><th>Name</table>", "<table><thead><tr><th>Name<th>Last used</table>"),
        ("<form method=post><button type=submit>Revoke</button></form>", "<form method=post></form>"),
    ],
)
def test_given_another_screen_then_its_outline_is_another(reader: Person, then: str, now: str) -> None:
    assert outline_with(reader, then) != outline_with(reader, now)


def test_given_the_screens_then_each_has_a_picture_and_none_is_of_another(outlines: dict[str, list[str]]) -> None:
    assert sorted(outlines) == sorted(screens.recorded()), "make pictures"


def is_like(name: str, now: list[str], then: list[str]) -> bool:
    """Whether a picture with the outline ``then`` shows the screen of that name."""
    if name in BY_DATA:
        return len({*now} & {*then}) >= MOST * len({*now} | {*then})
    return now == then


def test_given_a_screen_then_its_picture_has_the_same_outline(outlines: dict[str, list[str]]) -> None:
    assert [name for name, lines in outlines.items() if not lines] == []
    recorded = screens.recorded()
    changed = {
        name: {"only now": sorted({*lines} - {*recorded[name]}), "only then": sorted({*recorded[name]} - {*lines})}
        for name, lines in outlines.items()
        if name in recorded and not is_like(name, lines, recorded[name])
    }
    assert not changed, "make pictures"


def test_given_the_pictures_then_each_is_in_the_document_and_all_are_small() -> None:
    pictures = {each.stem: each.stat().st_size for each in screens.FOLDER.glob("*.webp")}
    text = DOCUMENT.read_text("utf-8")
    assert sorted(pictures) == sorted(screens.recorded())
    assert [name for name in pictures if f"](pictures/{name}.webp)" not in text] == []
    assert {name: size for name, size in pictures.items() if size > screens.LARGEST} == {}
    assert sum(pictures.values()) < LARGEST_IN_ALL
