"""Five seconds after a signature, in which it can be taken back: the next stack is open, and nothing is lost."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.support.console_demo import BOB, Person
from tests.support.console_service import ConsoleService
from tests.support.waiting import eventually

TYPED: Final = "I called the payer, who knows the payment and its purpose; the invoice agrees. Zażółć <b>&amp;"
CLOSE: Final = re.compile("^Close")
BACK: Final = re.compile("^take back")
REFUSED: Final = ("409", "401", "Failed to load")


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleService]:
    with ConsoleService(tmp_path_factory.mktemp("bank")) as running:
        running.stacks("bacc_last_1", "bacc_last_2")
        yield running


def signed(person: Person, stack: dict[str, Any], narrative: str = TYPED) -> Page:
    """The page after a signature by keyboard; the request is still held back."""
    page = person.page
    page.goto(f"/console/stacks/{stack['id']}")
    page.get_by_role("radio", name=CLOSE).check()
    page.locator("main").get_by_label("Narrative").fill(narrative)
    page.keyboard.press("Control+Enter")
    expect(strip(page)).to_contain_text(re.compile(r"Signed in \d s"))
    return page


def strip(page: Page) -> Locator:
    return page.locator("#sending")


def narratives(bank: ConsoleService, stack: dict[str, Any]) -> list[str]:
    return [each["narrative"] for each in bank.decisions_on(stack["alertIds"][0])]


def test_given_a_signature_when_it_is_taken_back_by_key_then_nothing_is_sent_and_its_text_is_there_again(
    bank: ConsoleService, chromium: Browser
) -> None:
    (stack,) = bank.stacks("bacc_back")
    with bank.person(chromium) as ann:
        page = signed(ann, stack)
        sent: list[str] = []
        page.on("request", lambda each: sent.append(each.url) if each.url.endswith("/decide") else None)
        page.wait_for_url(lambda url: stack["id"] not in url)
        expect(page.locator("form[data-draft]:visible")).to_have_count(1)
        page.keyboard.press("z")
        page.wait_for_url(f"**/{stack['id']}")
        expect(page.locator("main").get_by_label("Narrative")).to_be_focused()
        expect(page.locator("main").get_by_label("Narrative")).to_have_value(TYPED)
        expect(page.get_by_role("radio", name=CLOSE)).to_be_checked()
        expect(strip(page)).to_be_empty()
        page.wait_for_timeout(6_000)
        assert not sent + narratives(bank, stack)

        page.locator("main").get_by_label("Narrative").fill(f"{TYPED} Again.")
        page.keyboard.press("Control+Enter")
        expect(strip(page).locator(".signed")).to_contain_text("Signed: close", timeout=20_000)
        assert narratives(bank, stack) == [f"{TYPED} Again."]
        page.keyboard.press("v")
        expect(strip(page)).to_contain_text("The record is whole")
        assert not ann.faults


def test_given_a_signature_when_the_page_or_the_tab_is_left_then_it_is_on_the_record(
    bank: ConsoleService, chromium: Browser
) -> None:
    left, closed, out = bank.stacks("bacc_left", "bacc_closed", "bacc_out")
    with bank.person(chromium) as ann:
        page = signed(ann, left)
        page.goto("/console/today")
        expect(strip(page)).to_contain_text("Signed: close", timeout=20_000)
        assert narratives(bank, left) == [TYPED]

        signed(ann, closed).close(run_before_unload=True)
        eventually(lambda: narratives(bank, closed) == [TYPED])
        assert not ann.faults
    with bank.person(chromium) as ann:
        signed(ann, out).get_by_role("button", name="Sign out").click()
        expect(ann.page.get_by_label("Token")).to_be_visible()
        assert narratives(bank, out) == [TYPED]
        assert ann.page.evaluate("localStorage.length") == 0
        # A request of the page that was left may come to the service after the sign-out.
        assert not [each for each in ann.faults if "401" not in each]


def test_given_a_signature_that_was_taken_when_the_stack_is_opened_again_then_it_cannot_be_signed_twice(
    bank: ConsoleService, chromium: Browser
) -> None:
    (stack,) = bank.stacks("bacc_twice")
    with bank.person(chromium) as ann:
        page = signed(ann, stack)
        page.locator(f"#stack-{stack['id']}").click()
        form = page.locator(f"main form[data-draft='{stack['id']}']")
        expect(form).to_have_attribute("inert", "")
        page.get_by_role("button", name=BACK).click()
        expect(form).not_to_have_attribute("inert", "")
        expect(page.locator("main").get_by_label("Narrative")).to_have_value(TYPED)
        assert not narratives(bank, stack) + ann.faults


def test_given_a_decision_of_another_person_meanwhile_then_the_line_leads_to_it_and_to_the_own_text(
    bank: ConsoleService, chromium: Browser
) -> None:
    (stack,) = bank.stacks("bacc_meanwhile")
    others = "The payer was seen at the branch and confirmed the payment in person to me."
    with bank.person(chromium) as ann:
        page = signed(ann, stack)
        body = {"alertIds": stack["alertIds"], "narrative": others}
        for each in ("escalate", "close"):
            bank.sent("POST", "/api/alerts/decide", by=BOB, json=body | {"decision": each})
        expect(strip(page)).to_contain_text("not recorded, your text is kept", timeout=20_000)
        assert stack["id"] not in page.url
        strip(page).get_by_role("link", name="open").click()
        expect(page.locator("#results")).to_contain_text("Decided meanwhile")
        expect(page.get_by_label("Your text, to copy")).to_have_value(TYPED)
        page.goto(f"/console/stacks/{stack['id']}")
        expect(page.get_by_label("Your text, which is not signed, to copy")).to_have_value(TYPED)
        assert set(narratives(bank, stack)) == {others}
        assert not [each for each in ann.faults if not any(words in each for words in REFUSED)]


def test_given_a_session_that_ends_meanwhile_then_the_text_is_there_after_signing_in_again(
    bank: ConsoleService, chromium: Browser
) -> None:
    (stack,) = bank.stacks("bacc_ended")
    with bank.person(chromium) as ann:
        page = signed(ann, stack)
        page.wait_for_url(lambda url: stack["id"] not in url)
        ann.context.clear_cookies()
        expect(strip(page)).to_contain_text("not recorded, your text is kept", timeout=20_000)
        strip(page).get_by_role("link", name="open").click()
        expect(page.get_by_label("Token")).to_be_visible()
        ann.sign_in(bank.token, f"/console/stacks/{stack['id']}")
        expect(page.locator("main").get_by_label("Narrative")).to_have_value(TYPED)
        expect(page.get_by_role("radio", name=CLOSE)).to_be_checked()
        assert not narratives(bank, stack)


def test_given_a_phone_when_a_signature_is_taken_back_by_touch_then_its_stack_is_there_again(
    bank: ConsoleService, chromium: Browser
) -> None:
    (stack,) = bank.stacks("bacc_phone")
    with bank.person(chromium, viewport={"width": 390, "height": 800}, has_touch=True) as ann:
        page = signed(ann, stack)
        page.wait_for_url(lambda url: stack["id"] not in url)
        assert page.evaluate("scrollY") == 0
        page.get_by_role("button", name=BACK).tap()
        expect(page.locator("main").get_by_label("Narrative")).to_have_value(TYPED)
        assert stack["id"] in page.url
        assert not narratives(bank, stack) + ann.faults


def test_given_a_list_in_another_order_when_a_stack_is_signed_then_the_next_one_of_that_list_opens(
    bank: ConsoleService, chromium: Browser
) -> None:
    bank.stacks("bacc_order_1", "bacc_order_2", "bacc_order_3")
    with bank.person(chromium) as ann:
        page = ann.page
        page.goto("/console/queue?sort=score")
        rows = page.locator("#stacks .stack")
        order = rows.evaluate_all("rows => rows.map((row) => row.id.slice(6))")
        page.keyboard.press("o")
        for at in range(2):
            page.wait_for_url(f"**/{order[at]}")
            page.get_by_role("radio", name=CLOSE).check()
            name = page.locator(f"#stack-{order[at + 1]} bdi").first.inner_text()
            expect(page.locator("#following")).to_have_text(name)
            page.keyboard.press("Control+Enter")
        page.wait_for_url(f"**/{order[2]}")
        back = page.get_by_role("button", name=BACK)
        expect(back).to_have_count(2)
        back.first.click()
        page.wait_for_url(f"**/{order[1]}")
        page.get_by_role("button", name=BACK).click()
        page.wait_for_url(f"**/{order[0]}")
        expect(page.locator("#sending > *")).to_have_count(0)
        assert not ann.faults


class Held:
    """Requests of a page to addresses that match wait until they are let go."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._page, self._waiting, self._is_over = page, list[Route](), False
        page.route(re.compile(pattern), self._take)

    def _take(self, route: Route) -> None:
        if self._is_over:
            route.continue_()
        else:
            self._waiting.append(route)

    def wait(self) -> None:
        while not self._waiting:
            self._page.wait_for_timeout(20)

    def let_go(self) -> None:
        self._is_over = True
        while self._waiting:
            self._waiting.pop().continue_()


@pytest.mark.parametrize("is_open", [True, False])
def test_given_a_list_that_comes_after_a_signature_then_the_next_stack_opens_and_stays(
    bank: ConsoleService, chromium: Browser, *, is_open: bool
) -> None:
    """The list comes while the next stack is on the screen, or while it is on its way."""
    (stack,) = bank.stacks(f"bacc_late_list_{is_open}")
    with bank.person(chromium) as ann:
        page = ann.page
        rows = Held(page, r"/console/queue")
        others = Held(page, rf"/console/stacks/(?!{stack['id']})[^/]*$")
        signed(ann, stack)
        others.wait()
        if is_open:
            others.let_go()
            page.wait_for_url(lambda url: stack["id"] not in url)
        rows.let_go()
        chosen = page.locator("#stacks [aria-current]")
        expect(chosen).to_have_count(1)
        others.let_go()
        page.wait_for_url(lambda url: stack["id"] not in url)
        opened = page.url.rpartition("/")[2]
        expect(page.locator("form[data-draft]:visible")).to_have_attribute("data-draft", opened)
        expect(chosen).to_have_id(f"stack-{opened}")
        expect(strip(page).locator(".signed")).to_contain_text("Signed: close", timeout=20_000)
        assert page.url.endswith(opened)
        assert not ann.faults
