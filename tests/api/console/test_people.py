"""The page of people and sessions, and ending a session from it."""

from http import HTTPStatus
from typing import Any

from tests.support.console import Browser, ConsoleApp, form_fields
from tests.support.running_app import RunningApp

PEOPLE, END = "/console/people", "/console/people/end"


def signed_in(console: ConsoleApp, tenant: dict[str, Any], name: str, address: str) -> Browser:
    visitor = console.browser(address)
    assert visitor.sign_in(tenant["operatorToken"], name).status_code == HTTPStatus.SEE_OTHER
    return visitor


def test_given_sessions_then_the_page_has_each_with_its_credential_and_address(
    browser: Browser, console: ConsoleApp, tenant: dict[str, Any], api: RunningApp
) -> None:
    signed_in(console, tenant, "bob@bank.example", "192.0.2.7")
    key = api.client.post("/api/keys", json={"name": "k", "mode": "live"}, headers=api.operator(tenant)).json()
    console.browser().sign_in(key["secret"], "")
    page = browser.get(PEOPLE).text
    assert "3 persons with 3 sessions." in page
    assert "<code>192.0.2.7</code>" in page
    assert page.count("an API key, to read") == 1
    assert page.count("the bank&#39;s operator token and a typed name") == 2


def test_when_a_session_is_ended_by_another_person_then_its_next_request_leads_to_the_sign_in_page(
    browser: Browser, console: ConsoleApp, tenant: dict[str, Any]
) -> None:
    bob = signed_in(console, tenant, "bob@bank.example", "192.0.2.7")
    end = next(part for part in browser.get(PEOPLE).text.split("<form") if "from 192.0.2.7" in part)
    fields = form_fields(f"<form{end.partition('</form>')[0]}</form>", END)
    assert browser.post(END, fields).status_code == HTTPStatus.SEE_OTHER
    assert bob.get(PEOPLE).status_code == HTTPStatus.SEE_OTHER
    assert browser.post(END, fields).status_code == HTTPStatus.NOT_FOUND


def test_when_all_sessions_of_a_person_are_ended_then_the_others_go_on(
    browser: Browser, console: ConsoleApp, tenant: dict[str, Any]
) -> None:
    bobs = [signed_in(console, tenant, name, "192.0.2.7") for name in ("bob@bank.example", "Bob@bank.example")]
    assert browser.post(END, {"csrf": browser.csrf, "name": "bob@bank.example"}).status_code == HTTPStatus.SEE_OTHER
    assert [each.get(PEOPLE).status_code for each in bobs] == [HTTPStatus.SEE_OTHER] * 2
    assert browser.get(PEOPLE).status_code == HTTPStatus.OK


def test_given_a_session_of_another_tenant_then_it_is_the_same_404_as_none_and_goes_on(
    browser: Browser, console: ConsoleApp, api: RunningApp
) -> None:
    other = api.create_tenant("second-bank")
    eve = signed_in(console, other, "eve@second.example", "192.0.2.9")
    theirs = form_fields(eve.get(PEOPLE).text, END)["session"]
    assert "second.example" not in browser.get(PEOPLE).text
    answers = [browser.post(END, {"csrf": browser.csrf, "session": each}) for each in (theirs, theirs[::-1])] + [
        browser.post(END, {"csrf": browser.csrf, "name": "eve@second.example"})
    ]
    assert {each.status_code for each in answers} == {HTTPStatus.NOT_FOUND}
    assert len({each.text.partition("<h1>")[2].partition("request")[0] for each in answers}) == 1
    assert eve.get(PEOPLE).status_code == HTTPStatus.OK


def test_given_a_session_of_a_key_then_it_sees_itself_alone(
    browser: Browser, console: ConsoleApp, tenant: dict[str, Any], api: RunningApp
) -> None:
    key = api.client.post("/api/keys", json={"name": "k", "mode": "live"}, headers=api.operator(tenant)).json()
    reader = console.browser("192.0.2.8")
    reader.sign_in(key["secret"], "")
    page = reader.get(PEOPLE).text
    assert "1 person with 1 session." in page
    assert "ann@bank.example" not in page
    assert END not in page
    assert browser.get(PEOPLE).status_code == HTTPStatus.OK
