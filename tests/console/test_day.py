"""An operator's day in a browser: by mouse, by keyboard alone, without scripts, and over the end of a session."""

import re
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.support.console_demo import ANN, BOB, ConsoleDemo, Person

SEEN = "The payer was called back and knows the payments. The invoices were seen; the amounts agree with them."
SIGNED_WITHIN_MS = 20_000
STACK = re.compile("/console/stacks/")


def opened_first(person: Person) -> str:
    """The id of the first stack of the queue, which is open then."""
    person.page.goto("/console/queue?view=table")
    path = person.page.locator("a[href^='/console/stacks/']").first.get_attribute("href") or ""
    person.page.goto(path)
    return path.rpartition("/")[2].partition("?")[0]


def waiting_in(demo: ConsoleDemo, stack_id: str) -> int:
    size: int = demo.read(f"/api/stacks/{stack_id}")["stack"]["waiting"]
    return size


def signed_with(demo: ConsoleDemo, words: str) -> list[dict[str, Any]]:
    return [each for each in demo.read("/api/dispositions", limit="100")["data"] if words in each["narrative"]]


def narrative_of(page: Page) -> str:
    return page.locator("main").get_by_label("Narrative").input_value()


def test_given_a_stack_when_it_is_decided_then_it_leaves_the_queue_and_each_alert_is_on_the_record(
    demo: ConsoleDemo, chromium: Browser
) -> None:
    with demo.person(chromium) as ann:
        stack_id = opened_first(ann)
        size, words = waiting_in(demo, stack_id), f"By mouse. {SEEN}"
        ann.page.get_by_role("radio", name=re.compile("^Close")).check()
        ann.page.locator("main").get_by_label("Narrative").fill(f"{narrative_of(ann.page)} {words}")
        ann.page.get_by_role("button", name=f"Sign as {ANN}").click()
        ann.page.wait_for_url(lambda url: stack_id not in url)
        expect(ann.page.locator("#sending .signed")).to_be_visible(timeout=SIGNED_WITHIN_MS)

        signed = signed_with(demo, words)
        assert [each["decidedBy"] for each in signed] == [f"operator:{ANN}"] * size
        ann.page.goto("/console/queue?view=table")
        expect(ann.page.locator(f"a[href*='{stack_id}']")).to_have_count(0)
        assert not ann.faults


def test_given_the_keyboard_alone_when_a_stack_is_found_read_and_decided_then_it_is_signed_and_the_next_one_opens(
    demo: ConsoleDemo, chromium: Browser
) -> None:
    with demo.person(chromium) as ann:
        keyboard, words = ann.page.keyboard, f"By keyboard. {SEEN}"
        keyboard.press("j")
        keyboard.press("Enter")
        ann.page.wait_for_url(STACK)
        stack_id = ann.page.url.rpartition("/")[2].partition("?")[0]
        size = waiting_in(demo, stack_id)
        keyboard.press("c")
        expect(ann.page.locator("main").get_by_label("Narrative")).to_be_focused()
        expect(ann.page.get_by_role("radio", name=re.compile("^Close"))).to_be_checked()
        assert not signed_with(demo, words)
        keyboard.press("Control+End")
        keyboard.type(f" {words}")
        keyboard.press("Control+Enter")
        ann.page.wait_for_url(lambda url: stack_id not in url)
        assert not signed_with(demo, words)
        expect(ann.page.locator("#sending .signed")).to_be_visible(timeout=SIGNED_WITHIN_MS)

        assert len(signed_with(demo, words)) == size
        assert STACK.search(ann.page.url)
        assert not ann.faults


def test_given_no_scripts_then_a_stack_can_be_read_and_decided(demo: ConsoleDemo, chromium: Browser) -> None:
    with demo.person(chromium, java_script_enabled=False) as ann:
        stack_id = opened_first(ann)
        size, words = waiting_in(demo, stack_id), f"Without scripts. {SEEN}"
        expect(ann.page.get_by_role("heading", name=re.compile("^Why"))).to_be_visible()
        ann.page.get_by_role("radio", name=re.compile("^Close")).check()
        ann.page.locator("main").get_by_label("Narrative").fill(f"{narrative_of(ann.page)} {words}")
        ann.page.get_by_role("button", name=f"Sign as {ANN}").click()
        ann.page.wait_for_url(lambda url: stack_id not in url)
        assert len(signed_with(demo, words)) == size


def test_given_a_session_that_ends_while_typing_when_the_person_signs_in_again_then_no_letter_is_lost(
    demo: ConsoleDemo, chromium: Browser
) -> None:
    with demo.person(chromium) as ann:
        stack_id = opened_first(ann)
        ann.page.get_by_role("radio", name=re.compile("^Escalate")).check()
        ann.page.locator("main").get_by_label("Narrative").fill(f"{SEEN} Zażółć 你好 <b>&amp;")
        typed = narrative_of(ann.page)
        ann.context.clear_cookies()
        ann.page.get_by_role("button", name=f"Sign as {ANN}").click()
        ann.page.get_by_role("link", name="open", exact=True).click(timeout=SIGNED_WITHIN_MS)
        expect(ann.page.get_by_label("Token")).to_be_visible()
        ann.faults.clear()  # the refusal itself
        ann.sign_in(demo.token, f"/console/stacks/{stack_id}")

        expect(ann.page.locator("main").get_by_label("Narrative")).to_have_value(typed)
        expect(ann.page.get_by_role("radio", name=re.compile("^Escalate"))).to_be_checked()
        assert waiting_in(demo, stack_id) > 0
        assert not ann.faults


def test_given_two_persons_then_one_asks_and_only_the_other_can_approve(demo: ConsoleDemo, chromium: Browser) -> None:
    with demo.person(chromium) as ann, demo.person(chromium, BOB) as bob:
        program = demo.read("/api/programs")[0]["id"]
        action = demo.send(
            "/api/actions",
            {"programId": program, "type": "freeze_account", "targetType": "account", "targetId": "bacc_P000031"},
        )
        ann.page.goto("/console/approvals")
        own = ann.page.locator(f"#action-{action['id']}")
        expect(own.get_by_role("button", name=re.compile("^Approve"))).to_have_count(0)
        expect(own.get_by_role("button", name="Withdraw")).to_be_visible()

        bob.page.goto("/console/approvals")
        bob.page.locator(f"#action-{action['id']}").get_by_role("button", name=f"Approve as {BOB}").click()
        answered = bob.page.get_by_role("status").filter(has_text="Answered")
        expect(answered).to_have_text("Answered: Freeze the account bacc_P000031 is executed.")
        stored = demo.read(f"/api/actions/{action['id']}")
        assert (stored["requestedBy"], stored["approvedBy"]) == (ANN, BOB)
        assert not ann.faults + bob.faults
