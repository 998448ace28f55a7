"""Reading: at 400 % zoom, in forced colours, without motion, without scripts, by a key, by another bank; and one key
that extends the session.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.test_pages import OVERFLOW, axe_violations
from tests.support.console_service import ConsoleService

ZOOMED: Final = {"width": 320, "height": 256}
"""A page of 1,280 by 1,024 pixels at 400 %."""
PAGES: Final = ("today", "queue", "queue?view=table", "approvals", "people", "search?q=acht", "keys", "commands")
TOO_SMALL: Final = """() => [...document.querySelectorAll('a, button, summary, input:not([type=hidden]), select')]
  .filter((each) => each.checkVisibility() && each.closest('.hidden, .skip, p, td, th, .event') === null)
  .map((each) => (each.closest('label') ?? each).getBoundingClientRect().height < 24 ? each.outerHTML.slice(0, 90) : '')
  .filter((each) => each !== '')"""
MOVING: Final = """() => document.getAnimations().filter((each) => each.playState === 'running').length"""
EXTENDS_S: Final = 29 * 60


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleService]:
    with ConsoleService(tmp_path_factory.mktemp("bank")) as running:
        running.stacks("bacc_1", "bacc_2")
        yield running


def paths(bank: ConsoleService) -> list[str]:
    stack = bank.read("/api/stacks", kind="account", limit="1")["data"][0]
    thing = f"things/account/{stack['who']['id']}?programId={stack['programId']}"
    return [f"/console/{each}" for each in (*PAGES, f"stacks/{stack['id']}", thing)]


def wrong_on_each(page: Page, addresses: list[str], script: str) -> dict[str, Any]:
    """By page, what a script finds on it."""
    answers = {}
    for each in addresses:
        page.goto(each)
        answers[each] = page.evaluate(script)
    return {path: wrong for path, wrong in answers.items() if wrong}


def test_given_a_zoom_of_400_percent_then_no_page_scrolls_sideways(bank: ConsoleService, chromium: Browser) -> None:
    with bank.person(chromium, viewport=ZOOMED) as ann:
        wrong = wrong_on_each(ann.page, paths(bank), OVERFLOW)
        assert not wrong
        assert not ann.faults


@pytest.mark.parametrize("width", [1440, 390])
def test_given_a_page_then_what_can_be_pressed_is_at_least_24_pixels_high(
    bank: ConsoleService, chromium: Browser, width: int
) -> None:
    with bank.person(chromium, viewport={"width": width, "height": 900}) as ann:
        wrong = wrong_on_each(ann.page, paths(bank), TOO_SMALL)
        assert not wrong, "\n".join(sorted({each for found in wrong.values() for each in found}))


def test_given_forced_colours_and_no_motion_then_each_page_is_accessible_and_nothing_moves(
    bank: ConsoleService, chromium: Browser, axe: str
) -> None:
    problems = {}
    with bank.person(chromium, forced_colors="active", reduced_motion="reduce") as ann:
        for each in paths(bank):
            ann.page.goto(each)
            wrong = (axe_violations(ann.page, axe), ann.page.evaluate(MOVING))
            if any(wrong):
                problems[each] = wrong
        assert not ann.faults
    assert not problems


def test_given_no_scripts_then_each_page_can_be_read(bank: ConsoleService, chromium: Browser) -> None:
    with bank.person(chromium, java_script_enabled=False) as ann:
        for each in paths(bank):
            answer = ann.page.goto(each)
            assert answer is not None
            assert answer.status == 200, each
            expect(ann.page.locator("h1")).to_have_count(1)
            assert len(ann.page.locator("main").inner_text()) > 20, each


def test_given_a_session_near_its_end_when_one_key_is_pressed_then_it_goes_on_and_the_text_is_there(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann:
        page = ann.page
        page.clock.install()
        page.goto(paths(bank)[-2])
        page.locator("main").get_by_label("Narrative").fill("I am in the middle of a word")
        page.route(
            "**/console/session",
            lambda route: (
                route.fulfill(status=200, headers={"Session-Left": "90", "Session-More": "1710"})
                if route.request.headers.get("x-unattended")
                else route.continue_()
            ),
        )
        page.clock.fast_forward(EXTENDS_S * 1000)
        dialog = page.locator("dialog#session-end")
        expect(dialog).to_be_visible()
        expect(page.get_by_role("button", name="Stay signed in")).to_be_focused()
        page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        expect(page.locator("main").get_by_label("Narrative")).to_have_value("I am in the middle of a word")


def test_given_the_key_of_an_examiner_then_its_pages_are_read_and_nothing_on_them_writes(
    bank: ConsoleService, chromium: Browser
) -> None:
    body = {"name": "examiner", "mode": "live", "scopes": ["alerts:read", "actions"]}
    secret = bank.sent("POST", "/api/keys", json=body)["secret"]
    with bank.person(chromium, "", token=secret) as examiner:
        page = examiner.page
        expect(page.get_by_role("navigation", name="Main").get_by_role("link")).to_have_text(
            ["Queue", "Approvals", "Settings"]
        )
        for each in ("/console/queue", paths(bank)[-2], "/console/approvals"):
            page.goto(each)
            assert page.locator("main form[method=post]").count() == 0, each
        page.goto(paths(bank)[-2])
        expect(page.locator(".decision")).to_contain_text("reads and does not decide")
        assert not examiner.faults


def test_given_another_bank_then_its_person_gets_the_same_404_as_for_nothing(
    bank: ConsoleService, chromium: Browser
) -> None:
    other = bank.new_tenant("other-bank")
    with bank.person(chromium, token=other["operatorToken"]) as stranger:
        texts = []
        for each in (paths(bank)[-2], "/console/stacks/00000000-0000-0000-0000-000000000000"):
            answer = stranger.page.goto(each)
            assert answer is not None
            assert answer.status == 404
            texts.append(re.sub(r"[0-9a-f-]{36}|request \S+", "", stranger.page.locator("main").inner_text()))
        assert texts[0] == texts[1]
