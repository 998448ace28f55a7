"""The queue with its keys in a browser: the last choice wins, no key is lost, and far rows leave the page."""

import re
from typing import Final

from playwright.sync_api import Browser, Page, expect

from tests.console.conftest import QueueDesk

QUEUE: Final = "/console/queue"
SCRIPTS: Final = "/console/static/"
CLOSE: Final = re.compile("^Close")


def chosen(page: Page) -> str:
    """The id of the stack whose row is marked."""
    row = page.locator("#stacks [aria-current]")
    return (row.get_attribute("id") or "").removeprefix("stack-")


def form_of(page: Page, stack_id: str) -> None:
    """The decision that can be seen is of this stack."""
    expect(page.locator(f"main form[data-draft='{stack_id}']")).to_be_visible()
    expect(page.locator("form[data-draft]:visible")).to_have_count(1)


def ids(page: Page) -> list[str]:
    rows: list[str] = page.eval_on_selector_all("#stacks .stack", "rows => rows.map((row) => row.id.slice(6))")
    return rows


def test_given_a_row_that_loads_when_the_next_one_is_chosen_then_the_workspace_is_of_the_last_choice(
    desk: QueueDesk, chromium: Browser
) -> None:
    with desk.person(chromium) as ann:
        page = ann.page
        page.goto(QUEUE)
        first, _, second, third = ids(page)[:4]  # the row below the first one is read ahead
        form_of(page, first)
        ann.held = {f"/console/stacks/{second}", f"/console/stacks/{third}"}
        page.locator(f"#stack-{second}").click()
        expect(page.locator("form[data-draft]:visible")).to_have_count(0)
        page.wait_for_timeout(200)
        page.locator(f"#stack-{third}").click()
        page.wait_for_timeout(200)
        ann.release(f"/console/stacks/{third}")
        form_of(page, third)
        ann.release(f"/console/stacks/{second}")
        page.wait_for_timeout(200)

        assert chosen(page) == third
        form_of(page, third)
        assert page.url.endswith(third)
        assert not ann.faults


def test_given_a_workspace_on_its_way_when_a_choice_is_pressed_then_it_is_made_there_and_ready_to_be_written(
    desk: QueueDesk, chromium: Browser
) -> None:
    with desk.person(chromium) as ann:
        page = ann.page
        page.goto(QUEUE)
        first, second = ids(page)[:2]
        ann.held = {f"/console/stacks/{second}"}
        page.goto(QUEUE)  # a new page: no workspace is prefetched
        form_of(page, first)
        for key in ("j", "Enter", "c"):
            page.keyboard.press(key)
        assert page.locator("[name=decision]:checked").count() == 0
        page.wait_for_timeout(200)
        ann.release()

        form_of(page, second)
        expect(page.locator("main").get_by_label("Narrative")).to_be_focused()
        expect(page.get_by_role("radio", name=CLOSE)).to_be_checked()
        assert not ann.faults


def test_given_a_page_whose_scripts_are_late_when_a_choice_is_pressed_then_it_is_not_lost(
    desk: QueueDesk, chromium: Browser
) -> None:
    with desk.person(chromium, width=1024) as ann:
        page, stack_id = ann.page, desk.stacks[0]["id"]
        page.route(re.compile("/parts\\.js$"), ann.hold)
        page.goto(f"/console/stacks/{stack_id}", wait_until="commit")
        expect(page.locator("main").get_by_label("Narrative")).to_be_visible()
        page.keyboard.press("c")
        while not ann.waiting:  # a request that comes after the release would wait for good
            page.wait_for_timeout(20)
        expect(page.get_by_role("radio", name=CLOSE)).not_to_be_checked()
        ann.release()

        expect(page.get_by_role("radio", name=CLOSE)).to_be_checked()
        expect(page.locator("main").get_by_label("Narrative")).to_be_focused()
        assert not ann.faults


def test_given_chunks_of_rows_when_one_goes_on_then_far_rows_leave_the_page_and_come_back(
    desk: QueueDesk, chromium: Browser
) -> None:
    order = [each["id"] for each in desk.stacks]
    with desk.person(chromium) as ann:
        page = ann.page
        page.set_viewport_size({"width": 1440, "height": 300})
        page.goto(f"{QUEUE}?limit=2&kind=account,split&sort=dueAt")
        for at in range(1, len(order)):
            page.keyboard.press("j")
            expect(page.locator(f"#stack-{order[at]}")).to_be_focused()
        expect(page.locator("#stacks .stack[aria-current]")).to_be_in_viewport()
        assert page.locator(f"#stack-{order[at]}").locator("..").get_attribute("aria-posinset") == str(len(order))
        form_of(page, order[-1])
        for at in reversed(range(len(order) - 1)):
            page.keyboard.press("k")
            expect(page.locator(f"#stack-{order[at]}")).to_be_focused()
        form_of(page, order[0])
        assert not ann.faults


def test_given_a_workspace_when_its_keys_are_pressed_then_each_does_what_its_button_does(
    desk: QueueDesk, chromium: Browser
) -> None:
    with desk.person(chromium) as ann:
        page = ann.page
        page.goto(QUEUE)
        page.keyboard.press("j")
        page.keyboard.press("o")
        stack_id = ids(page)[1]
        form_of(page, stack_id)
        expect(page.locator("#preview h2.title")).to_be_focused()
        page.evaluate("window.isSame = true")
        page.keyboard.press("w")
        page.keyboard.press("d")
        expect(page.locator("#compared")).to_contain_text("Draft and narrative")
        page.keyboard.press("2")
        expect(page.locator(".evidence section").nth(1).get_by_role("heading").first).to_be_focused()
        page.keyboard.press("u")
        expect(page.locator(f"#stack-{stack_id}")).to_be_focused()
        page.keyboard.press("Control+k")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(f"#stack-{stack_id}")).to_be_focused()
        assert page.evaluate("window.isSame")
        page.keyboard.press("g")
        page.keyboard.press("t")
        page.wait_for_url("**/console/today")

        page.keyboard.press("?")
        page.get_by_label("Single keys act").uncheck()
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox", name="Search")).not_to_be_focused()
        assert not ann.faults


def test_given_a_stack_that_is_not_in_the_list_when_it_is_opened_by_its_address_then_it_stays_open(
    desk: QueueDesk, chromium: Browser
) -> None:
    with desk.person(chromium) as ann:
        page, last = ann.page, desk.stacks[-1]["id"]
        page.goto(f"{QUEUE}?band=clear")
        page.goto(f"/console/stacks/{last}")
        expect(page.locator("#queue-pane .counts")).to_be_visible()
        page.wait_for_timeout(300)
        form_of(page, last)
        assert not ann.faults
