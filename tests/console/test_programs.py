"""A program in a browser: its days as a table, and a limit requested by one person and approved by another."""

from typing import Final

from playwright.sync_api import Browser, expect

from tests.support.console_demo import BOB, ConsoleDemo

PROGRAM: Final = ".programs tbody th a >> nth=1"
"""One without a change that waits."""


def test_given_a_limit_requested_by_one_person_when_another_approves_then_it_is_in_force_with_its_use(
    demo: ConsoleDemo, chromium: Browser
) -> None:
    with demo.person(chromium) as ann, demo.person(chromium, BOB) as bob:
        page = ann.page
        page.goto("/console/programs")
        page.locator(PROGRAM).click()
        page.wait_for_url("**/console/programs/*")
        address = page.url
        row = page.locator("#limits tr", has_text="One outgoing transfer")
        expect(row).to_contain_text("no limit")
        page.get_by_text("Request a change").click()
        page.locator("#new-limit select").select_option("per_transaction")
        page.get_by_label("New limit").fill("12,345.67")
        page.get_by_label("Why").fill("As agreed with the program on Monday.")
        page.get_by_role("button", name="Request").click()
        expect(page.locator("#limits .note")).to_contain_text("Another person has to approve it")
        page.get_by_role("link", name="Waits for a second person").click()
        request = f"#{page.url.partition('#')[2]}"
        own = page.locator(request)
        expect(own).to_contain_text("12,345.67 USD")
        expect(own.get_by_role("button", name="Approve")).to_have_count(0)
        bob.page.goto(page.url)
        theirs = bob.page.locator(request)
        expect(theirs).to_contain_text("12,345.67 USD")
        theirs.get_by_role("button", name="Approve").click()
        expect(theirs.get_by_role("button", name="Approve")).to_have_count(0)
        page.goto(address)
        expect(row).to_contain_text("12,345.67 USD")
        expect(row).to_contain_text(f"approved by {BOB}")
        assert not ann.faults
        assert not bob.faults


def test_given_a_program_then_each_line_has_its_days_in_a_table_and_ninety_days_are_a_choice(
    demo: ConsoleDemo, chromium: Browser
) -> None:
    with demo.person(chromium) as ann:
        page = ann.page
        page.goto("/console/programs")
        page.locator(PROGRAM).click()
        page.wait_for_url("**/console/programs/*")
        page.get_by_text("Indicators by day, as a table").click()
        expect(page.locator("#indicator-days tbody tr").first).to_be_visible()
        expect(page.locator("#indicator-days tbody tr")).to_have_count(30)
        assert page.locator(".kris svg.spark").count() >= 8
        page.get_by_role("link", name="90 days").click()
        page.wait_for_url("**days=90**")
        expect(page.locator("#score-days tbody tr")).to_have_count(90)
        expect(page.locator("#score-days tbody")).to_contain_text("no snapshot")
        assert not ann.faults
