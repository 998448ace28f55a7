"""Two persons who were never here: from the two links of the demo to a decision that one signs and an action that the
other approves. Each step follows words on the screen, without an address, a key or a document.
"""

import re

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.support.console_demo import ANN, BOB, DESK, ConsoleDemo

SEEN = "I have read the reasons. The payer was called back and does not know the payments."
SIGNED_WITHIN_MS = 30_000
ANSWERED_WITHIN_MS = 60_000
ACTION = "Freeze account"
ASKED = "Freeze the account"


def newcomer(chromium: Browser, link: str) -> tuple[BrowserContext, Page]:
    context = chromium.new_context(viewport={"width": DESK[0], "height": DESK[1]})
    page = context.new_page()
    page.goto(link)
    expect(page.get_by_role("heading", name="Today")).to_be_visible()
    return context, page


def signed_worst(page: Page) -> None:
    """The worst case whose account can be frozen is found, read, and held with a narrative."""
    page.get_by_role("link", name="the worst first").click()
    rows = page.get_by_role("link").filter(has_text=re.compile("enti_|bacc_"))
    rows.first.click()
    expect(page.get_by_role("heading", name=re.compile(r"^Why \d"))).to_be_visible()
    expect(page.get_by_text(re.compile("points count|points, .* count")).first).to_be_visible()
    expect(page.get_by_text("Your signature is enough.")).to_be_visible()
    page.get_by_role("radio", name=re.compile("^Hold")).check()
    narrative = page.locator("main").get_by_label("Narrative")
    narrative.fill(f"{narrative.input_value()} {SEEN}")
    page.get_by_role("button", name=f"Sign as {ANN}").click()
    signed = page.get_by_role("status").filter(has_text="Signed: hold").last
    expect(signed).to_contain_text("No second person is needed.", timeout=SIGNED_WITHIN_MS)


def test_given_two_newcomers_then_one_decides_the_worst_case_and_asks_and_the_other_approves_by_words_alone(
    demo: ConsoleDemo, chromium: Browser
) -> None:
    (of_ann, ann), (of_bob, bob) = (newcomer(chromium, demo.link(name)) for name in (ANN, BOB))
    with of_ann, of_bob:
        signed_worst(ann)
        ann.get_by_role("link", name="Request an action on it").click()
        who = ann.get_by_role("heading", level=1).inner_text()
        offer = ann.get_by_role("button", name=ACTION)
        expect(offer).to_contain_text("always needs a second person")
        offer.click()
        asked = ann.get_by_role("status").filter(has_text=f"{ASKED} ")
        expect(asked).to_contain_text("A second person has to approve it", timeout=ANSWERED_WITHIN_MS)
        asked.get_by_role("link", name="Approvals").click()
        expect(ann.get_by_text("Another person has to approve this.")).to_be_visible()
        own = ann.get_by_role("listitem").filter(has_text=ASKED)
        expect(own.get_by_role("button", name="Withdraw")).to_be_visible()
        expect(own.get_by_role("button", name=re.compile("Approve"))).to_have_count(0)

        bob.get_by_role("link", name="Today").click()
        expect(bob.get_by_text(re.compile(r"requests? waits? for you\."))).to_be_visible()
        bob.get_by_role("link", name=ASKED).click()
        bob.get_by_role("link", name="Its stack, with the evidence").click()
        expect(bob.get_by_role("heading", level=1)).to_have_text(who)
        bob.get_by_role("link", name="Approvals", exact=True).click()
        bob.get_by_role("listitem").filter(has_text=ASKED).get_by_role("button", name=f"Approve as {BOB}").click()
        answered = bob.get_by_role("status").filter(has_text="Answered")
        expect(answered).to_contain_text("is executed.", timeout=ANSWERED_WITHIN_MS)
        answered.get_by_role("link", name="Back to its stack").click()
        expect(bob.get_by_text(re.compile(f"{ASKED}: executed, requested by {ANN}, approved by {BOB}"))).to_be_visible()

    newest = demo.read("/api/actions", type="freeze_account", status="executed", limit="1")["data"][0]
    assert (newest["requestedBy"], newest["approvedBy"]) == (ANN, BOB)
    signed = [each for each in demo.read("/api/dispositions", limit="100")["data"] if SEEN in each["narrative"]]
    assert {each["decidedBy"] for each in signed} == {f"operator:{ANN}"}
    assert newest["alertId"] in {each["alertId"] for each in signed}
