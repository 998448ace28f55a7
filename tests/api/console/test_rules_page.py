"""Rules on the console: written in rows, backtested, requested by one person and approved by another."""

from http import HTTPStatus
from typing import Any

import httpx
import pytest

from tests.api.console.test_scopes import key_session
from tests.support.console import Browser, ConsoleApp
from tests.support.rule_calls import RuleCalls
from tests.support.running_app import RunningApp

RULES, NEW = "/console/rules", "/console/rules-new"
PAGE = f"{RULES}/big-wire"
TYPED = {
    "rule": "big-wire",
    "name": "Big wires",
    "does": "review",
    "severity": "medium",
    "field.0": "amountCents",
    "op.0": "gte",
    "value.0": "25,000.00",
    "field.1": "counterparty.firstTime",
    "op.1": "eq",
    "value.1": "true",
}


def written(browser: Browser, **over: str) -> httpx.Response:
    return browser.send_form(browser.get(NEW), NEW, **(TYPED | over))


@pytest.fixture
def calls(api: RunningApp, tenant: dict[str, Any]) -> RuleCalls:
    return RuleCalls(api, tenant)


def test_given_rows_when_saved_then_the_rule_is_that_of_the_interface(browser: Browser, calls: RuleCalls) -> None:
    assert written(browser).headers["location"] == f"{PAGE}?done=saved"
    rule = calls.read("big-wire").json()
    assert rule["when"] == [
        {"field": "amountCents", "op": "gte", "value": "2500000"},
        {"field": "counterparty.firstTime", "op": "eq", "value": True},
    ]
    assert rule["status"] == "draft"
    assert rule["programId"] is None
    page = browser.get(PAGE).text
    assert "is at least" in page
    assert 'value="25000.00"' in page
    assert "Big wires" in browser.get(RULES).text


def test_given_a_step_when_sent_then_a_row_comes_or_goes_and_nothing_is_written(
    browser: Browser, calls: RuleCalls
) -> None:
    more = written(browser, step="add")
    assert more.text.count('class="rule-row"') == 3
    less = written(browser, step="remove.0")
    assert less.text.count('class="rule-row"') == 1
    assert 'value="counterparty.firstTime"' in less.text
    assert calls.read("big-wire").status_code == HTTPStatus.NOT_FOUND


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"field.1": "counterparty.unknown"}, "when[1].field"),
        ({"value.0": "much"}, "when[0].value"),
        ({"value.1": "perhaps"}, "when[1].value must be true or false"),
    ],
)
def test_given_a_mistake_then_it_is_named_beside_its_row_and_the_text_is_kept(
    browser: Browser, over: dict[str, str], words: str
) -> None:
    page = written(browser, **over)
    assert page.status_code == HTTPStatus.BAD_REQUEST
    row = next(each for each in page.text.split('class="rule-row"') if "refusal" in each)
    assert words in row
    assert f'value="{next(iter(over.values()))}"' in row


def test_given_a_rule_that_was_changed_in_between_when_saved_then_it_is_refused(
    browser: Browser, calls: RuleCalls
) -> None:
    written(browser)
    form = browser.get(PAGE)
    calls.write("big-wire", name="Changed by ben")
    page = browser.send_form(form, PAGE, **TYPED)
    assert page.status_code == HTTPStatus.PRECONDITION_FAILED
    assert calls.read("big-wire").json()["name"] == "Changed by ben"
    assert browser.send_form(browser.get(PAGE), PAGE, **TYPED).status_code == HTTPStatus.SEE_OTHER
    assert calls.read("big-wire").json()["name"] == "Big wires"


def test_given_a_draft_when_backtested_and_requested_then_another_person_puts_it_in_force(
    api: RunningApp, browser: Browser, calls: RuleCalls
) -> None:
    written(browser)
    refused = browser.send_form(browser.get(PAGE), f"{PAGE}/activate", note="Agreed.")
    assert refused.status_code == HTTPStatus.CONFLICT
    assert "needs a backtest" in refused.text
    answer = browser.send_form(browser.get(PAGE), f"{PAGE}/backtest", full="true")
    assert answer.headers["location"] == f"{PAGE}?done=tested#backtest"
    page = browser.get(PAGE).text
    assert "0 of 0 transfers match" in page
    assert "not measured (n 0)" in page
    assert "0 of 0" in browser.get(RULES).text
    answer = browser.send_form(browser.get(PAGE), f"{PAGE}/activate", note="Agreed.")
    assert answer.headers["location"] == f"{PAGE}?done=requested"
    (action,) = api.client.get("/api/actions?status=requested", headers=api.operator(calls.tenant)).json()["data"]
    assert action["type"] == "activate_rule"
    waiting = browser.get("/console/approvals").text
    assert f'href="{PAGE}"' in waiting
    assert "would alert" in waiting
    assert "would hold" in waiting
    assert "entries</summary>" in waiting
    assert calls.approve(action["id"])["status"] == "executed"
    assert "The newest text is the one in force." in browser.get(PAGE).text
    browser.send_form(browser.get(PAGE), PAGE, **(TYPED | {"value.0": "30000"}))
    page = browser.get(PAGE).text
    assert "amountCents is at least 25000.00" in page
    assert "amountCents is at least 30000.00" in page
    browser.send_form(browser.get(PAGE), f"{PAGE}/pause", note="Too many.")
    assert "No text of it is in force." in browser.get(PAGE).text


def test_given_an_examiner_then_the_pages_have_no_form(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    written(browser)
    examiner = key_session(console, api, tenant, "rules")
    for path in (RULES, PAGE, NEW):
        page = examiner.get(path)
        assert page.status_code == HTTPStatus.OK
        assert f'action="{RULES}' not in page.text
