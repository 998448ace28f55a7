"""API keys on the console: created, their secret once, revoked, and not seen by others."""

import re
from http import HTTPStatus
from typing import Any

import httpx
import pytest

from clearhold.api.console.pages.api_keys import SCOPES
from clearhold.features.core.principal import KeyScope
from tests.support.console import Browser, ConsoleApp
from tests.support.running_app import RunningApp

KEYS = "/console/settings/keys"
SECRET = re.compile(r'id="secret"[^>]*value="([^"]+)"')


def created(browser: Browser, **fields: str) -> httpx.Response:
    return browser.send_form(browser.get(KEYS), KEYS, **({"name": "originations", "mode": "live"} | fields))


def secret_on(page: httpx.Response) -> str:
    match = SECRET.search(page.text)
    assert match is not None, page.text
    return match[1]


def listed(api: RunningApp, tenant: dict[str, Any]) -> list[dict[str, Any]]:
    keys: list[dict[str, Any]] = api.client.get("/api/keys", headers=api.operator(tenant)).json()
    return keys


def test_given_a_new_key_then_its_secret_is_on_one_page_and_opens_what_was_chosen(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    page = created(browser, program=program["id"], scopes="reports")
    secret = secret_on(page)
    assert page.headers["cache-control"] == "no-store"
    assert secret not in browser.get(KEYS).text
    (key,) = listed(api, tenant)
    assert (key["name"], key["programId"], key["scopes"]) == ("originations", program["id"], ["reports"])
    by_key = {"Authorization": f"Bearer {secret}"}
    assert api.client.get("/api/programs/overview", headers=by_key).status_code == HTTPStatus.OK
    assert api.client.get("/api/alerts", headers=by_key).status_code == HTTPStatus.FORBIDDEN


def test_given_the_scopes_of_the_interface_then_each_can_be_chosen() -> None:
    assert set(SCOPES) == set(KeyScope)


def test_given_a_form_that_is_sent_twice_then_there_is_one_key_and_the_second_page_has_no_secret(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    form = browser.get(KEYS)
    pages = [browser.send_form(form, KEYS, name="twice", mode="live") for _ in range(2)]
    assert secret_on(pages[0])
    assert SECRET.search(pages[1].text) is None
    assert "in the first answer to this form alone" in pages[1].text
    assert [each["name"] for each in listed(api, tenant)] == ["twice"]


def test_given_a_key_when_it_is_revoked_then_its_next_request_is_refused(api: RunningApp, browser: Browser) -> None:
    by_key = {"Authorization": f"Bearer {secret_on(created(browser))}"}
    assert api.client.get("/api/programs", headers=by_key).status_code == HTTPStatus.OK
    answer = browser.send_form(browser.get(KEYS), f"{KEYS}/revoke")
    assert answer.status_code == HTTPStatus.SEE_OTHER
    assert api.client.get("/api/programs", headers=by_key).status_code == HTTPStatus.UNAUTHORIZED
    page = browser.get(answer.headers["location"])
    assert "refused from the next request on" in page.text
    assert "1 revoked key" in page.text


@pytest.mark.parametrize(
    "fields", [{"name": ""}, {"mode": "other"}, {"scopes": "everything"}, {"program": "none"}, {"name": "a\x00b"}]
)
def test_given_a_key_that_is_refused_then_the_page_says_why_and_keeps_the_typed_words(
    api: RunningApp, tenant: dict[str, Any], browser: Browser, fields: dict[str, str]
) -> None:
    page = created(browser, **({"name": "<b>typed</b>"} | fields))
    assert page.status_code == HTTPStatus.BAD_REQUEST
    assert 'class="refusal"' in page.text
    assert "<b>typed" not in page.text
    assert listed(api, tenant) == []


def test_given_a_test_key_for_a_program_of_the_bank_then_it_is_refused(
    program: dict[str, Any], browser: Browser
) -> None:
    page = created(browser, mode="test", program=program["id"])
    assert page.status_code == HTTPStatus.BAD_REQUEST
    assert "must name a simulated program" in page.text
    assert f'value="{program["id"]}" selected' in page.text


def test_given_another_bank_then_its_person_neither_sees_nor_revokes_the_key(
    api: RunningApp, console: ConsoleApp, tenant: dict[str, Any], browser: Browser
) -> None:
    by_key = {"Authorization": f"Bearer {secret_on(created(browser))}"}
    (key,) = listed(api, tenant)
    eve = console.browser()
    eve.sign_in(api.create_tenant("second-bank")["operatorToken"], "eve@second.example")
    assert "originations" not in eve.get(KEYS).text
    answer = eve.post(f"{KEYS}/revoke", {"csrf": eve.csrf, "key": key["id"]})
    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert api.client.get("/api/programs", headers=by_key).status_code == HTTPStatus.OK


def test_given_the_settings_then_they_count_the_keys_and_those_without_a_use(browser: Browser) -> None:
    created(browser)
    assert "1 valid key, 1 without a use" in browser.get("/console/settings").text
