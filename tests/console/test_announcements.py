"""What a reader of screens says: of a row, a choice, a signature, a refusal, news, a dialog, and of tables."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.console.test_pages import OVERFLOW
from tests.support.console_demo import ANN
from tests.support.console_service import ConsoleService

OPENS_MS: Final = 30_000
SHORT: Final = "Short."
LONG: Final = "The payer answered within the day and the invoice fits the order that was placed before. " * 3
LISTENS: Final = """() => {
  const heard = window.heard = [];
  new MutationObserver((records) => {
    for (const { target } of records) {
      const element = target instanceof Element ? target : target.parentElement;
      if (element === null || element.closest('[aria-hidden=true]')) continue;
      const region = element.closest('[role=status], [role=alert], [aria-live=polite], [aria-live=assertive]');
      if (region === null) continue;
      const copy = region.cloneNode(true);
      for (const each of copy.querySelectorAll('[aria-hidden=true], [hidden]')) each.remove();
      const words = copy.textContent.replace(/\\s+/g, ' ').trim();
      if (words !== '' && words !== heard.at(-1)) heard.push(words);
    }
  }).observe(document, {subtree: true, childList: true, characterData: true});
}"""
NAMELESS: Final = """() => [...document.querySelectorAll('table')].flatMap((table) => [
  table.caption?.textContent.trim() ? [] : [`no caption: ${table.outerHTML.slice(0, 90)}`],
  table.querySelector('thead th[scope=col]') ? [] : [`no heads: ${table.outerHTML.slice(0, 90)}`],
  [...table.querySelectorAll('th')].every((th) => th.textContent.trim()) ? []
    : [`empty: ${table.outerHTML.slice(0, 80)}`],
].flat())"""
PAGES: Final = (
    "today",
    "programs",
    "queue?view=table",
    "approvals",
    "people",
    "quality",
    "rules",
    "settings/keys",
    "settings/webhooks",
    "settings/policies",
    "settings/signing-keys",
)


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleService]:
    with ConsoleService(tmp_path_factory.mktemp("bank")) as running:
        running.stacks(*(f"bacc_{number}" for number in range(5)))
        yield running


def at_queue(page: Page) -> Page:
    page.goto("/console/queue")
    expect(page.locator("#preview:not([inert]) form[data-draft]")).to_be_visible(timeout=OPENS_MS)
    page.locator(".light.on").wait_for()
    page.evaluate(LISTENS)
    return page


def focus(page: Page) -> Locator:
    return page.locator(":focus")


def heard(page: Page) -> list[str]:
    words: list[str] = page.evaluate("window.heard")
    return words


def test_given_a_row_when_it_is_chosen_by_key_then_its_words_are_said_and_groups_are_headings(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann:
        page = at_queue(ann.page)
        rows = page.locator("#stacks .stack")
        before = rows.first.get_attribute("id")
        page.keyboard.press("j")
        expect(focus(page)).not_to_have_id(before or "")
        said = focus(page).aria_snapshot()
        assert re.search(r'link "\d+h \d\dm unscored . 2 alerts owner not known bacc_\d Payroll hard signal', said), (
            said
        )
        assert "aria-current" in focus(page).evaluate("row => row.outerHTML")
        listed = page.get_by_role("list", name="Stacks: time left, band, party, sentence").aria_snapshot()
        assert re.search(r'heading "(today|later) · \d+" \[level=2\]', listed), listed
        assert not ann.faults


def test_given_a_choice_by_key_then_the_narrative_and_the_signature_are_described_by_it(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann:
        page = at_queue(ann.page)
        page.keyboard.press("c")
        narrative = page.get_by_role("textbox", name="Narrative")
        expect(narrative).to_be_focused()
        expect(narrative).to_have_accessible_description(re.compile(r"^Close.* \d+ words, "))
        expect(page.get_by_role("button", name="Sign as")).to_have_accessible_description(re.compile("^Close"))
        page.get_by_role("radio", name="Escalate").check()
        expect(narrative).to_have_accessible_description(re.compile(r"^Escalate.* \d+ words, "))
        assert page.get_by_role("radio", name="Close", exact=True).get_attribute("aria-keyshortcuts") == "c"
        assert not ann.faults


def test_given_a_signature_then_it_is_said_once_and_the_heading_of_the_next_stack_has_the_focus(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann:
        page = at_queue(ann.page)
        name = page.locator("#preview .title bdi").inner_text()
        following = page.locator("#following bdi").inner_text()
        page.keyboard.press("c")
        page.get_by_role("textbox", name="Narrative").fill(LONG)
        page.keyboard.press("Control+Enter")
        expect(page.locator("#preview .title bdi")).to_have_text(following)
        assert f'heading "{following}' in focus(page).aria_snapshot()
        expect(page.locator("#sending .signed")).to_contain_text("Signed: close", timeout=OPENS_MS)
        said = [each for each in heard(page) if each.startswith(f"{name}: ")]
        assert [each for each in said if "Signed in" in each] == [
            f"{name}: Signed in 5 s. Take back with z. take back z"
        ]
        assert said.index(f"{name}: signing…") == 1
        assert any("✓ Signed: close" in each for each in heard(page))
        assert not ann.faults


def test_given_a_narrative_that_is_too_short_then_the_refusal_is_said_and_describes_the_field(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann:
        page = ann.page
        page.goto(f"/console/stacks/{bank.stacks('bacc_short')[0]['id']}")
        page.get_by_role("radio", name="Close", exact=True).check()
        narrative = page.get_by_role("textbox", name="Narrative")
        narrative.fill(SHORT)
        page.keyboard.press("Control+Enter")
        strip = page.locator("#sending")
        expect(strip).to_contain_text("not recorded, your text is kept.", timeout=OPENS_MS)
        strip.get_by_role("link", name="open").click()
        refusal = page.locator("#narrative-refusal")
        expect(refusal).to_be_visible(timeout=OPENS_MS)
        expect(focus(page)).to_have_role("alert")
        expect(focus(page)).to_contain_text("not decided")
        expect(refusal).to_have_role("alert")
        words = refusal.inner_text()
        expect(narrative).to_have_accessible_description(re.compile(f"^{re.escape(words)}.*Close"))
        expect(narrative).to_have_attribute("aria-invalid", "true")


def test_given_an_alert_that_is_not_there_when_assigned_then_the_page_names_it_and_the_focus_is_there(
    bank: ConsoleService, chromium: Browser
) -> None:
    missing = "0a4b1d2c-7e0f-5b7a-8d3e-4f1a6c9b2e11"
    with bank.person(chromium) as ann:
        page = ann.page
        (stack,) = bank.stacks("bacc_assigned")
        page.goto(f"/console/stacks/{stack['id']}")
        add = f"field => {{ field.value += ',{missing}'; }}"
        page.locator("form[action$='/assign'] [name=alertIds]").evaluate(add)
        page.get_by_role("button", name="Assign to me").click()
        expect(focus(page)).to_have_role("alert")
        said = focus(page).aria_snapshot()
        assert f'heading "Assigned to {ANN}: {stack["size"]} alerts, 1 not assigned" [level=2]' in said
        assert missing in said
        assert "Unknown alert on this tenant." in said
        expect(page.locator("#notes")).to_contain_text(f"Assigned to {ANN}.")
        page.get_by_role("button", name="Give it back").click()
        expect(focus(page)).to_have_text(f"{stack['size']} alerts assigned to no person.")
        expect(focus(page)).to_have_role("status")
        assert page.evaluate(OVERFLOW) == 0
        assert not ann.faults


def test_given_news_then_they_are_said_and_nothing_moves(bank: ConsoleService, chromium: Browser) -> None:
    with bank.person(chromium) as ann:
        page = at_queue(ann.page)
        page.keyboard.press("j")
        chosen = focus(page).get_attribute("id") or ""
        bank.stacks("bacc_news")
        said = page.locator("#status")
        expect(said).to_contain_text(re.compile(r"1 new since \d\d:\d\d · show"), timeout=OPENS_MS)
        expect(focus(page)).to_have_id(chosen)


def test_given_the_commands_when_they_open_then_the_dialog_has_a_name_and_says_how_many_are_left(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann:
        page = at_queue(ann.page)
        page.keyboard.press("Control+k")
        dialog = page.get_by_role("dialog", name="Commands")
        expect(dialog.get_by_role("searchbox", name="Command")).to_be_focused()
        expect(dialog).to_have_attribute("aria-busy", "false")
        page.keyboard.type("rec")
        expect(dialog.get_by_role("status")).to_have_text(re.compile(r"^\d+ commands?$"))
        number = dialog.get_by_role("listitem").count()
        expect(dialog.get_by_role("status")).to_have_text(f"{number} command{'' if number == 1 else 's'}")
        expect(dialog.get_by_role("link", name="Record", exact=True)).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)


def test_given_tables_then_each_has_a_caption_and_a_head_for_each_column(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann:
        wrong: dict[str, Any] = {}
        tables = 0
        program = f"programs/{bank.program['id']}"
        for each in (*PAGES, program):
            ann.page.goto(f"/console/{each}")
            wrong[each] = ann.page.evaluate(NAMELESS)
            tables += ann.page.locator("table").count()
        assert not {path: faults for path, faults in wrong.items() if faults}
        assert tables > len(PAGES)
