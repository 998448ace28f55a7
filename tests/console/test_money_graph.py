"""From a workspace to the money around its alert and to the bank's events: in place by script, as pages without."""

import re

from playwright.sync_api import Browser, expect

from tests.support.console_demo import ConsoleDemo

LINK = re.compile("^Everything around it")
EVENTS = re.compile("^Events of the bank about it")


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
        expect(ann.page.locator("#around").get_by_role("heading", name="The money around it")).to_be_focused()
        expect(drawing.locator(".edge").first).to_be_attached()
        assert ann.page.url.endswith(stack)
        ann.page.locator("#around summary").click()
        expect(ann.page.locator("#around table tbody tr")).to_have_count(drawing.locator(".edge").count())
        ann.page.get_by_role("link", name=EVENTS).click()
        expect(ann.page.locator("#bank-events").get_by_role("heading", name="Events of the bank")).to_be_focused()
        expect(ann.page.locator("#bank-events tbody tr").first).to_be_visible()
        assert not ann.faults
    with demo.person(chromium, java_script_enabled=False) as ann:
        ann.page.goto(stack)
        ann.page.get_by_role("link", name=LINK).click()
        expect(ann.page.get_by_role("heading", name="The money around it")).to_be_visible()
        expect(ann.page.locator("svg .edge").first).to_be_attached()
