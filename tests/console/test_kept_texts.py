"""Texts beside the decision: a note, a label and an appeal are kept until they are on the record, and get there."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.console_demo import ANN, BOB
from tests.support.console_service import ConsoleService

DECIDED: Final = "The payer was called back and knows the payment. The invoice was seen; its amount agrees."
TYPED: Final = "The payee's bank has called since: the account was opened last week. Zażółć <b>&amp;"


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleService]:
    with ConsoleService(tmp_path_factory.mktemp("bank")) as running:
        yield running


def closed(bank: ConsoleService, account: str) -> dict[str, Any]:
    """A stack whose alerts ann has closed."""
    (stack,) = bank.stacks(account)
    body = {"alertIds": stack["alertIds"], "narrative": DECIDED}
    for each in ("escalate", "close"):
        bank.sent("POST", "/api/alerts/decide", json=body | {"decision": each})
    return stack


def unfolded(page: Page, summary: str) -> Locator:
    """The form below a summary, as a person opens it."""
    details = page.locator("details", has=page.get_by_text(summary, exact=True)).last
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    return details


def test_given_a_closed_alert_when_it_is_appealed_then_the_appeal_is_on_the_record_and_its_alert_opens(
    bank: ConsoleService, chromium: Browser
) -> None:
    stack = closed(bank, "bacc_appealed")
    with bank.person(chromium, BOB) as bob:
        page = bob.page
        page.goto(f"/console/stacks/{stack['id']}")
        expect(page.get_by_text("Nothing of this stack waits for a decision.")).to_be_visible()
        form = unfolded(page, "Appeal a closed alert")
        appealed = form.get_by_label("Alert", exact=True).input_value()
        form.get_by_label("Why it should be looked at again").fill(TYPED)
        form.get_by_role("button", name="Appeal").click()
        page.wait_for_url(re.compile("/console/stacks/"))
        expect(page.locator("#appeal")).to_contain_text(TYPED)
        expect(page.locator("#appeal")).to_contain_text(BOB)
        expect(page.get_by_role("button", name=f"Sign as {BOB}")).to_be_enabled()
        assert page.evaluate("Object.keys(localStorage).filter((each) => each.includes('appeal'))") == []
        assert not bob.faults

    listed = bank.read("/api/alerts", accountId="bacc_appealed", limit="100")["data"]
    (opened,) = (each for each in listed if each["evidence"].get("appeal"))
    assert opened["evidence"]["appeal"] == {
        "alertId": appealed,
        "by": f"operator:{BOB}",
        "reason": TYPED,
        "status": "closed",
    }
    assert opened["status"] == "open"
    assert appealed in stack["alertIds"]
    assert bank.read("/api/record/verify")["ok"]


@pytest.mark.parametrize("kind", ["note", "label", "appeal"])
def test_given_a_text_that_is_typed_when_the_page_is_loaded_again_or_the_session_ends_then_it_is_there(
    kind: str, bank: ConsoleService, chromium: Browser
) -> None:
    stack = closed(bank, f"bacc_{kind}")
    field, button = FORMS[kind]
    with bank.person(chromium) as ann:
        page = ann.page
        page.goto(f"/console/stacks/{stack['id']}")
        form = page.locator(f"form[data-keep='{stack['id']}.{kind}']")
        page.locator("details", has=form).last.evaluate("each => { each.open = true; }")
        form.get_by_label(field).fill(TYPED)
        if kind == "label":
            form.get_by_label("It turned out bad").check()
        page.reload()
        expect(form.get_by_label(field)).to_have_value(TYPED)
        ann.context.clear_cookies()
        form.get_by_role("button", name=button).click()
        expect(page.get_by_label("Token")).to_be_visible()
        ann.sign_in(bank.token, f"/console/stacks/{stack['id']}")
        expect(form.get_by_label(field)).to_be_visible()
        expect(form.get_by_label(field)).to_have_value(TYPED)
        if kind == "label":
            expect(form.get_by_label("It turned out bad")).to_be_checked()
        with page.expect_navigation() if kind != "label" else page.expect_response(re.compile("/label$")):
            form.get_by_role("button", name=button).click()
        page.goto(f"/console/stacks/{stack['id']}")
        expect(form.get_by_label(field)).to_have_value("")
        assert page.evaluate("Object.values(localStorage).join()").find("payee") == -1


FORMS: Final = {
    "note": ("Note", "Record the note"),
    "label": ("Reason", "Record the label"),
    "appeal": ("Why it should be looked at again", "Appeal"),
}


def test_given_a_note_when_the_service_hangs_then_it_is_kept_and_written_once(
    bank: ConsoleService, chromium: Browser
) -> None:
    (stack,) = bank.stacks("bacc_hanging")
    with bank.person(chromium) as ann:
        page = ann.page
        page.goto(f"/console/stacks/{stack['id']}")
        form = unfolded(page, "Write a note")
        form.get_by_label("Note").fill(TYPED)
        with bank.stopped_redis():
            form.get_by_role("button", name="Record the note").click()
            expect(page.locator("#sending")).to_contain_text("not confirmed yet", timeout=60_000)
            expect(form.get_by_label("Note")).to_have_value(TYPED)
        expect(page.locator("#notes li")).to_have_count(1, timeout=60_000)
        expect(page.locator("#notes li")).to_contain_text(TYPED)
        notes = [bank.read(f"/api/alerts/{each}/notes")["data"] for each in stack["alertIds"]]
        assert [each["writtenBy"] for of_alert in notes for each in of_alert] == [ANN]


def test_given_an_answer_to_a_request_when_the_page_is_loaded_again_then_its_reason_is_there(
    bank: ConsoleService, chromium: Browser
) -> None:
    wanted = {"programId": bank.program["id"], "type": "freeze_account", "targetType": "account"}
    action = bank.sent("POST", "/api/actions", json=wanted | {"targetId": "bacc_declined"})
    with bank.person(chromium, BOB) as bob:
        page = bob.page
        page.goto("/console/approvals")
        reason = page.locator(f"#note-{action['id']}")
        reason.fill(TYPED)
        page.reload()
        expect(reason).to_have_value(TYPED)
        page.locator(f"#action-{action['id']}").get_by_role("button", name="Decline").click()
        expect(page.get_by_role("status").filter(has_text="Answered")).to_be_visible()
        assert bank.read(f"/api/actions/{action['id']}")["note"] == TYPED
        assert page.evaluate("localStorage.length") == 0
        assert not bob.faults
