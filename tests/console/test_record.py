"""Verification of the record in a browser: it finds a row that was changed while the service was stopped, and the
downloaded files pass the offline check.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.alerting import NARRATIVE
from tests.support.console_service import ConsoleService

WORKS_MS = 60_000


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleService]:
    with ConsoleService(tmp_path_factory.mktemp("record")) as running:
        yield running


def verified(page: Page) -> str:
    page.goto("/console/record")
    page.get_by_role("button", name="Verify the record").click()
    expect(page.locator("#result")).to_be_visible(timeout=WORKS_MS)
    return page.locator("#result").inner_text()


def test_given_a_record_when_a_row_is_changed_behind_the_service_then_the_page_names_the_link_and_files_prove_it(
    bank: ConsoleService, chromium: Browser, tmp_path: Path
) -> None:
    for stack in bank.stacks("bacc_1", "bacc_2", "bacc_3"):
        body = {"alertIds": stack["alertIds"], "decision": "close", "narrative": NARRATIVE}
        bank.sent("POST", "/api/alerts/decide", json=body)
    with bank.person(chromium) as person:
        page = person.page
        assert "The record is whole" in verified(page)
        page.get_by_role("button", name="Sign the chain of decisions now").click()
        row = page.locator("#checkpoints tbody tr").first
        expect(row).to_contain_text("decisions")
        files = {"note.txt": row.get_by_role("link")}
        page.locator("input[name=seq]").fill("1")
        page.locator("input[name=seq] >> xpath=ancestor::form").get_by_role("button").click()
        expect(page.locator("#proof")).to_contain_text("Link 1 of the chain of decisions is on the record")
        page.locator("#proof summary").click()
        files |= {
            "verify.py": page.locator("#proof").get_by_role("link", name="verify.py"),
            "record.ndjson": page.get_by_role("button", name="Download the record"),
        }
        for name, place in files.items():
            with page.expect_download() as download:
                place.click()
            download.value.save_as(tmp_path / name)
        (tmp_path / "jwks.json").write_bytes(person.context.request.get("/.well-known/jwks.json").body())
        assert not person.faults
    command = [sys.executable, "verify.py", "record.ndjson", "jwks.json", "note.txt"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr

    bank.service.stop()
    with closing(duckdb.connect(str(bank.service.data / "clearhold.duckdb"))) as database:
        database.execute("UPDATE dispositions SET narrative = 'Nothing was wrong.' WHERE narrative = ?", [NARRATIVE])
    bank.service.start()
    with bank.person(chromium) as person:
        result = verified(person.page)
        assert "The record is not whole" in result
        assert "dispositions" in result
        assert "narrative" in result
        assert not person.faults
