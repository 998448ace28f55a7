"""The configuration on the console: its files, a plan of a change, and the request that another person approves."""

from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import httpx
import pytest
import yaml

from clearhold.api.cli.config_files import read_config
from clearhold.api.http import yaml_documents
from tests.support.alerting import deliver, outgoing
from tests.support.config_calls import CLOCK_PATH, RULE, RULE_PATH, ConfigCalls
from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp

PLACE: Final = "/console/settings/configuration"
PLAN: Final = f"{PLACE}/plan"
ALIASES: Final = tuple(zip("abcdefgh", "bcdefghi", strict=True))
"""Eight steps, each 40 of the step before: a value of 40**8 numbers in a text of 1,500 characters."""
CLOCK: Final[dict[str, Any]] = {"autoHours": 1, "standardHours": 8, "complexHours": 72, "appealHours": 72}


@pytest.fixture
def config(api: RunningApp, tenant: dict[str, Any]) -> ConfigCalls:
    return ConfigCalls(api, tenant)


def planned(browser: Browser, files: Any) -> httpx.Response:
    typed = files if isinstance(files, str) else yaml.safe_dump(files)
    return browser.send_form(browser.get(PLACE), PLAN, files=typed)


def requested(browser: Browser, page: httpx.Response, note: str = "The board wants it.") -> httpx.Response:
    return browser.send_form(page, PLACE, note=note)


def waiting(config: ConfigCalls) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = config.send("GET", "/api/actions?status=requested").json()["data"]
    return listed


def test_given_a_rule_and_a_clock_when_planned_and_requested_then_another_person_puts_both_in_force(
    config: ConfigCalls, browser: Browser
) -> None:
    former = config.files()
    page = planned(browser, {CLOCK_PATH: CLOCK, RULE_PATH: RULE})
    assert page.status_code == HTTPStatus.OK, page.text
    plan = DomPage(page.text).one("section", id="plan").text
    assert "2 files differ. It waits for another person." in plan
    assert "standardHours248" in "".join(plan.split()), "the field before and after"
    assert "Backtest over 90 days" in plan
    assert config.files() == former, "a plan writes nothing"

    answers = [requested(browser, page) for _ in range(2)]
    assert {each.headers["location"] for each in answers} == {f"{PLACE}?done=requested"}
    assert DomPage(browser.get("/console/approvals").text).one("a", href=PLACE).text == "The configuration in force"
    assert "Nothing is in force until another person" in browser.get(answers[0].headers["location"]).text
    (action,) = waiting(config)
    assert config.files() == former
    approved = config.send("POST", f"/api/actions/{action['id']}/approve", name="ben")
    assert approved.json()["status"] == "executed", approved.text
    now = config.files()
    assert now[CLOCK_PATH] == CLOCK
    assert now[RULE_PATH]["name"] == RULE["name"]
    assert {path: now[path] for path in former if path != CLOCK_PATH} == {
        path: value for path, value in former.items() if path != CLOCK_PATH
    }
    assert RULE_PATH in DomPage(browser.get(PLACE).text).one("section", id="files").text


def test_given_the_archive_then_it_is_the_directory_that_an_export_writes_each_time_the_same(
    config: ConfigCalls, browser: Browser, tmp_path: Path
) -> None:
    archives = [browser.get(f"{PLACE}/archive") for _ in range(2)]
    assert archives[0].content == archives[1].content
    assert archives[0].headers["content-disposition"].endswith('.zip"')
    with ZipFile(BytesIO(archives[0].content)) as packed:
        packed.extractall(tmp_path)
    read = read_config(tmp_path)
    assert {each.path: each.value for each in read.files} == config.files()


def test_given_a_file_to_change_then_the_form_has_its_text_and_that_text_changes_nothing(
    config: ConfigCalls, browser: Browser
) -> None:
    page = browser.get(f"{PLACE}?change={CLOCK_PATH}")
    typed = DomPage(page.text).one("textarea", name="files").text
    assert yaml.safe_load(typed) == {CLOCK_PATH: config.files()[CLOCK_PATH]}
    answer = browser.send_form(page, PLAN, files=typed)
    assert "Nothing differs from the configuration in force." in DomPage(answer.text).one("section", id="plan").text
    assert browser.get(f"{PLACE}?change=policies/none.yaml").status_code == HTTPStatus.NOT_FOUND


def test_given_a_file_to_read_then_its_text_alone_is_there_and_leads_to_its_change(
    config: ConfigCalls, browser: Browser
) -> None:
    page = DomPage(browser.get(f"{PLACE}?file={CLOCK_PATH}").text)
    (text,) = page.all("pre")
    assert yaml.safe_load(text.text) == config.files()[CLOCK_PATH]
    assert page.one("a", href=f"{PLACE}?change={CLOCK_PATH}#change").text == "Change this file"
    assert not DomPage(browser.get(PLACE).text).all("pre")
    assert browser.get(f"{PLACE}?file=policies/none.yaml").status_code == HTTPStatus.NOT_FOUND


def test_given_a_file_without_a_value_then_the_plan_removes_it(config: ConfigCalls, browser: Browser) -> None:
    requested(browser, planned(browser, {RULE_PATH: RULE}))
    (action,) = waiting(config)
    config.send("POST", f"/api/actions/{action['id']}/approve", name="ben")
    assert RULE_PATH in config.files()
    page = planned(browser, f"{RULE_PATH}: null")
    assert f"{RULE_PATH} removed" in DomPage(page.text).one("section", id="plan").text
    requested(browser, page)
    for each in waiting(config):
        config.send("POST", f"/api/actions/{each['id']}/approve", name="ben")
    assert RULE_PATH not in config.files()


def test_given_a_changed_policy_of_the_bank_or_of_a_program_then_its_plan_says_what_it_would_have_routed_otherwise(
    config: ConfigCalls, api: RunningApp, program: dict[str, Any], browser: Browser
) -> None:
    ordinary = (outgoing(f"acht_{number}", amount=500_000 + number * 100_000) for number in range(6))
    deliver(api, program, *ordinary, outgoing("acht_large", amount=90_000_000, counterparty_id="cpty_2"))
    policy = config.files()["policies/policy.yaml"] | {"minProgramN": 0, "autoCloseBands": ["clear", "review"]}
    draft = {"version": "policy-v2", "body": policy | {"version": "policy-v2"}}
    answer = config.send("POST", "/api/policies/dry-run", draft).json()
    assert answer["otherwise"] >= 2
    for path in ("policies/policy.yaml", f"programs/{program['slug']}/policy.yaml"):
        page = planned(browser, {path: policy})
        assert page.status_code == HTTPStatus.OK, page.text
        totals = DomPage(page.text).one("p", id="dry-run-totals").text
        assert f"{answer['otherwise']} alerts would have gone otherwise, {answer['same']} the same" in totals


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ("", "at least one file"),
        ("- 1", "at least one file"),
        ("policies/clock.yaml: [1", "cannot be read"),
        ("a: &a 1\nb: *a", "Anchors"),
        (
            "a: &a [1]\n" + "".join(f"{new}: &{new} [{', '.join([f'*{old}'] * 40)}]\n" for old, new in ALIASES),
            "Anchors",
        ),
        ("!!python/object/apply:os.system [id]", "Tags"),
        ("policies/clock.yaml: {standardHours: 8}", "autoHours"),
        ("policies/clock.yaml:\n  autoHours: soon", "autoHours"),
        ("rules/none.yaml: null", "no such file"),
        ("policies/clock.yaml: null", "every tenant has this policy"),
        ("somewhere/else.yaml: {a: 1}", "somewhere/else.yaml"),
        ("a: 1\na: 2", "stands twice"),
        ("x: '</textarea><script>alert(1)</script>'", "x"),
        ("[" * 5_000, "nested deeper"),
        ('a: "\\ud800"', "cannot be read"),
    ],
)
def test_given_files_that_are_refused_then_the_page_says_why_and_keeps_the_typed_text(
    config: ConfigCalls, browser: Browser, files: str, words: str
) -> None:
    answer = planned(browser, files)
    assert answer.status_code == HTTPStatus.BAD_REQUEST, answer.text
    page = DomPage(answer.text)
    assert words in page.one("p", role="alert").text
    assert page.one("textarea", name="files").text == files
    assert "<script>alert" not in answer.text
    assert waiting(config) == []


def test_given_half_of_a_letter_then_it_is_refused_where_yaml_is_read_without_its_library_too(
    config: ConfigCalls, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_documents, "_LOADER", yaml.SafeLoader)
    answer = planned(browser, 'a: "\\ud800"')
    assert answer.status_code == HTTPStatus.BAD_REQUEST, answer.text
    assert "surrogate" in DomPage(answer.text).one("p", role="alert").text
    assert waiting(config) == []


def test_given_another_change_since_the_plan_then_the_request_is_refused_and_nothing_waits(
    config: ConfigCalls, browser: Browser
) -> None:
    page = planned(browser, {CLOCK_PATH: CLOCK})
    other = config.files() | {RULE_PATH: RULE}
    action = config.apply(other).json()["action"]
    config.send("POST", f"/api/actions/{action['id']}/approve", name="ben")
    assert RULE_PATH in config.files()
    answer = requested(browser, page)
    assert answer.status_code == HTTPStatus.CONFLICT, answer.text
    assert "Plan again" in DomPage(answer.text).one("p", role="alert").text
    assert waiting(config) == []


def test_given_a_key_then_its_session_does_not_read_the_configuration(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    body = {"name": "k", "mode": "live", "scopes": ["policies"]}
    key = api.client.post("/api/keys", json=body, headers=api.operator(tenant)).json()
    reader = console.browser()
    assert reader.sign_in(key["secret"]).status_code == HTTPStatus.SEE_OTHER
    for place in (PLACE, f"{PLACE}/archive"):
        assert reader.get(place).status_code == HTTPStatus.FORBIDDEN
    assert PLACE not in reader.get("/console/settings").text
