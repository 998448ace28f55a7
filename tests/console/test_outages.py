"""A service that is killed, one whose Redis hangs, one that is full, and decisions of another person meanwhile."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any, Final

import httpx
import pytest
from playwright.sync_api import Browser, Page, Request, expect

from clearhold.api.console.entry import COOKIE
from tests.support.console_demo import BOB, Person
from tests.support.console_service import ConsoleService

WORDS: Final = "I called the payer, who knows the payment and its purpose; the invoice agrees with it."
TYPED: Final = f"{WORDS} Zażółć <b>&amp;"
FLOODING: Final = 16
NOT_REACHED: Final = ("ERR_", "503", "429", "409", "fetch", "Failed to load")


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleService]:
    with ConsoleService(tmp_path_factory.mktemp("bank"), CLEARHOLD_RATE_LIMITS="console=40") as running:
        yield running


@pytest.fixture
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleService]:
    """One whose sessions may send few requests: a slow machine reaches them too."""
    with ConsoleService(tmp_path_factory.mktemp("narrow"), CLEARHOLD_RATE_LIMITS="console=15") as running:
        yield running


def opened(person: Person, stack: dict[str, Any]) -> Page:
    """The stack, with a choice and a text that are not signed."""
    page = person.page
    page.goto(f"/console/stacks/{stack['id']}")
    page.get_by_role("radio", name=re.compile("^Close")).check()
    page.locator("main").get_by_label("Narrative").fill(TYPED)
    return page


def sign(page: Page) -> None:
    page.get_by_role("button", name=re.compile("^Sign as")).click()


def recorded(page: Page) -> None:
    """The line of a signature says that it is on the record."""
    expect(page.locator("#sending .signed")).to_be_visible(timeout=60_000)


def attempts(page: Page) -> list[str]:
    """The attempts of the decisions that the page sends from now on."""
    noted: list[str] = []

    def note(request: Request) -> None:
        if request.method == "POST" and request.url.endswith("/decide"):
            noted.append((request.post_data or "").partition("attempt=")[2].partition("&")[0])

    page.on("request", note)
    return noted


@contextmanager
def flooded(bank: ConsoleService, person: Person) -> Iterator[None]:
    """Requests of the person's session, more than it may send, until the end."""
    (cookie,) = (each for each in person.context.cookies() if each["name"] == COOKIE)
    ended = Event()

    def send() -> None:
        with httpx.Client(base_url=bank.url, cookies={COOKIE: cookie["value"]}) as client:
            while not ended.is_set():
                client.get("/console/session")

    with ThreadPoolExecutor(FLOODING) as pool:
        sending = [pool.submit(send) for _ in range(FLOODING)]
        try:
            yield
        finally:
            ended.set()
    assert all(each.exception() is None for each in sending)


def errors_of(person: Person) -> list[str]:
    """Without those of the network, which the browser writes itself."""
    return [each for each in person.faults if not any(words in each for words in NOT_REACHED)]


def test_given_a_service_that_is_killed_when_it_is_back_then_nothing_is_lost_and_the_decision_is_signed_once(
    bank: ConsoleService, chromium: Browser
) -> None:
    first, second = bank.stacks("bacc_kill_1", "bacc_kill_2")
    with bank.person(chromium) as ann:
        page = opened(ann, first)
        page.clock.install()
        expect(page.locator("#live")).to_have_text("live")
        refetched: list[str] = []
        page.on("request", lambda each: refetched.append(each.url) if "since=" in each.url else None)

        bank.service.kill()
        sign_button = page.get_by_role("button", name=re.compile("^Sign as"))
        expect(sign_button).to_be_disabled(timeout=30_000)
        expect(page.locator("#sign-off")).to_be_visible()
        page.clock.fast_forward(31_000)
        expect(page.locator("#live")).to_have_text(re.compile(r"^not live since \d\d:\d\d$"))
        expect(page.locator("main").get_by_label("Narrative")).to_have_value(TYPED)

        bank.service.start()
        page.clock.fast_forward(60_000)
        expect(page.locator("#live")).to_have_text("live", timeout=60_000)
        expect(sign_button).to_be_enabled()
        expect(page.locator("#sign-off")).to_be_hidden()
        expect(page.locator("main").get_by_label("Narrative")).to_have_value(TYPED)
        page.clock.fast_forward(5_000)
        page.wait_for_load_state("networkidle")
        assert len(refetched) <= 1
        sign(page)
        page.clock.run_for(6_000)
        recorded(page)
        assert [each["narrative"] for each in bank.decisions_on(first["alertIds"][0])] == [TYPED]
        assert not errors_of(ann)
    assert second["id"] != first["id"]


def test_given_a_service_that_is_killed_before_a_signature_comes_when_it_is_back_then_the_same_attempt_is_signed(
    bank: ConsoleService, chromium: Browser
) -> None:
    (stack,) = bank.stacks("bacc_kill_3")
    with bank.person(chromium) as ann:
        page = opened(ann, stack)
        noted = attempts(page)
        bank.service.kill()
        sign(page)
        expect(page.locator("#sending")).to_contain_text("not confirmed", timeout=20_000)
        bank.service.start()
        recorded(page)
        assert len(noted) > 1
        assert len(set(noted)) == 1
        assert len(bank.decisions_on(stack["alertIds"][0])) == 1
        assert not errors_of(ann)


def test_given_a_redis_that_hangs_during_a_decision_then_it_is_not_confirmed_and_is_on_the_record_once_after_it(
    bank: ConsoleService, chromium: Browser
) -> None:
    (stack,) = bank.stacks("bacc_hang")
    with bank.person(chromium) as ann:
        page = opened(ann, stack)
        noted = attempts(page)
        with bank.stopped_redis():
            sign(page)
            expect(page.locator("#sending")).to_contain_text("not confirmed yet", timeout=60_000)
            expect(page.locator("#sending")).to_contain_text("stays one write")
            expect(page.locator(".signed")).to_have_count(0)
        recorded(page)
        assert len(set(noted)) == 1
        assert [each["narrative"] for each in bank.decisions_on(stack["alertIds"][0])] == [TYPED]
        assert bank.read("/api/record/verify")["ok"]
        assert not errors_of(ann)


def test_given_a_decision_of_another_person_meanwhile_then_it_is_shown_and_mine_is_kept_to_copy(
    bank: ConsoleService, chromium: Browser
) -> None:
    (stack,) = bank.stacks("bacc_other")
    others = "The payer was seen at the branch and confirmed the payment in person to me."
    with bank.person(chromium) as ann:
        page = opened(ann, stack)
        body = {"alertIds": stack["alertIds"], "decision": "escalate", "narrative": others}
        bank.sent("POST", "/api/alerts/decide", by=BOB, json=body)
        body |= {"decision": "close"}
        bank.sent("POST", "/api/alerts/decide", by=BOB, json=body)
        sign(page)
        page.get_by_role("link", name="open", exact=True).click(timeout=20_000)
        results = page.locator("#results")
        expect(results).to_contain_text("Decided meanwhile")
        expect(results).to_contain_text(f"operator:{BOB}")
        expect(results).to_be_focused()
        expect(page.get_by_label("Your text, to copy")).to_have_value(TYPED)
        assert {each["decidedBy"] for each in bank.decisions_on(stack["alertIds"][0])} == {f"operator:{BOB}"}
        assert not errors_of(ann)


def test_given_too_many_requests_then_the_page_waits_as_told_and_goes_on(
    narrow: ConsoleService, chromium: Browser
) -> None:
    (stack,) = narrow.stacks("bacc_full")
    with narrow.person(chromium) as ann:
        page = opened(ann, stack)
        statuses: list[int] = []
        page.on("response", lambda each: statuses.append(each.status) if each.url.endswith("/decide") else None)
        sign(page)
        with flooded(narrow, ann):
            expect(page.locator("#sending")).to_contain_text("too many requests at once", timeout=30_000)
        recorded(page)
        assert statuses[0] == 429
        assert statuses[-1] == 200
        assert len(narrow.decisions_on(stack["alertIds"][0])) == 1
        assert not errors_of(ann)
