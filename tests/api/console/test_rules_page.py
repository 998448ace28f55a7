"""Rules on the console: written in rows, backtested, requested by one person and approved by another."""

from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from clearhold.api.console.components.rule_form import condition_row
from tests.api.console.test_scopes import key_session
from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.rule_calls import RuleCalls
from tests.support.running_app import RunningApp

RULES, NEW, ROW = "/console/rules", "/console/rules-new", "/console/rules-row"
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


def test_given_choices_that_were_refused_then_each_is_invalid_and_their_group_is_described_by_the_fault() -> None:
    row = ("rail", "in", "wire")
    refused, taken = (
        DomPage(condition_row(2, row, lambda **_: {}, refusal)) for refusal in ("must have two values", None)
    )
    group = refused.one("fieldset").attributes
    assert group["aria-describedby"] == refused.one("p", role="alert").attributes["id"] == "fault-2"
    assert "aria-invalid" not in group
    boxes = refused.all("input", type="checkbox")
    assert len(boxes) > 1
    assert {each.attributes.get("aria-invalid") for each in boxes} == {"true"}
    assert {each.attributes.get("aria-invalid") for each in taken.all("input", type="checkbox")} == {None}
    assert "aria-describedby" not in taken.one("fieldset").attributes


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


@pytest.mark.parametrize(
    ("row", "offered", "chosen"),
    [
        ({"field.1": "rail", "op.1": "eq", "value.1": "wire"}, '<option value="intl_wire"', 'value="wire" selected'),
        (
            {"field.1": "counterparty.firstTime", "op.1": "eq", "value.1": ""},
            '<option value="true"',
            'value="" selected',
        ),
        ({"field.1": "rail", "op.1": "in", "value.1": "ach,wire"}, 'type="checkbox" name="value.1" value="card"', ""),
        ({"field.1": "counterpartyCountry", "op.1": "eq", "value.1": "MX"}, '<option value="TR"', 'value="MX"'),
    ],
)
def test_given_a_field_with_a_vocabulary_then_its_row_offers_the_words_and_its_own_operations(
    browser: Browser, row: dict[str, str], offered: str, chosen: str
) -> None:
    part = browser.part(f"{ROW}?{urlencode(row)}", **{"HX-Target": "div#row-1"}).text
    assert part.startswith('<div class="rule-row" id="row-1"')
    assert offered in part
    assert chosen in part
    assert ('value="gte"' in part) is False
    assert part.count(" checked") == (2 if row["op.1"] == "in" else 0)


def test_given_checked_words_when_saved_then_the_rule_has_the_list(browser: Browser, calls: RuleCalls) -> None:
    written(browser, **{"field.1": "rail", "op.1": "in", "value.1": "ach,wire"})
    assert calls.read("big-wire").json()["when"][1] == {"field": "rail", "op": "in", "value": ["ach", "wire"]}
    assert browser.get(PAGE).text.count(" checked") == 2


def test_given_a_row_outside_its_form_then_the_form_is_opened(browser: Browser) -> None:
    assert browser.get(f"{ROW}?field.0=rail").headers["location"] == NEW


def test_given_a_rule_that_was_changed_in_between_when_saved_then_the_change_is_shown_and_the_words_are_kept(
    browser: Browser, calls: RuleCalls
) -> None:
    written(browser)
    form = browser.get(PAGE)
    calls.write("big-wire", name="Changed by ben")
    typed = TYPED | {"name": "Typed by ann"}
    refused = browser.send_form(form, PAGE, **typed)
    assert refused.status_code == HTTPStatus.PRECONDITION_FAILED
    assert calls.read("big-wire").json()["name"] == "Changed by ben"
    change = refused.text.split("The rule was changed while you wrote")[1].split("</table>")[0]
    assert "Big wires" in change
    assert "Changed by ben" in change
    assert "Typed by ann" not in change
    assert 'value="Typed by ann"' in refused.text
    more = browser.send_form(refused, PAGE, **typed, step="add")
    assert browser.send_form(more, PAGE, **typed).status_code == HTTPStatus.SEE_OTHER
    assert calls.read("big-wire").json()["name"] == "Typed by ann"


def test_given_a_change_before_a_row_is_added_then_that_change_is_still_refused(
    browser: Browser, calls: RuleCalls
) -> None:
    written(browser)
    form = browser.get(PAGE)
    calls.write("big-wire", name="Changed by ben")
    more = browser.send_form(form, PAGE, **TYPED, step="add")
    assert browser.send_form(more, PAGE, **TYPED).status_code == HTTPStatus.PRECONDITION_FAILED
    assert calls.read("big-wire").json()["name"] == "Changed by ben"


def test_given_a_preview_after_a_full_backtest_then_both_are_there(browser: Browser) -> None:
    written(browser)
    browser.send_form(browser.get(PAGE), f"{PAGE}/backtest", full="true")
    browser.send_form(browser.get(PAGE), PAGE, **(TYPED | {"value.0": "30000"}))
    browser.send_form(browser.get(PAGE), f"{PAGE}/backtest")
    tested = browser.get(PAGE).text.split('id="backtest"')[1].split("</section>")[0]
    preview, full = tested.split("Full backtest</h3>")
    assert "Precision" not in preview
    assert "Of an earlier text" not in preview
    assert "Precision" in full
    assert "Of an earlier text" in full


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
