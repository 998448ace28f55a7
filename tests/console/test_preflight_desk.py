"""Before money moves: a person asks, reads why, and tries a smaller amount with the slider."""

from playwright.sync_api import Browser, expect

from tests.support.console_demo import ConsoleDemo

LARGE, SMALL = "9,850,000.00", "120"


def test_given_a_large_transfer_when_a_smaller_amount_is_tried_then_the_second_answer_is_of_the_same_transfer(
    demo: ConsoleDemo, chromium: Browser
) -> None:
    with demo.person(chromium) as person:
        page = person.page
        page.keyboard.press("g")
        page.keyboard.press("f")
        expect(page).to_have_url(f"{demo.url}/console/preflight")
        page.get_by_label("Rail").select_option("wire")
        page.get_by_label("Direction").select_option("outgoing")
        page.get_by_label("Amount", exact=True).fill(LARGE)
        page.get_by_label("Counterparty's name, if it is not on file").fill("New Vendor LLC")
        page.get_by_label("Country").fill("US")
        page.get_by_role("button", name="Ask").click()
        answer = page.locator("#answer")
        expect(answer).to_contain_text("How it would have cleared")
        first = answer.locator("h2").inner_text()
        assert first.startswith(("■", "▲"))

        slider = page.get_by_label("Try another amount")
        expect(slider).to_have_attribute("data-changes", "amount")
        slider.fill(SMALL)
        expect(page.get_by_label("Amount", exact=True)).to_have_value(SMALL)
        page.get_by_role("button", name="Ask").click()
        expect(answer).to_contain_text("120.00 USD outgoing by wire")
        expect(page.get_by_label("Counterparty's name, if it is not on file")).to_have_value("New Vendor LLC")
        assert not person.faults
