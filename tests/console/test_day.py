"""An operator's day in a browser: sign in, the queue, one stack, its decision."""

import re

from playwright.sync_api import Browser, expect

from tests.support.console_demo import ANN, ConsoleDemo

NARRATIVE = "The payer was called back and knows the payments. The invoices were seen; the amounts agree with them."


def test_given_a_stack_when_it_is_decided_then_it_leaves_the_queue_and_each_alert_is_on_the_record(
    demo: ConsoleDemo, chromium: Browser
) -> None:
    with demo.person(chromium) as ann:
        rows = ann.page.locator("#stacks .stack")
        waiting = rows.count()
        first = rows.first.get_attribute("id")
        rows.first.click()
        ann.page.wait_for_url(re.compile("/console/stacks/"))
        stack_id = ann.page.url.rpartition("/")[2].partition("?")[0]
        size = demo.read(f"/api/stacks/{stack_id}")["stack"]["waiting"]
        ann.page.get_by_role("radio", name=re.compile("^Close")).check()
        narrative = ann.page.get_by_label("Narrative")
        signed_text = f"{narrative.input_value()} {NARRATIVE}"
        narrative.fill(signed_text)
        ann.page.get_by_role("button", name=f"Sign as {ANN}").click()
        expect(ann.page.locator(".refused")).to_have_count(0)
        ann.page.wait_for_url(lambda url: stack_id not in url)
        signed = demo.read("/api/dispositions", limit="100")["data"]

        ann.page.goto("/console/queue")
        expect(ann.page.locator(f"#{first}")).to_have_count(0)
        assert waiting > 1
        of_ann = [each["decidedBy"] for each in signed if each["narrative"] == signed_text]
        assert of_ann == [f"operator:{ANN}"] * size
        assert not ann.faults
