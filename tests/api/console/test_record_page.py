"""The record on the console: verified, proved, signed and taken away as files that a script checks elsewhere."""

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import json

from clearhold.api.record.service import VerifyProgress
from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp
from tests.support.stacking import decide_many, story

RECORD: Final = "/console/record"
DAYS: Final = "from=2026-03-01&to=2026-03-31"


@pytest.fixture
def decided(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> list[dict[str, Any]]:
    """Three decisions of ann, on the record."""
    alerts = story(api, tenant, program, "bacc_1", 3)
    answer = decide_many(api, api.operator(tenant), [each["id"] for each in alerts])
    assert answer.status_code == 200, answer.text
    api.catch_up()
    listed: list[dict[str, Any]] = api.client.get("/api/dispositions", headers=api.operator(tenant)).json()["data"]
    return listed


def test_given_a_whole_record_when_verified_then_the_page_and_the_part_count_links_and_rows(
    browser: Browser, decided: list[dict[str, Any]]
) -> None:
    for answer in (browser.get(f"{RECORD}/verified"), browser.part(f"{RECORD}/verified")):
        result = DomPage(answer.text).one("div", id="result").text
        assert "The record is whole" in result
        assert f"{len(decided)} links" in result
    part = browser.part(f"{RECORD}/verifying")
    assert f'hx-get="{RECORD}/verified"' in part.text
    progress = DomPage(part.text).one("p", class_="working").attributes
    assert progress["hx-get"] == f"{RECORD}/progress"
    assert progress["aria-live"] == "off", "each figure of the progress is not read aloud"


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        ("UPDATE record_chain SET body = replace(body, 'close', 'hold') WHERE seq = 1", "link 1"),
        ("UPDATE record_chain SET hash = repeat('0', 64) WHERE seq = 2", "link 2"),
        ("DELETE FROM record_chain WHERE seq = 0", "link 0"),
    ],
    ids=["a body", "a hash", "a link that is gone"],
)
@pytest.mark.usefixtures("decided")
def test_given_a_planted_change_of_the_record_when_verified_then_the_first_break_is_named(
    api: RunningApp, browser: Browser, planted: str, words: str
) -> None:
    api.database.execute(planted)
    result = DomPage(browser.get(f"{RECORD}/verified").text).one("div", id="result").text
    assert "The record is not whole" in result
    assert f"The first break: {words} of the chain of decisions" in result
    assert "Due there" in result


def test_given_a_planted_change_of_a_shown_row_when_verified_then_the_row_and_its_columns_are_named(
    api: RunningApp, browser: Browser, decided: list[dict[str, Any]]
) -> None:
    api.database.execute("UPDATE dispositions SET narrative = '<b>all fine</b>' WHERE id = ?", [decided[0]["id"]])
    answer = browser.get(f"{RECORD}/verified")
    result = DomPage(answer.text).one("div", id="result").text
    assert "The record is not whole" in result
    assert decided[0]["id"] in result
    assert "narrative" in result


def test_given_a_verification_under_way_then_its_links_are_counted(
    console: ConsoleApp, api: RunningApp, browser: Browser, tenant: dict[str, Any]
) -> None:
    assert "begins" in browser.part(f"{RECORD}/progress").text
    service = console.api.services["record"]
    service._under_way[tenant["id"]] = VerifyProgress(checked=1_024, links=5_000)
    assert "1,024 of 5,000 links" in browser.part(f"{RECORD}/progress").text
    service._under_way[tenant["id"]].chain = None
    assert "rows" in browser.part(f"{RECORD}/progress").text
    browser.get(f"{RECORD}/verified")
    assert "begins" in browser.part(f"{RECORD}/progress").text
    assert api.client.get("/api/record/verify", headers=api.operator(tenant)).json()["ok"] is True


def test_given_a_decision_an_alert_or_a_number_when_proved_then_the_link_has_the_proof_of_the_interface(
    api: RunningApp, tenant: dict[str, Any], browser: Browser, decided: list[dict[str, Any]]
) -> None:
    chosen = decided[1]
    query = {"chain": "dispositions", "seq": str(chosen["seq"])}
    proof = api.client.get("/api/record/proof", params=query, headers=api.operator(tenant)).json()
    asked = (f"id={chosen['id']}", f"id=%20{chosen['alertId'].upper()}", f"chain=dispositions&seq={chosen['seq']}")
    for each in asked:
        answer = browser.get(f"{RECORD}/proof?{each}")
        assert answer.status_code == 200, answer.text
        section = DomPage(answer.text).one("div", id="proof").text
        assert f"Link {chosen['seq']} of the chain of decisions" in section
        assert proof["checkpoint"].split("\n")[2] in section
    file = browser.get(f"{RECORD}/proof.json?chain=dispositions&seq={chosen['seq']}")
    assert json.decode(file.content) == proof
    assert file.headers["content-disposition"].startswith("attachment;")


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("id=nothing", 404, "No decision, action or alert"),
        ("id=00000000-0000-4000-8000-0000000000ff", 404, "No decision, action or alert"),
        ("chain=dispositions&seq=99", 404, "fewer links"),
        ("chain=dispositions&seq=-1", 400, "seq"),
        ("chain=nothing&seq=0", 400, "chain"),
    ],
)
@pytest.mark.usefixtures("decided")
def test_given_a_link_that_is_not_there_when_proved_then_the_page_says_so(
    browser: Browser, query: str, status: int, words: str
) -> None:
    answer = browser.get(f"{RECORD}/proof?{query}")
    assert answer.status_code == status
    assert words in DomPage(answer.text).one("p", role="alert").text


def test_given_the_downloads_then_the_offered_script_finds_them_valid_and_a_changed_file_not(
    api: RunningApp, browser: Browser, decided: list[dict[str, Any]], tmp_path: Path
) -> None:
    page = browser.get(RECORD)
    signed = browser.send_form(page, f"{RECORD}/checkpoint", chain="dispositions")
    assert signed.headers["location"] == f"{RECORD}#checkpoints"
    links = [each.attributes.get("href") or "" for each in DomPage(browser.get(RECORD).text).all("a")]
    names = [each for each in links if each.startswith(f"{RECORD}/checkpoint?")]
    files = {
        "record.ndjson": browser.get(f"{RECORD}/export").content,
        "jwks.json": api.client.get("/.well-known/jwks.json").content,
        "note.txt": browser.get(names[0]).content,
        "verify.py": browser.get(f"{RECORD}/verify.py").content,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    command = [sys.executable, "verify.py", "record.ndjson", "jwks.json", "note.txt"]
    whole = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert str(len(decided)) in whole.stdout
    (tmp_path / "record.ndjson").write_bytes(files["record.ndjson"].replace(b'"close"', b'"hold"', 1))
    changed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert changed.returncode != 0


def test_given_days_then_the_file_has_their_links_and_impossible_ones_are_refused_on_the_page(
    browser: Browser, decided: list[dict[str, Any]]
) -> None:
    day = decided[0]["createdAt"][:10]
    inside = browser.get(f"{RECORD}/export?from={day}&to={day}")
    links = [each for each in map(json.decode, inside.content.splitlines()) if each["chain"] == "dispositions"]
    assert len(links) == len(decided)
    outside = browser.get(f"{RECORD}/export?from=2020-01-01&to=2020-01-31")
    assert [each for each in map(json.decode, outside.content.splitlines()) if each["chain"] is not None] == []
    for query, words in ((f"from={day}&to=2020-01-01", "from"), ("from=soon", "from")):
        answer = browser.get(f"{RECORD}/export?{query}")
        assert answer.status_code == 400
        assert words in DomPage(answer.text).one("p", role="alert").text


@pytest.mark.usefixtures("decided")
def test_given_a_party_then_its_file_is_that_of_the_interface_and_an_unknown_one_is_refused_on_the_page(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    transfer = api.client.get("/api/transfers", headers=api.operator(tenant)).json()["data"][0]
    party = transfer["counterpartyId"]
    file = browser.get(f"{RECORD}/subject?kind=counterparty&id={party}")
    assert file.headers["content-disposition"] == 'attachment; filename="subject.ndjson"'
    lines = [json.decode(line) for line in file.content.splitlines()]
    assert lines[0]["row"]["subject"]["id"] == party
    assert lines[-1]["row"]["lines"] == len(lines) - 1
    answer = browser.get(f"{RECORD}/subject?kind=entity&id=ent_none")
    assert answer.status_code == 404
    assert "Unknown entity" in DomPage(answer.text).one("p", role="alert").text


def test_given_a_key_that_reads_the_record_then_its_session_verifies_and_has_no_form_that_signs(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    body = {"name": "examiner", "mode": "live", "scopes": ["record", "alerts:read"]}
    key = api.client.post("/api/keys", json=body, headers=api.operator(tenant)).json()
    examiner = console.browser()
    examiner.sign_in(key["secret"], "")
    assert "The record is whole" in examiner.get(f"{RECORD}/verified").text
    page = examiner.get(RECORD).text
    assert "Sign the chain" not in page
    other = api.client.post("/api/keys", json=body | {"scopes": ["reports"]}, headers=api.operator(tenant)).json()
    reader = console.browser()
    reader.sign_in(other["secret"], "")
    assert reader.get(RECORD).status_code == 403
    assert f'href="{RECORD}"' not in reader.get("/console/today").text
