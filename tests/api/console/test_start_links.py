"""A link that signs in once, for ``clearhold demo``."""

from http import HTTPStatus
from typing import Any

import pytest

from clearhold.features.core.instants import HOUR_US
from tests.support.console import ConsoleApp
from tests.support.running_app import RunningApp

START = "/console/start"
SOMEWHERE_ELSE = "10.1.2.3"


def test_given_a_link_when_opened_twice_then_it_signs_in_once(console: ConsoleApp, tenant: dict[str, Any]) -> None:
    asking, first, second = console.browser(), console.browser(), console.browser()
    link = asking.post(START, {"token": tenant["operatorToken"], "name": "ann@bank.example"}).headers["location"]
    assert first.get(link).headers["location"] == "/console/today"
    assert "ann@bank.example" in first.get("/console/today").text
    again = second.get(link)
    assert again.status_code == HTTPStatus.NOT_FOUND
    assert not second.cookies
    assert not asking.cookies


@pytest.mark.parametrize("code", ["", "x", "a" * 43, "%00", "*"])
def test_given_an_unknown_code_then_nobody_is_signed_in(console: ConsoleApp, code: str) -> None:
    visitor = console.browser()
    assert visitor.get(f"{START}?code={code}").status_code == HTTPStatus.NOT_FOUND
    assert not visitor.cookies


def test_given_another_machine_then_it_can_neither_ask_for_a_link_nor_use_one(
    console: ConsoleApp, tenant: dict[str, Any]
) -> None:
    form = {"token": tenant["operatorToken"], "name": "ann@bank.example"}
    elsewhere = console.browser(SOMEWHERE_ELSE)
    link = console.browser().post(START, form).headers["location"]
    assert elsewhere.post(START, form).status_code == HTTPStatus.FORBIDDEN
    assert elsewhere.get(link).status_code == HTTPStatus.FORBIDDEN
    assert console.browser("::1").get(link).status_code == HTTPStatus.SEE_OTHER


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"X-Forwarded-For": "192.0.2.7"},
        {"Forwarded": "for=192.0.2.7"},
        {"Via": "1.1 proxy"},
    ],
)
def test_given_a_page_of_another_site_or_a_proxy_when_it_leads_to_a_link_then_nobody_is_signed_in_and_it_is_not_used(
    console: ConsoleApp, tenant: dict[str, Any], headers: dict[str, str]
) -> None:
    form = {"token": tenant["operatorToken"], "name": "mallory@other.example"}
    link, visitor = console.browser().post(START, form).headers["location"], console.browser()
    visitor.sign_in(tenant["operatorToken"], "ann@bank.example")
    assert visitor.get(link, **headers).status_code == HTTPStatus.FORBIDDEN
    assert "ann@bank.example" in visitor.get("/console/today").text
    assert console.browser().get(link, **{"Sec-Fetch-Site": "none"}).status_code == HTTPStatus.SEE_OTHER


def test_given_a_wrong_token_then_there_is_no_link(console: ConsoleApp) -> None:
    answer = console.browser().post(START, {"token": "op_wrong", "name": "ann@bank.example"})
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert "location" not in answer.headers


def test_given_a_link_when_the_token_is_replaced_before_it_is_used_then_its_session_opens_no_page(
    console: ConsoleApp, tenant: dict[str, Any], api: RunningApp
) -> None:
    form = {"token": tenant["operatorToken"], "name": "ann@bank.example"}
    link, visitor = console.browser().post(START, form).headers["location"], console.browser()
    rotated = api.client.post(f"/api/admin/tenants/{tenant['id']}/operator-token", headers=api.admin)
    assert rotated.is_success, rotated.text
    api.clock.advance(25 * HOUR_US)
    visitor.get(link)
    assert visitor.get("/console/today").headers["location"].startswith("/console/sign-in")
