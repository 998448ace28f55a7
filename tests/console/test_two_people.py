"""Changes that need two people, each from the form of the one to the approval of the other, in two browsers."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.console_demo import ANN, BOB
from tests.support.console_service import ConsoleService

WORKS_MS = 60_000


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleService]:
    with ConsoleService(tmp_path_factory.mktemp("two")) as running:
        yield running


def approved(page: Page, words: str) -> None:
    """The one request with these words is read and approved."""
    page.goto("/console/approvals")
    request = page.locator(".request", has_text=words)
    expect(request).to_have_count(1)
    request.get_by_role("button", name=f"Approve as {BOB}").click()
    expect(page.locator(".note", has_text="Answered")).to_contain_text("executed", timeout=WORKS_MS)


def test_given_a_retention_when_one_asks_and_the_other_approves_then_the_new_days_are_in_force(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann, bank.person(chromium, BOB) as bob:
        page = ann.page
        page.goto("/console/settings/retention")
        page.get_by_text("Request a change").click()
        days = page.locator("#new-retention .table-days input").first
        table, least = days.get_attribute("name") or "", days.get_attribute("placeholder") or ""
        wanted = str(int(least.split()[0].replace(",", "")) + 1)
        days.fill("1")
        page.get_by_role("textbox", name="Why", exact=True).fill("The lake is kept for one year.")
        page.get_by_role("button", name="Request", exact=True).click()
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.get_by_role("textbox", name="Why", exact=True)).to_have_value("The lake is kept for one year.")

        page.locator(f"#new-retention input[name='{table}']").fill(wanted)
        page.get_by_role("button", name="Request", exact=True).click()
        expect(page.locator("#notice")).to_contain_text("Requested")
        expect(page.get_by_role("link", name="Waits for a second person")).to_be_visible()
        page.goto("/console/approvals")
        expect(page.get_by_role("button", name="Approve")).to_have_count(0)

        approved(bob.page, "retention-v")
        page.goto("/console/settings/retention")
        kept = page.locator(".lengths div", has=page.locator("code", has_text=table)).first
        expect(kept).to_contain_text(f"{int(wanted):,} days")
        expect(page.get_by_role("link", name="Waits for a second person")).to_have_count(0)
        executed = bank.read("/api/actions", status="executed")["data"]
        (action,) = [each for each in executed if str((each["change"] or {}).get("version")).startswith("retention-")]
        assert (action["requestedBy"], action["approvedBy"]) == (ANN, BOB)
        assert not bob.faults
        assert [each for each in ann.faults if "400" not in each] == []


def test_given_a_cap_when_one_asks_and_the_other_approves_then_it_is_the_limit_of_the_program(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann, bank.person(chromium, BOB) as bob:
        page = ann.page
        page.goto("/console/programs")
        page.get_by_role("link", name=bank.program["name"]).first.click()
        form = page.locator("form", has=page.locator("select[name=kind]"))
        if not form.is_visible():
            page.locator("details", has=form).locator("summary").first.click()
        form.locator("select[name=kind]").select_option("entity_daily")
        form.locator("input[name=cap]").fill("25,000.00")
        form.get_by_label("Why").fill("A larger payroll from December.")
        form.get_by_role("button", name="Request").click()
        expect(page.locator("main")).to_contain_text("Requested")

        approved(bob.page, "25,000.00")
        limits = bank.read(f"/api/limits/program/{bank.program['id']}")
        caps = {each["kind"]: (each["capCents"], each["approvedBy"]) for each in limits["limits"]}
        assert caps["entity_daily"] == ("2500000", BOB)
        page.reload()
        expect(page.locator("main")).to_contain_text("25,000.00")
        assert not ann.faults + bob.faults


def test_given_a_policy_by_fields_when_its_effect_was_seen_and_the_other_approves_then_it_routes(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann, bank.person(chromium, BOB) as bob:
        page = ann.page
        page.goto("/console/settings/policies")
        page.locator("#policy .endpoints a").first.click()
        page.get_by_label("Least history of the program").fill("few")
        page.get_by_role("radio", name="fan out: may be closed alone").check()
        page.get_by_role("textbox", name="Why", exact=True).fill("Fan-out was never bad in a year.")
        page.get_by_role("button", name="Show what it would change").click()
        expect(page.get_by_label("Least history of the program")).to_have_attribute("aria-invalid", "true")
        expect(page.locator("[id='body.minProgramN-fault']")).to_have_text("must be a whole number")
        expect(page.get_by_role("radio", name="fan out: may be closed alone")).to_be_checked()

        page.get_by_label("Least history of the program").fill("0")
        page.get_by_role("button", name="Show what it would change").click()
        plan = page.locator("#plan")
        expect(plan).to_contain_text("autoClosableDetectors[fan_out]")
        expect(plan.locator("#dry-run-totals")).to_contain_text("would have gone otherwise")
        assert [each["version"] for each in bank.read("/api/policies", prefix="policy")] == ["policy-v1"]
        page.get_by_role("button", name="Request", exact=True).click()
        expect(page.locator("#notice")).to_contain_text("Requested")
        expect(page.locator("#dry-run #dry-run-totals")).to_contain_text("would have gone otherwise")

        approved(bob.page, "policy-v2")
        newest, former = bank.read("/api/policies", prefix="policy")
        assert (newest["active"], former["active"]) == (True, False)
        assert newest["body"]["minProgramN"] == 0
        assert set(newest["body"]["autoClosableDetectors"]) == {*former["body"]["autoClosableDetectors"], "fan_out"}
        assert not bob.faults
        assert [each for each in ann.faults if "400" not in each] == []


def test_given_no_javascript_then_a_clock_is_planned_and_requested_by_fields(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium, java_script_enabled=False) as ann:
        page = ann.page
        page.goto("/console/settings/policies")
        page.locator("#clock .endpoints a").first.click()
        page.get_by_label("Standard hours").fill("12")
        page.get_by_role("textbox", name="Why", exact=True).fill("Half a day is enough.")
        page.get_by_role("button", name="Show what it would change").click()
        expect(page.locator("#plan")).to_contain_text("standardHours")
        page.get_by_role("button", name="Request", exact=True).click()
        expect(page.locator("#notice")).to_contain_text("Requested")
        newest, _ = bank.read("/api/policies", prefix="clock")
        assert (newest["body"]["standardHours"], newest["active"]) == (12, False)


def test_given_a_card_when_it_is_proposed_then_it_runs_in_shadow_and_comes_into_force_by_no_one_without_a_report(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann:
        page = ann.page
        page.goto("/console/settings/scorecards")
        page.get_by_role("link", name="trs-v1").click()
        card = page.get_by_label("The card, as YAML or JSON")
        text = card.input_value()
        card.fill(text.replace("name: trs-v1", "name: Fewer points"))
        page.get_by_role("button", name="Propose", exact=True).click()
        expect(page.locator("#notice")).to_contain_text("Proposed")
        expect(page.locator("#difference")).to_contain_text("Nothing differs")
        page.get_by_role("button", name="Run it in shadow").click()
        expect(page.locator("#notice")).to_contain_text("in shadow from now on")
        expect(page.locator("#comparison")).to_contain_text("that both scored since")
        page.get_by_role("textbox", name="Why", exact=True).fill("It is simpler.")
        page.get_by_role("button", name="Request", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("report")
        expect(page.get_by_role("textbox", name="Why", exact=True)).to_have_value("It is simpler.")
        newest, _ = bank.read("/api/scorecards")
        assert (newest["name"], newest["inShadow"], newest["active"]) == ("Fewer points", True, False)
        page.get_by_role("button", name="End its shadow").click()
        expect(page.locator("#notice")).to_contain_text("Its shadow has ended")
        assert [each for each in ann.faults if "409" not in each] == []
