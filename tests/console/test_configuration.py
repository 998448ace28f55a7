"""The configuration in a browser: from the download to a planned change, its approval, and the next download."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from tests.support.console_demo import BOB
from tests.support.console_service import ConsoleService

PLACE = "/console/settings/configuration"
CLOCK = "policies/clock.yaml"
RULE = """
rules/large-new-payee.yaml:
  id: large-new-payee
  name: Large to a new payee
  scope: transfer
  when:
    - field: amountCents
      op: gte
      value: "500000"
  action: review
  severity: medium
"""


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleService]:
    with ConsoleService(tmp_path_factory.mktemp("configuration")) as running:
        yield running


def downloaded(page: Page) -> dict[str, bytes]:
    """The files of the configuration in force."""
    page.goto(PLACE)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the files").click()
    with ZipFile(BytesIO(Path(download.value.path()).read_bytes())) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_given_a_change_of_two_files_then_it_is_in_the_download_once_another_person_has_approved_it(
    bank: ConsoleService, chromium: Browser
) -> None:
    with bank.person(chromium) as ann, bank.person(chromium, BOB) as bob:
        page = ann.page
        before = downloaded(page)
        page.get_by_text(CLOCK).click()
        page.get_by_role("link", name="Change this file").locator("visible=true").click()
        field = page.get_by_label("Files, as YAML or JSON")
        typed = field.input_value().replace("standardHours: 24", "standardHours: 8")
        field.fill(f"{typed}{RULE}")
        page.get_by_role("button", name="Plan", exact=True).click()
        plan = page.locator("#plan")
        expect(plan).to_contain_text("2 files differ. It waits for another person.")
        expect(plan.get_by_role("row", name="standardHours 24 8")).to_be_visible()
        expect(plan).to_contain_text("Backtest over 90 days")
        page.get_by_label("Why").fill("The board wants it.")
        page.get_by_role("button", name="Request this change").click()
        expect(page.locator("#notice")).to_contain_text("Nothing is in force until another person has approved it.")
        assert downloaded(page) == before

        bob.page.goto("/console/approvals")
        expect(bob.page.locator("main")).to_contain_text("Apply a configuration")
        bob.page.get_by_role("button", name="Approve as").click()
        expect(bob.page.locator("main")).to_contain_text("executed")
        after = downloaded(page)
        assert {name for name in before | after if before.get(name) != after.get(name)} == {
            CLOCK,
            "rules/large-new-payee.yaml",
        }
        clock = yaml.safe_load(after[CLOCK])
        assert clock == yaml.safe_load(before[CLOCK]) | {"standardHours": 8}
        assert not ann.faults
        assert not bob.faults
