"""Settings in a browser: a key that opens and is revoked, a webhook that is verified by a library, a session that ends.

The service is a real process; its keys are used over HTTP, and its webhooks are received on this machine.
"""

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.console_demo import BOB
from tests.support.console_service import ConsoleService
from tests.support.webhook_receiver import WebhookReceiver
from tests.support.webhook_verifiers import assert_verified

KEYS, WEBHOOKS, PEOPLE = "/console/settings/keys", "/console/settings/webhooks", "/console/people"
LOCAL = {"CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1"}
SEEN_WITHIN_MS = 20_000


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleService]:
    with ConsoleService(tmp_path_factory.mktemp("settings"), **LOCAL) as running:
        yield running


def answer_to(bank: ConsoleService, secret: str) -> int:
    return httpx.get(f"{bank.url}/api/programs", headers={"Authorization": f"Bearer {secret}"}).status_code


def secret_on(page: Page) -> str:
    field = page.locator("#secret")
    expect(field).to_be_visible()
    return field.input_value()


def assert_not_back(page: Page, secret: str) -> None:
    """The page is left, and the browser's way back does not bring the secret: also not where it keeps whole pages."""
    assert secret not in page.url
    assert secret not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    expect(page.locator("#secret")).to_have_value("")
    assert secret not in page.content()
    page.goto(PEOPLE)
    page.go_back()
    page.wait_for_load_state("load")
    assert secret not in page.content()
    values = page.eval_on_selector_all("input", "fields => fields.map((each) => each.value)")
    assert secret not in values


def test_given_a_new_key_then_it_opens_the_interface_until_it_is_revoked(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium, permissions=["clipboard-read", "clipboard-write"]) as ann:
        page = ann.page
        page.goto(KEYS)
        page.get_by_label("Name, such as").fill("nightly reports")
        page.get_by_label("reports", exact=False).first.check()
        page.get_by_role("button", name="Create the key").click()
        secret = secret_on(page)
        expect(page.locator("#notice")).to_be_focused()
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == secret
        assert answer_to(bank, secret) == httpx.codes.OK
        assert_not_back(page, secret)
        page.goto(KEYS)
        page.locator("details.confirm > summary").click()
        page.get_by_role("button", name="Revoke the key").click()
        expect(page.locator("#notice")).to_contain_text("refused from the next request on")
        assert answer_to(bank, secret) == httpx.codes.UNAUTHORIZED
        assert not ann.faults
        assert bank.service.log_lines
        assert [each for each in bank.service.log_lines if secret in each] == []


def test_given_a_webhook_then_its_test_is_verified_and_a_failed_delivery_is_sent_again(
    bank: ConsoleService, chromium: Browser
) -> None:
    answers = {1: 200, 2: 500}
    with WebhookReceiver(lambda number, _: answers.get(number, 200)) as receiver, bank.person(chromium) as ann:
        page = ann.page
        page.goto(WEBHOOKS)
        page.get_by_label("Address").fill(receiver.url)
        page.get_by_role("button", name="Register the endpoint").click()
        secret = secret_on(page)
        expect(page.locator("h1")).to_have_text(receiver.url)
        with page.expect_request(lambda sent: sent.headers.get("hx-target", "").endswith("deliveries")) as asked:
            page.get_by_role("button", name="Send a test").click()
        assert asked.value.headers["x-unattended"] == "true"
        expect(page.locator(".delivery.delivered")).to_have_count(1, timeout=SEEN_WITHIN_MS)
        (first,) = receiver.wait_for(1)
        assert assert_verified(first, secret)["type"] == "ping"

        page.get_by_role("button", name="Send a test").click()
        failed = page.locator("tr", has=page.locator(".delivery.failed"))
        expect(failed).to_contain_text("a status other than 2xx (it answered 500)", timeout=SEEN_WITHIN_MS)
        failed.get_by_role("button", name="Send again").click()
        expect(page.locator(".delivery.delivered")).to_have_count(2, timeout=SEEN_WITHIN_MS)
        *_, second, again = receiver.wait_for(3)
        assert again.body == second.body
        assert_verified(again, secret)
        assert not ann.faults


def test_given_a_rotated_secret_then_both_verify_and_a_disabled_endpoint_gets_nothing_until_it_is_enabled(
    bank: ConsoleService, chromium: Browser
) -> None:
    with WebhookReceiver() as receiver, bank.person(chromium) as ann:
        page = ann.page
        page.goto(WEBHOOKS)
        page.get_by_label("Address").fill(receiver.url)
        page.get_by_role("button", name="Register the endpoint").click()
        old = secret_on(page)
        page.locator("summary", has_text="Rotate the secret").click()
        page.get_by_role("button", name="Make a new secret").click()
        expect(page.locator("#secret")).not_to_have_value(old)
        new = secret_on(page)
        page.get_by_role("button", name="Send a test").click()
        (ping,) = receiver.wait_for(1)
        for each in (old, new):
            assert_verified(ping, each)
        page.locator("summary", has_text="Disable").click()
        page.get_by_role("button", name="Disable the endpoint").click()
        expect(page.locator("#notice")).to_contain_text("is disabled")
        page.get_by_role("button", name="Send a test").click()
        expect(page.locator(".deliveries")).to_contain_text("waits until the endpoint is enabled")
        page.get_by_role("button", name="Enable the endpoint").click()
        expect(page.locator(".delivery.delivered")).to_have_count(2, timeout=SEEN_WITHIN_MS)
        receiver.wait_for(2)
        assert not ann.faults


def test_given_the_session_of_another_person_when_it_is_ended_then_that_browser_lands_on_the_sign_in_page(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann, bank.person(chromium, BOB) as bob:
        ann.page.goto("/console/settings")
        ann.page.locator("main").get_by_role("link", name="People and sessions").first.click()
        ann.page.get_by_role("button", name=f"End the session of {BOB}").click()
        expect(ann.page.locator("main")).not_to_contain_text(BOB)
        bob.page.goto("/console/settings/keys")
        expect(bob.page).to_have_url(f"{bank.url}/console/sign-in?next=%2Fconsole%2Fsettings%2Fkeys")
        bob.sign_in(bank.token, KEYS)
        expect(bob.page.locator("h1")).to_have_text("API keys")


def test_given_no_scripts_then_a_key_is_created_and_revoked(bank: ConsoleService, chromium: Browser) -> None:
    with bank.person(chromium, java_script_enabled=False) as ann:
        page = ann.page
        page.goto(KEYS)
        page.get_by_label("Name, such as").fill("without scripts")
        page.get_by_role("button", name="Create the key").click()
        secret = secret_on(page)
        assert answer_to(bank, secret) == httpx.codes.OK
        page.goto(KEYS)
        page.locator("details.confirm > summary").click()
        page.get_by_role("button", name="Revoke the key").click()
        expect(page.locator("#notice")).to_contain_text("is revoked")
        assert answer_to(bank, secret) == httpx.codes.UNAUTHORIZED
