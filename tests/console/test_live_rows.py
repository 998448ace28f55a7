"""Many changes at once on the live line of a page in a browser."""

from typing import Final

from playwright.sync_api import Browser, expect

from tests.console.conftest import QueueDesk
from tests.console.test_live_line import BEFORE_S, QUEUE, event
from tests.support.stacking import decide_many

MANY: Final = 8


def test_given_many_stacks_decided_elsewhere_then_each_of_their_rows_says_so(
    desk: QueueDesk, chromium: Browser
) -> None:
    with desk.person(chromium) as ann:
        page, decided = ann.page, desk.stacks[:MANY]
        page.clock.install()
        page.goto(QUEUE)
        expect(page.locator(f"#stack-{decided[-1]['id']}")).to_be_visible()
        operator = desk.api.operator(desk.tenant) | {"X-Operator": "bob@bank.example"}
        alerts = [alert for each in decided for alert in each["alertIds"]]
        assert decide_many(desk.api, operator, alerts).status_code == 200
        ann.feed = "".join(event(50 + at, "alert.decided", "alertId", alert) for at, alert in enumerate(alerts))
        asked = len(ann.asked)
        while len(ann.asked) == asked:
            page.clock.run_for(500)
            page.wait_for_timeout(50)
        ann.feed = ": here\n\n"  # the events come once
        for _ in range(3 * BEFORE_S):
            page.clock.run_for(1_000)
            page.wait_for_timeout(50)
        for each in decided:
            expect(page.locator(f"#stack-{each['id']}")).to_contain_text("decided")
        assert not ann.faults
