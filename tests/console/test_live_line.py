"""The live line of a page in a browser: what changed elsewhere, two tabs, and a service that was away."""

from typing import Final

from playwright.sync_api import Browser, expect

from tests.console.conftest import QueueDesk
from tests.support.stacking import decide_many, story

QUEUE: Final = "/console/queue"
NOT_REACHED: Final = "ERR_FAILED"
BEFORE_S: Final = 8
PLACES: Final = "rows => rows.map((row) => [row.ariaPosInSet, row.ariaSetSize])"
AWAY_S: Final = 50


def event(number: int, kind: str, field: str, value: str) -> str:
    return f'id: {number}\nevent: {kind}\ndata: {{"data": {{"{field}": "{value}"}}}}\n\n'


def test_given_a_stack_decided_elsewhere_then_its_row_says_so_and_leaves_at_the_next_move_and_new_ones_wait_for_a_key(
    desk: QueueDesk, chromium: Browser
) -> None:
    with desk.person(chromium) as ann:
        page, stack = ann.page, desk.stacks[1]
        page.clock.install()
        page.goto(QUEUE)
        other = ann.opened()
        other.goto("/console/today")
        row = page.locator(f"#stack-{stack['id']}")
        operator = desk.api.operator(desk.tenant) | {"X-Operator": "bob@bank.example"}
        assert decide_many(desk.api, operator, stack["alertIds"]).status_code == 200
        desk.api.clock.advance(60_000_000)
        story(desk.api, desk.tenant, desk.program, "bacc_new", 1)
        ann.feed = event(7, "alert.decided", "alertId", stack["alertIds"][0])
        for _ in range(BEFORE_S):
            page.clock.run_for(1_000)
            page.wait_for_timeout(50)

        expect(row).to_contain_text("decided")
        expect(page.locator(".bar-new")).to_contain_text("new since")
        expect(page.locator("#live")).to_have_text("live")
        expect(other.locator("#live")).to_have_text("live")
        page.keyboard.press("j")
        expect(row).to_be_focused()
        page.keyboard.press("j")
        expect(row).to_have_count(0)
        places = page.eval_on_selector_all("#stacks li:has(.stack)", PLACES)
        assert places == [[str(at), str(len(places))] for at in range(1, len(places) + 1)]
        page.keyboard.press(".")
        expect(page.locator(".bar-new")).to_have_count(0)
        assert not ann.faults


def test_given_a_service_that_was_away_then_the_page_says_since_when_and_goes_on_behind_the_last_event(
    desk: QueueDesk, chromium: Browser
) -> None:
    with desk.person(chromium) as ann:
        page = ann.page
        page.clock.install()
        ann.feed = event(41, "transfer.scored", "transferId", "acht_1")
        page.goto(QUEUE)
        expect(page.locator("#live")).to_have_text("live")
        ann.feed = None
        for _ in range(AWAY_S // 10):
            page.clock.run_for(10_000)
            page.wait_for_timeout(50)
        expect(page.locator("#live")).to_contain_text("not live since")
        ann.feed = ": here\n\n"
        for _ in range(AWAY_S // 10):
            page.clock.run_for(10_000)
            page.wait_for_timeout(50)
        expect(page.locator("#live")).to_have_text("live")
        assert ann.asked[-1]["last-event-id"] == "41"
        assert not [each for each in ann.faults if NOT_REACHED not in each]
