"""A rule from draft to alert in a browser: written, seen on past transfers, requested, approved by another, at work."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.support.alerting import outgoing
from tests.support.console_demo import BOB
from tests.support.console_service import ConsoleService

WORKS_MS = 60_000
LARGE = 700_000


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleService]:
    with ConsoleService(tmp_path_factory.mktemp("rules")) as running:
        for number in range(6):
            large = {"amount": LARGE} if number < 2 else {}
            running.deliver(outgoing(f"acht_past_{number}", at=running.ago(days=3 + number), **large))
        yield running


def test_given_a_rule_when_two_people_agree_on_it_then_the_next_transfer_of_its_kind_opens_an_alert(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann, bank.person(chromium, BOB) as bob:
        page = ann.page
        page.goto("/console/rules")
        page.get_by_role("link", name="Write a rule").click()
        page.get_by_label("Id", exact=True).fill("large-ach")
        page.get_by_label("Name", exact=True).fill("Large ACH")
        page.get_by_label("Field 1").fill("amountCents")
        page.get_by_label("Operation 1").select_option("gte")
        page.get_by_label("Value 1").fill("5,000.00")
        page.get_by_role("button", name="Save the draft").click()
        expect(page.locator("h1")).to_have_text("Large ACH")

        page.get_by_role("button", name="Full backtest over 90 days").click()
        tested = page.locator("#backtest")
        expect(tested).to_contain_text("2 of 6 transfers match", timeout=WORKS_MS)
        assert tested.locator("svg rect").count() > 0
        page.get_by_label("Why", exact=True).fill("Large payments are new here.")
        page.get_by_role("button", name="Request activation").click()
        expect(page.locator("#notice")).to_contain_text("Requested")

        bob.page.goto("/console/approvals")
        request = bob.page.locator(".request", has_text="large-ach")
        expect(request).to_contain_text("would alert")
        request.get_by_role("link", name="the rule against the one in force").click()
        expect(bob.page.locator("#backtest")).to_contain_text("2 of 6 transfers match")
        bob.page.goto("/console/approvals")
        request.get_by_role("button", name="Approve as").click()
        expect(bob.page.locator(".note", has_text="Answered")).to_contain_text("executed", timeout=WORKS_MS)

        bank.deliver(outgoing("acht_new", at=bank.ago(days=0), amount=LARGE, bank_account_id="bacc_new"))
        stack = bank.stack_where(lambda each: "rule:large-ach" in each["detectors"])
        page.goto(f"/console/stacks/{stack['id']}")
        expect(page.locator("main")).to_contain_text("rule large-ach")
        assert not ann.faults
        assert not bob.faults


def test_given_a_field_with_a_vocabulary_when_it_is_typed_then_its_words_are_choices_and_the_keyboard_stays(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann:
        page = ann.page
        page.goto("/console/rules-new")
        page.get_by_label("Field 1").fill("rail")
        page.keyboard.press("Tab")
        expect(page.get_by_label("Value 1").locator("option")).to_have_count(8)
        expect(page.get_by_label("Operation 1")).to_be_focused()
        expect(page.get_by_label("Operation 1").locator("option[value=gte]")).to_have_count(0)
        page.get_by_label("Operation 1").select_option("in")
        rails = page.get_by_role("group", name="Value 1")
        rails.get_by_label("ach").check()
        rails.get_by_label("card").check()
        page.get_by_label("Id", exact=True).fill("two-rails")
        page.get_by_label("Name", exact=True).fill("Two rails")
        page.get_by_role("button", name="Save the draft").click()
        expect(page.locator("main")).to_contain_text("rail is one of ach card")
        assert bank.read("/api/rules/two-rails")["when"][0]["value"] == ["ach", "card"]
        assert not ann.faults
