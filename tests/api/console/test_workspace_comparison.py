"""Draft and narrative side by side in the workspace: as a part and as a page, of the alert whose draft stands there."""

from typing import Any

from tests.api.console.test_workspace import opened, send, signed_by, the_stack
from tests.support.console import PART, SAME_ORIGIN, Browser
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp


def test_given_a_changed_draft_when_compared_then_a_part_or_a_page_says_each_sentence_and_nothing_is_written(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)
    page = opened(browser, stack_id)
    text = f"{DomPage(page.text).one('textarea', id='narrative').text.strip()} I called the payer."

    whole = send(browser, page, stack_id, "compare", narrative=text)

    table = DomPage(whole.text).one("section", id="comparison")
    assert "1 added" in table.text
    assert "I called the payer." in table.text
    assert DomPage(whole.text).one("textarea", id="narrative").text == f"\n{text}"
    assert not signed_by(api, tenant, "ann@bank.example")


def test_given_the_worst_alert_is_closed_when_the_draft_is_compared_then_part_and_page_take_the_draft_that_stands_there(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    stack_id = the_stack(api, tenant, program)
    page = opened(browser, stack_id)
    worst = DomPage(page.text).all("input", type="checkbox", name="alertIds")[0].attributes["value"] or ""
    assert send(browser, page, stack_id, alertIds=worst, decision="close").status_code == 303
    page = opened(browser, stack_id)
    draft = DomPage(page.text).one("textarea", id="narrative").text.strip()

    whole = send(browser, page, stack_id, "compare", narrative=draft)
    form = {"csrf": browser.csrf, "narrative": draft}
    part = browser.post(f"/console/stacks/{stack_id}/compare", form, {**SAME_ORIGIN, **PART, "HX-Target": "comparison"})

    section = DomPage(whole.text).one("section", id="comparison")
    assert draft.partition(".")[0] in section.text
    assert DomPage(part.text).one("section", id="comparison").text == section.text
