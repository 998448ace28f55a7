"""From a workspace to the money around its alert: in place by script, as a page without."""

import re

from playwright.sync_api import Browser, expect

from tests.support.console_demo import ConsoleDemo

LINK = re.compile("^Everything around it")


def test_given_a_stack_when_the_money_around_it_is_asked_for_then_it_is_drawn_below_and_as_a_page_without_scripts(
    demo: ConsoleDemo, chromium: Browser
) -> None:
    with demo.person(chromium) as ann:
        ann.page.goto("/console/queue")
        stack = ann.page.locator("#stacks .stack").first.get_attribute("href") or ""
        ann.page.goto(stack)
        ann.page.get_by_role("link", name=LINK).click()
        drawing = ann.page.locator("#around svg")
        expect(drawing).to_be_visible()
        expect(drawing.locator(".edge").first).to_be_attached()
        assert ann.page.url.endswith(stack)
        ann.page.locator("#around summary").click()
        expect(ann.page.locator("#around table tbody tr")).to_have_count(drawing.locator(".edge").count())
        assert not ann.faults
    with demo.person(chromium, java_script_enabled=False) as ann:
        ann.page.goto(stack)
        ann.page.get_by_role("link", name=LINK).click()
        expect(ann.page.get_by_role("heading", name="The money around it")).to_be_visible()
        expect(ann.page.locator("svg .edge").first).to_be_attached()
