"""Seven tabs of one browser follow the bank over one connection; another takes over when the first is closed."""

from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from tests.support.console_demo import BOB, Person
from tests.support.console_service import ConsoleService
from tests.support.waiting import eventually

TABS: Final = 7
LIVE: Final = "/console/live"
NARRATIVE: Final = "The payer was seen at the branch and confirmed the payment in person to me."


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleService]:
    with ConsoleService(tmp_path_factory.mktemp("bank")) as running:
        yield running


class OpenFeeds:
    """The connections of a browser to the feed that are open now, each with its tab."""

    def __init__(self, person: Person) -> None:
        self.of_tabs: dict[Request, Page] = {}
        self.most = 0
        person.context.on("request", self._began)
        person.context.on("requestfailed", self._ended)
        person.context.on("requestfinished", self._ended)

    def _began(self, request: Request) -> None:
        if request.url.endswith(LIVE):
            self.of_tabs[request] = request.frame.page
            self.most = max(self.most, len(self.now))

    def _ended(self, request: Request) -> None:
        self.of_tabs.pop(request, None)

    def after_a_turn(self, tab: Page) -> int:
        """How many there are, once the browser's news until now were heard."""
        tab.evaluate("0")
        return len(self.now)

    @property
    def now(self) -> list[Page]:
        return [each for each in self.of_tabs.values() if not each.is_closed()]


def test_given_seven_tabs_then_all_are_live_by_one_connection_and_a_decision_in_one_greys_in_the_others(
    bank: ConsoleService, chromium: Browser
) -> None:
    decided, kept = bank.stacks("bacc_tab_1", "bacc_tab_2")
    with bank.person(chromium) as ann:
        ann.page.goto("about:blank")
        feeds = OpenFeeds(ann)
        tabs = [ann.page, *(ann.context.new_page() for _ in range(TABS - 1))]
        for each in tabs:
            each.goto("/console/queue")
        for each in tabs:
            expect(each.locator("#live")).to_have_text("live")
        assert feeds.most == 1

        (leader,) = feeds.now
        leader.close()
        others = [each for each in tabs if each is not leader]
        eventually(lambda: feeds.after_a_turn(others[0]) == 1)
        assert feeds.now[0] in others
        for each in others:
            expect(each.locator("#live")).to_have_text("live")

        body = {"alertIds": decided["alertIds"], "decision": "close", "narrative": NARRATIVE}
        bank.sent("POST", "/api/alerts/decide", by=BOB, json=body)
        for each in others:
            each.bring_to_front()
            expect(each.locator(f"#stack-{decided['id']}.decided")).to_contain_text("decided", timeout=15_000)
            expect(each.locator(f"#stack-{kept['id']}:not(.decided)")).to_be_visible()
        assert feeds.most == 1
        assert len(feeds.now) == 1
        assert not ann.faults
